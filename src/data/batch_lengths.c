#include "data/batch_lengths.h"

#include "common/base/alloc.h"
#include "data/bucketing.h"

#include <stdlib.h>

struct batch_lengths {
    const uint32_t *lengths;    /* the dataset's */
    int64_t examples, batch_size;
    uint32_t prepared[BUCKET_PREPARED];
    bool occurs[BUCKET_PREPARED]; /* a full batch is as long; the longest counts as if one were */
    int n;
};

static uint32_t longest_of(const batch_lengths *b, int64_t first, int64_t n)
{
    uint32_t longest = 1;
    for (int64_t i = first; i < first + n; i++)
        longest = b->lengths[i] > longest ? b->lengths[i] : longest;
    return longest;
}

/* Chosen by the batches, as each has one length. */
static status prepare(batch_lengths *b, const batch_lengths_options *o, error *err)
{
    void *memory = NULL;
    int64_t batches = (b->examples + b->batch_size - 1) / b->batch_size;
    TRY(mem_alloc((size_t)batches * sizeof(uint32_t), "the lengths of batches", &memory, err));
    uint32_t *longest = memory;
    for (int64_t i = 0; i < batches; i++) {
        int64_t first = i * b->batch_size, rest = b->examples - first;
        longest[i] = longest_of(b, first, rest < b->batch_size ? rest : b->batch_size);
    }
    status st = bucketing_prepare(o->dataset, longest, batches, o->multiple, o->lengths, b->prepared, &b->n, err);
    for (int64_t i = 0; st == OK && i < b->examples / b->batch_size; i++)
        for (int k = 0; k < b->n; k++)
            b->occurs[k] = b->occurs[k] || bucket_padded(b->prepared, b->n, longest[i]) == b->prepared[k];
    if (st == OK)
        b->occurs[b->n - 1] = true;
    mem_free(memory);
    return st;
}

status batch_lengths_make(const batch_lengths_options *options, batch_lengths **ret, error *err)
{
    batch_lengths *b = xcalloc(1, sizeof *b);
    b->lengths = dataset_lengths(options->dataset);
    b->examples = dataset_examples(options->dataset);
    b->batch_size = options->batch_size < b->examples ? options->batch_size : b->examples;
    BUG_ON(!b->lengths);
    status st = prepare(b, options, err);
    if (st == OK)
        *ret = b;
    else
        batch_lengths_destroy(&b);
    return st;
}

void batch_lengths_destroy(batch_lengths **b)
{
    free(*b);
    *b = NULL;
}

int64_t batch_lengths_of(const batch_lengths *b, int64_t first, int64_t n)
{
    return bucket_padded(b->prepared, b->n, longest_of(b, first, n));
}

size_t batch_lengths_shapes(const batch_lengths *b, batch_shape ret[BATCH_LENGTHS_SHAPES])
{
    size_t n = 0;
    int64_t rest = b->examples % b->batch_size;
    for (int i = b->n; i-- > 0;)
        if (b->occurs[i])
            ret[n++] = (batch_shape){b->batch_size, b->prepared[i]};
    if (rest)
        ret[n++] = (batch_shape){rest, batch_lengths_of(b, b->examples - rest, rest)};
    return n;
}
