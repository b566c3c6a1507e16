/* See best_span.h. Rounding keeps the order, so the best last position for a first one is that of the highest score
 * from there on, and sums need not be formed of all pairs. */
#include "metric/best_span.h"

#include <math.h>

best_span best_span_of(const float *first, const float *last, int64_t n, int64_t stride)
{
    best_span best = {.score = -INFINITY};
    float behind = -INFINITY;
    for (int64_t i = n - 1; i >= 0; i--) {
        behind = last[i * stride] > behind ? last[i * stride] : behind;
        float sum = first[i * stride] + behind;
        if (sum >= best.score) {
            best.score = sum;
            best.first = i;
        }
    }
    best.last = best.first;
    while (best.last < n - 1 && !(first[best.first * stride] + last[best.last * stride] == best.score))
        best.last++;
    return best;
}
