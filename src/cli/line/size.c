#include "cli/line/size.h"

#include "common/base/alloc.h"

#include <stdio.h>

const char *size_text(double bytes, char ret[SIZE_TEXT])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < COUNT_OF(units)) {
        bytes /= 1000;
        unit++;
    }
    snprintf(ret, SIZE_TEXT, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return ret;
}
