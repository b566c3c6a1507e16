#include "master/lanes/recent.h"

#include <stdlib.h>
#include <string.h>

static const double far_off = 1.5;

static void forget_all_but(recent *r, size_t n)
{
    memmove(r->at, r->at + r->n - n, n * sizeof *r->at);
    r->n = n;
    r->above = r->below = 0;
}

void recent_add(recent *r, double x)
{
    double median = recent_median(r);
    r->above = r->n && x > far_off * median ? r->above + 1 : 0;
    r->below = r->n && x * far_off < median ? r->below + 1 : 0;
    if (r->n == RECENT_KEPT)
        memmove(r->at, r->at + 1, --r->n * sizeof *r->at);
    r->at[r->n++] = x;
    if (r->above == RECENT_SHIFT || r->below == RECENT_SHIFT)
        forget_all_but(r, RECENT_SHIFT);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double recent_median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[(n - 1) / 2];
}

double recent_most(const recent *r, size_t n)
{
    double most = 0;
    for (size_t i = r->n > n ? r->n - n : 0; i < r->n; i++)
        most = r->at[i] > most ? r->at[i] : most;
    return most;
}

double recent_median(const recent *r)
{
    double sorted[RECENT_KEPT];
    memcpy(sorted, r->at, r->n * sizeof *sorted);
    return r->n ? recent_median_of(sorted, r->n) : 0;
}
