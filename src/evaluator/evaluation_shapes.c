#include "evaluator/evaluation_shapes.h"

#include "common/base/alloc.h"
#include "model/loss.h"

#include <string.h>

/* Products of so many tokens have the bits on the CPU that longer ones have with zeros behind. */
enum { MULTIPLE = 32 };

/* Rows of words, whose labels do not count where no word begins. */
static bool has_words(const dataset *d)
{
    buf word = BUF_INIT;
    int64_t place;
    bool has = dataset_examples(d) > 0 && dataset_word(d, 0, 0, &word, &place);
    buf_fini(&word);
    return has;
}

/* The model gives one answer for the whole of an example. */
static bool judges_texts(const config *c)
{
    const char *head = config_str(c, "model.head");
    return head && strcmp(head, "sequence") == 0;
}

/* A label at every token, or a span whose scores nothing masks, counts what is filled up. */
static status counts_filling(const dataset *d, const model_request *request, bool *ret, error *err)
{
    model_loss loss;
    arena *memory = arena_create();
    status st = loss_choose(request, memory, &loss, err);
    if (st == OK)
        *ret = strcmp(loss.kind, "span") == 0 && !dataset_asks(d);
    for (size_t i = 0; st == OK && i < loss.n_labels; i++)
        *ret |= loss.label[i]->varies && !has_words(d);
    arena_destroy(&memory);
    return st;
}

static status may_shorten(const config *c, const dataset *d, const model_request *request, bool *ret, error *err)
{
    bool counts = false;
    *ret = false;
    if (!config_section(c, "data_loader.batch_sampler") || !dataset_lengths(d))
        return OK;
    if (request->mode == MODEL_EVAL)
        TRY(counts_filling(d, request, &counts, err));
    *ret = request->mode == MODEL_EVAL ? !counts : dataset_asks(d) || has_words(d) || judges_texts(c);
    return OK;
}

static status choose_lengths(const config *c, const dataset *d, int64_t batch_size, evaluation_shapes *s, error *err)
{
    const config *sampler = config_section(c, "data_loader.batch_sampler");
    uint32_t multiple = (uint32_t)config_int(sampler, "multiple");
    const batch_lengths_options o = {.dataset = d,
                                     .batch_size = batch_size,
                                     .lengths = (int)config_int(sampler, "lengths"),
                                     .multiple = multiple < MULTIPLE ? MULTIPLE : multiple};
    TRYF(batch_lengths_make(&o, &s->lengths, err), err, "data_loader.batch_sampler");
    s->n = batch_lengths_shapes(s->lengths, s->at);
    return OK;
}

status evaluation_shapes_choose(const config *c, const dataset *d, const model_request *request, bool whole,
                                evaluation_shapes *ret, error *err)
{
    bool shortens = false;
    int64_t size = request->batch_size, rest = dataset_examples(d) % size;
    *ret = (evaluation_shapes){.lengths = NULL};
    if (!whole)
        TRY(may_shorten(c, d, request, &shortens, err));
    if (shortens)
        return choose_lengths(c, d, size, ret, err);
    ret->at[ret->n++].examples = size;
    if (rest)
        ret->at[ret->n++].examples = rest;
    return OK;
}

void evaluation_shapes_fini(evaluation_shapes *s)
{
    batch_lengths_destroy(&s->lengths);
}

size_t evaluation_shapes_find(const evaluation_shapes *s, batch_shape shape)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].examples == shape.examples && s->at[i].length == shape.length)
            return i;
    BUG("no batch has %lld examples of length %lld", (long long)shape.examples, (long long)shape.length);
}
