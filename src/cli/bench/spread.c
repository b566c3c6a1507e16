#include "cli/bench/spread.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread spread_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (spread){median, values[0], values[n - 1]};
}
