#include "evaluator/damages.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/store/eval_damage.h"

#include <stdlib.h>

enum { AGAIN_US = 10 * 1000 * 1000 };

static void tell_all(const damages *d)
{
    int64_t *all = xcalloc(d->n + 1, sizeof *all);
    for (size_t i = 0; i < d->n; i++)
        all[i] = d->at[i].step;
    eval_damage_tell(d->dir, all, d->n);
    free(all);
}

/* Its place among them; d->n: it is none. */
static size_t place_of(const damages *d, int64_t step)
{
    size_t i = 0;
    while (i < d->n && d->at[i].step != step)
        i++;
    return i;
}

const damage *damages_find(const damages *d, int64_t step)
{
    size_t place = place_of(d, step);
    return place < d->n ? &d->at[place] : NULL;
}

const damage *damages_note(damages *d, int64_t step, const error *why)
{
    int64_t now = clock_us();
    size_t place = place_of(d, step);
    if (place == d->n) {
        LOG_W("DAMAGED", "checkpoint step=%lld cannot be evaluated: %s", (long long)step, why->text);
        GROW(d->at, d->cap, d->n + 1);
        d->at[d->n++] = (damage){.step = step, .since_us = now, .why = *why};
    }
    damage *one = &d->at[place];
    one->tried_us = now;
    tell_all(d);
    return one;
}

void damages_forget(damages *d, int64_t step)
{
    size_t place = place_of(d, step);
    if (place == d->n)
        return;
    d->at[place] = d->at[--d->n];
    tell_all(d);
}

static bool is_listed(const int64_t *list, size_t n, int64_t step)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == step)
            return true;
    return false;
}

static void forget_gone(damages *d, const int64_t *list, size_t n)
{
    size_t kept = 0, had = d->n;
    for (size_t i = 0; i < had; i++)
        if (is_listed(list, n, d->at[i].step))
            d->at[kept++] = d->at[i];
    d->n = kept;
    if (kept < had)
        tell_all(d);
}

size_t damages_take_out(damages *d, int64_t *list, size_t n)
{
    size_t kept = 0;
    int64_t now = clock_us();
    forget_gone(d, list, n);
    for (size_t i = 0; i < n; i++) {
        const damage *one = damages_find(d, list[i]);
        if (!one || now - one->tried_us >= AGAIN_US)
            list[kept++] = list[i];
    }
    return kept;
}

void damages_withdraw(damages *d)
{
    d->n = 0;
    tell_all(d);
}

void damages_fini(damages *d)
{
    free(d->at);
}
