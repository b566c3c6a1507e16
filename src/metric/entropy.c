/*
 * Entropy of what a model says, and perplexity of the labels under it: of each label in double precision, then
 * added exactly. Both are means over labels, not over batches.
 */
#include "metric/kind.h"

#include "common/base/detmath.h"
#include "metric/label_loss.h"

#include <math.h>

enum { COUNTED, IMPOSSIBLE, COUNTS };

static double entropy_of(const metric_source *s, const metric_batch *b, int64_t i)
{
    metric_softmax x = metric_softmax_of(s, b, i);
    double mean = 0.0;
    for (int64_t c = 0; c < s->classes; c++) {
        double score = (double)metric_score(s, b, i, c) - x.top, share = det_exp(score);
        mean += share > 0.0 ? share * score : 0.0;
    }
    return det_log(x.sum) - mean / x.sum;
}

static status add_entropy(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            double entropy = entropy_of(m->source, b, i);
            m->state.counts[COUNTED]++;
            if (isfinite(entropy))
                exact_sum_add(&m->state.sums[0], entropy);
            else /* no class has a score above -infinity */
                m->state.counts[IMPOSSIBLE]++;
        }
    return OK;
}

static void put_entropy(metric *m, metric_figures *to)
{
    double mean = metric_ratio(exact_sum_value(&m->state.sums[0]), (double)m->state.counts[COUNTED]);
    metric_put(m, to, "", m->state.counts[IMPOSSIBLE] ? (double)NAN : mean);
}

const metric_kind metric_entropy = {
    .name = "entropy",
    .inputs = METRIC_CLASSES,
    .endings = " ",
    .n_counts = COUNTS,
    .n_sums = 1,
    .add = add_entropy,
    .figures = put_entropy,
};

static status add_perplexity(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            double surprise = metric_label_loss(m->source, b, i);
            m->state.counts[COUNTED]++;
            if (isfinite(surprise))
                exact_sum_add(&m->state.sums[0], surprise);
            else
                m->state.counts[IMPOSSIBLE]++;
        }
    return OK;
}

static void put_perplexity(metric *m, metric_figures *to)
{
    double mean = metric_ratio(exact_sum_value(&m->state.sums[0]), (double)m->state.counts[COUNTED]);
    metric_put(m, to, "", m->state.counts[IMPOSSIBLE] ? (double)INFINITY : det_exp(mean));
}

const metric_kind metric_perplexity = {
    .name = "perplexity",
    .inputs = METRIC_CLASSES,
    .endings = " ",
    .n_counts = COUNTS,
    .n_sums = 1,
    .add = add_perplexity,
    .figures = put_perplexity,
};
