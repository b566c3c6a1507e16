#include "cli/run/page_price.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status page_price_read(const char *text, double *ret_per_hour, error *err)
{
    static const struct {
        const char *unit;
        double per_hour;
    } units[] = {{"/h", 1}, {"/min", 60}, {"/s", 3600}, {"/day", 1.0 / 24}};
    char *end = NULL;
    double amount = text ? strtod(text, &end) : 0, per_hour = 0;
    for (size_t i = 0; text && end != text && i < COUNT_OF(units); i++)
        if (strcmp(end, units[i].unit) == 0)
            per_hour = amount * units[i].per_hour;
    if (text && !(per_hour > 0 && isfinite(per_hour)))
        return FAIL(err, E_USAGE,
                    "--price %s: a number above 0 and a time are needed, as 2.1/h; times are s, min, h, day", text);
    *ret_per_hour = per_hour;
    return OK;
}
