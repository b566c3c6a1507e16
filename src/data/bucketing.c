#include "data/bucketing.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

enum { EPOCHS = 2 };            /* one ends while the next one is read ahead */

typedef struct kept_epoch {
    int64_t epoch;              /* -1: none */
    uint64_t used;              /* when, in calls */
    bucket_epoch order;
} kept_epoch;

struct bucketing {
    bucketing_options o;
    const uint32_t *lengths;    /* the dataset's */
    int64_t n;
    uint32_t prepared[BUCKET_PREPARED];
    int n_prepared;
    bool occurs[BUCKET_PREPARED]; /* full batches may be as long; the longest counts as if it did */
    length_kinds kinds;         /* with max_tokens */

    pthread_mutex_t lock;       /* of all below */
    kept_epoch kept[EPOCHS];
    uint64_t calls;
};

/* --- life --- */

/* dim[0] of the fields that vary: none is longer. */
static int64_t longest_of(const dataset *d)
{
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    int64_t longest = 0;
    for (size_t i = 0; i < n; i++)
        longest = fields[i].varies && fields[i].dim[0] > longest ? fields[i].dim[0] : longest;
    return longest;
}

status bucketing_prepare(const dataset *d, const uint32_t *lengths, int64_t n, uint32_t multiple, int most,
                         uint32_t ret[BUCKET_PREPARED], int *ret_n, error *err)
{
    uint32_t longest = (uint32_t)longest_of(d);
    TRY(bucket_prepare(lengths, n, multiple, most, ret, ret_n, err));
    for (int i = 0; i < *ret_n; i++)
        if (ret[i] >= longest) {
            ret[i] = longest;
            *ret_n = i + 1;
        }
    return OK;
}

/* Without noise epochs have the same batches in another order. */
static status find_occurring(bucketing *b, error *err)
{
    bucket_epoch e;
    TRY(bucket_epoch_make(&b->o.batches, 0, b->lengths, b->n, &e, err));
    for (int64_t k = 0; k < e.n_batches; k++) {
        uint32_t length = bucket_padded(b->prepared, b->n_prepared, bucket_longest(&e, b->lengths, k));
        for (int i = 0; i < b->n_prepared; i++)
            b->occurs[i] = b->occurs[i] || (b->prepared[i] == length && k < b->n / b->o.batches.batch_size);
    }
    bucket_epoch_free(&e);
    return OK;
}

/* With noise a batch is at most so long only if as many examples are. */
static void find_possible(bucketing *b)
{
    for (int i = 0; i < b->n_prepared; i++) {
        int64_t n = 0;
        for (int64_t k = 0; k < b->n; k++)
            n += b->lengths[k] <= b->prepared[i];
        b->occurs[i] = n >= b->o.batches.batch_size;
    }
}

static status find_lengths(bucketing *b, error *err)
{
    const bucket_options *o = &b->o.batches;
    if (o->shuffle && o->padding_noise > 0.0)
        find_possible(b);
    else
        TRY(find_occurring(b, err));
    b->occurs[b->n_prepared - 1] = true;
    return OK;
}

status bucketing_create(const bucketing_options *options, bucketing **ret, error *err)
{
    const uint32_t *lengths = dataset_lengths(options->dataset);
    if (!lengths)
        return FAIL(err, E_CONFIG,
                    "the examples are all of one length: there is nothing to sort by; expected a field of "
                    "dataset_reader with `most` in place of `shape`");
    bucketing *b = xcalloc(1, sizeof *b);
    b->o = *options;
    b->lengths = lengths;
    b->n = dataset_examples(options->dataset);
    if (b->o.batches.batch_size > b->n)
        b->o.batches.batch_size = b->n;
    for (int i = 0; i < EPOCHS; i++)
        b->kept[i].epoch = -1;
    pthread_mutex_init(&b->lock, NULL);
    status st = bucketing_prepare(b->o.dataset, lengths, b->n, b->o.multiple, b->o.lengths, b->prepared,
                                  &b->n_prepared, err);
    if (st == OK && b->o.max_tokens)
        st = length_kinds_make(&(length_kinds_options){.lengths = lengths,
                                                       .n = b->n,
                                                       .prepared = b->prepared,
                                                       .n_prepared = b->n_prepared,
                                                       .batch_size = b->o.batches.batch_size,
                                                       .max_tokens = b->o.max_tokens},
                               &b->kinds, err);
    if (st == OK && !b->o.max_tokens)
        st = find_lengths(b, err);
    if (st == OK)
        *ret = b;
    else
        bucketing_destroy(&b);
    return st;
}

void bucketing_destroy(bucketing **b)
{
    if (!*b)
        return;
    for (int i = 0; i < EPOCHS; i++)
        if ((*b)->kept[i].epoch >= 0)
            bucket_epoch_free(&(*b)->kept[i].order);
    length_kinds_fini(&(*b)->kinds);
    pthread_mutex_destroy(&(*b)->lock);
    free(*b);
    *b = NULL;
}

/* --- shapes --- */

/* From the longest; of each full batches, and that of what is left. */
static size_t shapes_of_kinds(const length_kinds *k, batch_shape ret[BATCH_SHAPES])
{
    size_t n = 0;
    for (size_t i = k->kinds.n; i-- > 0;) {
        int64_t full = k->kinds.at[i].batch_size, all = k->kinds.at[i].examples;
        if (all >= full)
            ret[n++] = (batch_shape){full, k->length[i]};
        if (all % full)
            ret[n++] = (batch_shape){all % full, k->length[i]};
    }
    return n;
}

steps_kinds bucketing_kinds(const bucketing *b)
{
    return b->kinds.kinds;
}

size_t bucketing_shapes(const bucketing *b, batch_shape ret[BATCH_SHAPES])
{
    if (b->o.max_tokens)
        return shapes_of_kinds(&b->kinds, ret);
    size_t n = 0;
    int64_t full = b->o.batches.batch_size, rest = b->n % full;
    for (int i = b->n_prepared; i-- > 0;)
        if (b->occurs[i])
            ret[n++] = (batch_shape){full, b->prepared[i]};
    if (rest && !b->o.batches.drop_last)
        ret[n++] = (batch_shape){rest, b->prepared[b->n_prepared - 1]};
    return n;
}

/* --- batches --- */

/* The order of that epoch, made in the place of the one that was not used for longest. Lock held. */
static status epoch_of(bucketing *b, int64_t epoch, const bucket_epoch **ret, error *err)
{
    kept_epoch *k = &b->kept[0];
    for (int i = 0; i < EPOCHS; i++) {
        if (b->kept[i].epoch == epoch) {
            k = &b->kept[i];
            break;
        }
        k = b->kept[i].used < k->used ? &b->kept[i] : k;
    }
    if (k->epoch != epoch) {
        if (k->epoch >= 0)
            bucket_epoch_free(&k->order);
        k->epoch = -1;
        TRY(bucket_epoch_make(&b->o.batches, epoch, b->lengths, b->n, &k->order, err));
        k->epoch = epoch;
    }
    k->used = ++b->calls;
    *ret = &k->order;
    return OK;
}

static int64_t length_of(const bucketing *b, const bucket_epoch *e, const step_slot *slot)
{
    if (slot->n < b->o.batches.batch_size)
        return b->prepared[b->n_prepared - 1];
    return bucket_padded(b->prepared, b->n_prepared, bucket_longest(e, b->lengths, slot->index));
}

static void batch_of_kind(const bucketing *b, const step_slot *slot, int64_t *ret_examples, int64_t *ret_length)
{
    const bucket_options *o = &b->o.batches;
    steps s = {.kinds = b->kinds.kinds};
    size_t kind = steps_kind_of(&s, slot);
    for (int64_t i = 0; ret_examples && i < slot->n; i++)
        ret_examples[i] =
            length_kinds_example(&b->kinds, kind, o->seed, slot->epoch, o->shuffle, slot->first + i);
    *ret_length = b->kinds.length[kind];
}

status bucketing_batch(bucketing *b, const step_slot *slot, int64_t *ret_examples, int64_t *ret_length, error *err)
{
    if (b->o.max_tokens) {
        batch_of_kind(b, slot, ret_examples, ret_length);
        return OK;
    }
    const bucket_epoch *e = NULL;
    pthread_mutex_lock(&b->lock);
    status st = epoch_of(b, slot->epoch, &e, err);
    for (int64_t i = 0; st == OK && ret_examples && i < slot->n; i++)
        ret_examples[i] = e->order[slot->first + i];
    if (st == OK)
        *ret_length = length_of(b, e, slot);
    pthread_mutex_unlock(&b->lock);
    return st;
}
