/* See batch_scores.h. */
#include "evaluator/batch_scores.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void batch_scores_init(batch_scores *s, int64_t batches)
{
    *s = (batch_scores){.at = xcalloc((size_t)batches + 1, sizeof *s->at), .n = batches};
}

void batch_scores_fini(batch_scores *s)
{
    free(s->at);
    *s = (batch_scores){.at = NULL};
}

void batch_scores_clear(batch_scores *s)
{
    memset(s->at, 0, (size_t)s->n * sizeof *s->at);
}

metric_set batch_scores_add_up(const batch_scores *s, bool with_perplexity)
{
    metric_set sums = {0};
    for (int64_t i = 0; i < s->n; i++) {
        const batch_score *b = &s->at[i];
        BUG_ON(!b->is_there);
        metric_add(&sums, "loss", b->loss * b->examples, b->examples);
        if (b->counted >= 0)
            metric_add(&sums, "accuracy", (double)b->right, (double)b->counted);
        if (with_perplexity)
            metric_add(&sums, "perplexity", b->loss * b->examples, b->examples);
    }
    return sums;
}

void batch_scores_save(const batch_scores *s, buf *to)
{
    buf_add(to, s->at, (size_t)s->n * sizeof *s->at);
}

status batch_scores_take(batch_scores *s, const char **from, size_t *bytes, error *err)
{
    size_t wanted = (size_t)s->n * sizeof *s->at;
    if (*bytes < wanted)
        return FAIL(err, E_DATA, "%zu bytes are not the scores of %lld batches", *bytes, (long long)s->n);
    for (int64_t i = 0; i < s->n; i++) {
        batch_score b;
        memcpy(&b, *from + (size_t)i * sizeof b, sizeof b);
        if (b.is_there)
            s->at[i] = b;
    }
    *from += wanted;
    *bytes -= wanted;
    return OK;
}
