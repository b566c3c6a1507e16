#include "common/base/byte_size.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double bytes;
} units[] = {{"", 1},       {"B", 1},         {"kB", 1e3},       {"MB", 1e6},        {"GB", 1e9},
             {"TB", 1e12},  {"KiB", 0x1p10},  {"MiB", 0x1p20},   {"GiB", 0x1p30},    {"TiB", 0x1p40}};

bool byte_size_parse(const char *text, size_t *ret)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    double number = strtod(text, &end);
    if (text[strspn(text, "0123456789.")] && end != text + strspn(text, "0123456789."))
        return false; /* 0x10, 1e9 */
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && number * units[i].bytes >= 1 && number * units[i].bytes < 0x1p62) {
            *ret = (size_t)(number * units[i].bytes);
            return true;
        }
    return false;
}
