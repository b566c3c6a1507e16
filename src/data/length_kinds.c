/* See length_kinds.h. */
#include "data/length_kinds.h"

#include "common/base/alloc.h"
#include "common/parts/permute.h"

static int kind_of(const length_kinds_options *o, int64_t example)
{
    int kind = 0;
    while (o->prepared[kind] < o->lengths[example])
        kind++;
    return kind;
}

/* A prepared length that no example has is no kind. */
static void make_kinds(const length_kinds_options *o, const int64_t *counts, length_kinds *k, int *ret_place)
{
    for (int i = 0; i < o->n_prepared; i++) {
        if (!counts[i])
            continue;
        int64_t fits = o->max_tokens / o->prepared[i];
        size_t at = k->kinds.n++;
        ret_place[i] = (int)at;
        k->length[at] = o->prepared[i];
        k->kinds.at[at] = (steps_kind){counts[i], fits < o->batch_size ? fits : o->batch_size};
        k->first[at + 1] = k->first[at] + counts[i];
    }
}

status length_kinds_make(const length_kinds_options *o, length_kinds *ret, error *err)
{
    int64_t counts[STEPS_KINDS] = {0}, next[STEPS_KINDS] = {0};
    int place[STEPS_KINDS] = {0};
    length_kinds k = {.examples = NULL};
    void *memory = NULL;
    BUG_ON(o->n_prepared < 1 || o->n_prepared > STEPS_KINDS);
    uint32_t longest = o->prepared[o->n_prepared - 1];
    if (longest > o->max_tokens)
        return FAIL(err, E_CONFIG,
                    "max_tokens: %lld is less than one example, which has %u tokens when it is padded: raise it, or "
                    "limit the length of examples",
                    (long long)o->max_tokens, longest);
    for (int64_t i = 0; i < o->n; i++)
        counts[kind_of(o, i)]++;
    make_kinds(o, counts, &k, place);
    TRY(mem_alloc((size_t)o->n * sizeof *k.examples, "examples by length", &memory, err));
    k.examples = memory;
    for (int64_t i = 0; i < o->n; i++) {
        int kind = place[kind_of(o, i)];
        k.examples[k.first[kind] + next[kind]++] = (uint32_t)i;
    }
    *ret = k;
    return OK;
}

void length_kinds_fini(length_kinds *k)
{
    mem_free(k->examples);
    *k = (length_kinds){.examples = NULL};
}

int64_t length_kinds_example(const length_kinds *k, size_t kind, uint64_t seed, int64_t epoch, bool shuffle,
                             int64_t place)
{
    int64_t within = place - k->first[kind];
    if (shuffle)
        within = permute_place(seed, epoch, k->kinds.at[kind].examples, within);
    return k->examples[k->first[kind] + within];
}
