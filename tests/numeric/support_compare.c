#include "numeric/support_compare.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

double root_mean_square(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

bool is_close(const char *what, const double *got, const double *want, int64_t n, double rtol)
{
    double scale = root_mean_square(want, n), worst = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++) {
        if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])))
            continue;
        double off = fabs(got[i] - want[i]) / (fabs(want[i]) + scale + 1e-30);
        if (!(off <= rtol) && !(off <= worst)) {
            worst = off;
            at = i;
        }
    }
    if (at >= 0)
        print_error("%s: element %" PRId64 " of %" PRId64 " is %.9g, the reference says %.9g "
                    "(off by %.2g, %.2g allowed)\n",
                    what, at, n, got[at], want[at], worst, rtol);
    return at < 0;
}
