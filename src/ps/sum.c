#include "ps/sum.h"

#include "common/base/alloc.h"

#include <stdlib.h>

static void release(fold_block *b)
{
    sum_drop(b->owner);
}

sum *sum_share(fold_block **root, int64_t step, uint32_t n_slots)
{
    sum *s = xmalloc(sizeof *s);
    *s = (sum){.fold = **root, .from = *root, .step = step, .n_slots = n_slots};
    s->fold.writable = false;
    s->fold.release = release;
    s->fold.owner = s;
    atomic_init(&s->refs, 2);
    *root = &s->fold;
    return s;
}

sum *sum_hold(sum *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void sum_drop(sum *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    s->from->release(s->from);
    free(s);
}
