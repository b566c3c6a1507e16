#include "common/base/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double per_hour;
} units[] = {{"/h", 1}, {"/min", 60}, {"/s", 3600}, {"/day", 1.0 / 24}};

bool price_parse(const char *text, double *ret_per_hour)
{
    char *end;
    double amount = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++) {
        double per_hour = amount * units[i].per_hour;
        if (strcmp(end, units[i].name) == 0 && per_hour > 0 && isfinite(per_hour)) {
            *ret_per_hour = per_hour;
            return true;
        }
    }
    return false;
}
