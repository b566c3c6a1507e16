#include "ps/sum.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void release(fold_block *b)
{
    sum_drop(b->owner);
}

static const uint64_t some = (uint64_t)1 << 32, skips = (uint64_t)1 << 33;

uint64_t sum_pack_verdict(verdict v)
{
    uint32_t bits;
    memcpy(&bits, &v.scale, sizeof bits);
    return some | (v.skip ? skips : 0) | bits;
}

verdict sum_unpack_verdict(uint64_t packed)
{
    uint32_t bits = (uint32_t)packed;
    verdict v = {.skip = packed & skips};
    memcpy(&v.scale, &bits, sizeof v.scale);
    return v;
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

void sum_sent(void *data, void *hint)
{
    (void)data;
    sum_drop(hint);
}
