/* A step of batch-norm statistics, as a server takes it: out = momentum in + (1 - momentum) scale value. Pure
 * function. */
#ifndef TEQUIO_TESTS_SUPPORT_AVERAGE_H
#define TEQUIO_TESTS_SUPPORT_AVERAGE_H

#include "optim/optim.h"
#include "optim/update.h"

static inline void average(float momentum, float scale, size_t n, const float *value, const float *in,
                           float *out)
{
    const update_span all = {.n = (uint32_t)n,
                             .how = UPDATE_AVERAGE,
                             .keep = momentum,
                             .take = (1.0f - momentum) * scale};
    const update_part part = {.spans = &all, .n_spans = 1};
    optim_update(&part, 0, n, value, in, out, NULL, NULL);
}

#endif
