/*
 * Attachment scores of dependency trees: the share of words whose head is right, and whose head and tag are,
 * and the share of sentences in which all are.
 */
#include "metric/kind.h"

enum { WORDS, HEADS, ARCS, SENTENCES, TREES_UNLABELED, TREES_LABELED, COUNTS };

static bool is_word(const metric *m, const metric_batch *b, int64_t i)
{
    for (size_t k = 0; k < m->o.n_exclude; k++)
        if (b->tags[i] == m->o.exclude[k])
            return false;
    return !b->mask || b->mask[i];
}

static status add_arcs(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    int64_t *counts = m->state.counts, length = m->source->labels;
    for (int64_t e = 0; e < b->examples; e++) {
        bool heads = true, arcs = true;
        for (int64_t i = e * length; i < (e + 1) * length; i++) {
            if (!is_word(m, b, i))
                continue;
            bool head = b->predicted[i] == b->labels[i], arc = head && b->predicted_tags[i] == b->tags[i];
            counts[WORDS]++;
            counts[HEADS] += head;
            counts[ARCS] += arc;
            heads = heads && head;
            arcs = arcs && arc;
        }
        counts[SENTENCES]++;
        counts[TREES_UNLABELED] += heads;
        counts[TREES_LABELED] += arcs;
    }
    return OK;
}

static void put_arcs(metric *m, metric_figures *to)
{
    const int64_t *counts = m->state.counts;
    double words = (double)counts[WORDS], sentences = (double)counts[SENTENCES];
    metric_put(m, to, "_UAS", metric_ratio((double)counts[HEADS], words));
    metric_put(m, to, "_LAS", metric_ratio((double)counts[ARCS], words));
    metric_put(m, to, "_UEM", metric_ratio((double)counts[TREES_UNLABELED], sentences));
    metric_put(m, to, "_LEM", metric_ratio((double)counts[TREES_LABELED], sentences));
}

const metric_kind metric_attachment_scores = {
    .name = "attachment_scores",
    .inputs = METRIC_ARCS,
    .is_of_rows = true,
    .endings = " _UAS _LAS _UEM _LEM",
    .n_counts = COUNTS,
    .add = add_arcs,
    .figures = put_arcs,
};
