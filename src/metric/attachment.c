/*
 * Attachment scores of dependency trees: the share of words whose head is right, and whose head and tag are,
 * and the share of sentences in which all are.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"

#include <string.h>

enum { WORDS, HEADS, ARCS, SENTENCES, TREES_UNLABELED, TREES_LABELED, COUNTS };

/* Which tags, and which parts of speech, words have that do not count. */
typedef struct ignored {
    int64_t n_tags, n_pos;
    bool *tags, *pos; /* behind this */
} ignored;

static bool is_among(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static status find_tags(metric *m, ignored *to, error *err)
{
    for (size_t i = 0; i < m->o.n_ignore_classes; i++)
        if (!m->source->words || !is_among(m->o.ignore_classes[i], m->source->words, (size_t)to->n_tags))
            return METRIC_FAIL(m, err, "ignore_classes: '%s' is no tag of the training data", m->o.ignore_classes[i]);
    for (int64_t i = 0; i < to->n_tags && m->source->words; i++)
        to->tags[i] = is_among(m->source->words[i], m->o.ignore_classes, m->o.n_ignore_classes);
    return OK;
}

static status open_arcs(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    const metric_source *s = m->source;
    (void)ret_counts;
    (void)ret_sums;
    ignored *to = m->own = xcalloc(1, sizeof *to + (size_t)(s->classes + s->n_parts_of_speech) * sizeof(bool));
    *to = (ignored){.n_tags = s->classes, .n_pos = s->n_parts_of_speech, .tags = (bool *)(to + 1)};
    to->pos = to->tags + s->classes;
    if (m->o.n_ignore_pos && to->n_pos == 0)
        return METRIC_FAIL(m, err, "ignore_pos: the data have no field pos_tags whose numbers have words");
    for (int64_t i = 0; i < to->n_pos; i++)
        to->pos[i] = is_among(s->parts_of_speech[i], m->o.ignore_pos, m->o.n_ignore_pos);
    return find_tags(m, to, err);
}

static bool is_word(const metric *m, const metric_batch *b, int64_t i)
{
    const ignored *not = m->own;
    if (!metric_counts(m->source, b, i) || (b->tags[i] >= 0 && b->tags[i] < not->n_tags && not->tags[b->tags[i]]))
        return false;
    int64_t pos = b->parts_of_speech ? b->parts_of_speech[i] : -1;
    return !(pos >= 0 && pos < not->n_pos && not->pos[pos]);
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
    metric_put(m, to, "UAS", metric_ratio((double)counts[HEADS], words));
    metric_put(m, to, "LAS", metric_ratio((double)counts[ARCS], words));
    metric_put(m, to, "UEM", metric_ratio((double)counts[TREES_UNLABELED], sentences));
    metric_put(m, to, "LEM", metric_ratio((double)counts[TREES_LABELED], sentences));
}

const metric_kind metric_attachment_scores = {
    .name = "attachment_scores",
    .inputs = METRIC_ARCS,
    .is_of_rows = true,
    .endings = " UAS LAS UEM LEM",
    .endings_name_it = true,
    .n_counts = COUNTS,
    .open = open_arcs,
    .add = add_arcs,
    .figures = put_arcs,
};
