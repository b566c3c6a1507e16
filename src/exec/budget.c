#include "exec/budget.h"

#include <stdbool.h>
#include <stdio.h>

enum { SPARE = 32, PROBES = 24, CLOSE = 64 }; /* a 32nd of what is left stays: not all is counted */

static unsigned long long mib(size_t bytes)
{
    return (bytes >> 20) + (bytes % (1U << 20) != 0);
}

/* Where the line between what two batches need meets what is left, or half way. */
static int64_t between(int64_t low, size_t low_need, int64_t high, size_t high_need, size_t left,
                       bool is_half)
{
    double share = (double)(left - low_need) / (double)(high_need - low_need);
    int64_t batch = low + (int64_t)((double)(high - low) * (is_half ? 0.5 : share));
    return batch <= low ? low + 1 : batch >= high ? high - 1 : batch;
}

int64_t budget_largest(const budget *b, size_t need, size_t left)
{
    int64_t low = 1, high = b->batch;
    size_t low_need, high_need = need, got;
    if (high <= 1 || b->need(b->user, low, &low_need, NULL) != OK || low_need > left)
        return 0;
    for (int i = 0; i < PROBES && high - low > 1 + low / CLOSE; i++) {
        int64_t batch = between(low, low_need, high, high_need, left, i % 3 == 2);
        if (b->need(b->user, batch, &got, NULL) != OK)
            break;
        if (got > left) {
            high = batch;
            high_need = got;
        } else {
            low = batch;
            low_need = got;
        }
    }
    return low;
}

status budget_left(host_memory *ret, error *err)
{
    TRY(host_memory_left(ret, err));
    if (ret->left < SIZE_MAX)
        ret->left -= ret->left / SPARE;
    return OK;
}

status budget_check(const budget *b, error *err)
{
    host_memory host;
    size_t need;
    TRY(budget_left(&host, err));
    TRY(b->need(b->user, b->batch, &need, err));
    if (need <= host.left)
        return OK;
    int64_t fits = budget_largest(b, need, host.left);
    char advice[64] = "not even 1 would fit";
    if (fits > 0)
        snprintf(advice, sizeof advice, "%lld would fit", (long long)fits);
    return FAIL(err, E_NOMEM,
                "%s needs %llu MiB of memory with batches of %lld examples, and %llu MiB are left (%s); "
                "%s: %s; TEQUIO_MEMORY=unlimited goes on all the same",
                b->what, mib(need), (long long)b->batch, mib(host.left), host.origin, b->key, advice);
}
