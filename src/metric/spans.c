/*
 * Precision, recall and F1 of spans, as of names in a text: a predicted span counts if one with the same
 * bounds and label is among the labels. Tags say by a letter where spans begin and end:
 *
 *   BIO, IOB1   B begins a span, I goes on with it. An I that cannot begins one too
 *   BMES        B begins, M and E go on, S is a span by itself. An M or E that cannot go on begins one
 *   BIOUL       B begins, I goes on, L ends, U is a span by itself. What is not of this form is no span; the
 *               label is that of L. (AllenNLP refuses such rows, also of predictions.)
 *
 * O, and tags of ignored labels, are in no span. Labels that do not count are taken out of their row.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MATCHED, PREDICTED, LABELS, COUNTS, OUTSIDE = -1 };

typedef struct tag {
    char letter;
    int32_t label; /* OUTSIDE, or its number */
} tag;

typedef struct tag_set {
    int32_t n_labels;
    const char **labels; /* borrowed */
    tag tags[];          /* of the classes */
} tag_set;

typedef struct text_span {
    int32_t label;
    int64_t first, last;
} text_span;

/* --- tags --- */

static const char *letters_of(metric_encoding e)
{
    static const char *const letters[] = {
        [METRIC_BIO] = "BIO", [METRIC_BIOUL] = "BIOUL", [METRIC_IOB1] = "BIO", [METRIC_BMES] = "BMESO"};
    return letters[e];
}

static bool is_ignored(const metric *m, const char *label)
{
    for (size_t i = 0; i < m->o.n_ignore_classes; i++)
        if (strcmp(m->o.ignore_classes[i], label) == 0)
            return true;
    return false;
}

static int32_t label_number(tag_set *t, const char *label)
{
    for (int32_t i = 0; i < t->n_labels; i++)
        if (strcmp(t->labels[i], label) == 0)
            return i;
    t->labels[t->n_labels] = label;
    return t->n_labels++;
}

static status read_tag(const metric *m, tag_set *t, const char *text, tag *ret, error *err)
{
    bool is_outside = strcmp(text, "O") == 0;
    if (!is_outside && (!text[0] || !strchr(letters_of(m->o.encoding), text[0]) || (text[1] && text[1] != '-')))
        return METRIC_FAIL(m, err, "the tag '%s' is neither O nor one of the letters %s, '-' and a label", text,
                           letters_of(m->o.encoding));
    const char *label = text[1] ? text + 2 : "";
    bool counts = text[0] != 'O' && !is_ignored(m, label);
    *ret = (tag){counts ? text[0] : 'O', counts ? label_number(t, label) : OUTSIDE};
    return OK;
}

static status open_spans(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_sums;
    size_t classes = (size_t)m->source->classes;
    const char *const *tags = m->o.tags ? m->o.tags : m->source->words;
    if (!tags)
        return METRIC_FAIL(m, err, "the data do not say what the tags of %zu classes are: give them as `tags`",
                           classes);
    if (m->o.tags && m->o.n_tags != classes)
        return METRIC_FAIL(m, err, "%zu tags for %zu classes", m->o.n_tags, classes);
    tag_set *t = xcalloc(1, sizeof *t + classes * (sizeof *t->tags + sizeof *t->labels));
    m->own = t;
    t->labels = (const char **)(void *)(t->tags + classes);
    for (size_t i = 0; i < classes; i++)
        TRY(read_tag(m, t, tags[i], &t->tags[i], err));
    *ret_counts = (size_t)t->n_labels * COUNTS;
    return OK;
}

/* --- spans --- */

static bool goes_on(metric_encoding e, const tag *now, const tag *before, const text_span *span)
{
    if (now->label != span->label)
        return false;
    if (e == METRIC_BMES)
        return (now->letter == 'M' || now->letter == 'E') && (before->letter == 'B' || before->letter == 'M');
    return now->letter == 'I';
}

static size_t find_lenient(metric_encoding e, const tag *row, size_t n, text_span *ret)
{
    size_t found = 0;
    bool is_open = false;
    for (size_t i = 0; i < n; i++) {
        if (row[i].label == OUTSIDE) {
            is_open = false;
        } else if (is_open && goes_on(e, &row[i], &row[i - 1], &ret[found - 1])) {
            ret[found - 1].last = (int64_t)i;
        } else {
            ret[found++] = (text_span){row[i].label, (int64_t)i, (int64_t)i};
            is_open = true;
        }
    }
    return found;
}

static size_t find_closed(const tag *row, size_t n, text_span *ret)
{
    size_t found = 0;
    int64_t first = OUTSIDE;
    for (size_t i = 0; i < n; i++) {
        int64_t at = (int64_t)i;
        switch (row[i].letter) {
        case 'B':
            first = at;
            break;
        case 'U':
            ret[found++] = (text_span){row[i].label, at, at};
            first = OUTSIDE;
            break;
        case 'L':
            if (first != OUTSIDE)
                ret[found++] = (text_span){row[i].label, first, at};
            first = OUTSIDE;
            break;
        case 'O':
            first = OUTSIDE;
            break;
        default: /* I */
            break;
        }
    }
    return found;
}

static size_t find_spans(const metric *m, const tag *row, size_t n, text_span *ret)
{
    metric_encoding e = m->o.encoding;
    return e == METRIC_BIOUL ? find_closed(row, n, ret) : find_lenient(e, row, n, ret);
}

/* Both are in the order of the text. */
static void count_spans(metric *m, const text_span *predicted, size_t n, const text_span *labels, size_t n_labels)
{
    int64_t *counts = m->state.counts;
    for (size_t i = 0; i < n; i++)
        counts[predicted[i].label * COUNTS + PREDICTED]++;
    for (size_t i = 0, k = 0; i < n_labels; i++) {
        counts[labels[i].label * COUNTS + LABELS]++;
        while (k < n && predicted[k].first < labels[i].first)
            k++;
        bool is_same = k < n && predicted[k].first == labels[i].first && predicted[k].last == labels[i].last &&
                       predicted[k].label == labels[i].label;
        counts[labels[i].label * COUNTS + MATCHED] += is_same;
    }
}

typedef struct span_rows {
    tag *predicted, *labels;
    text_span *predicted_spans, *label_spans;
} span_rows;

static span_rows rows_make(metric *m)
{
    size_t n = (size_t)m->source->labels;
    buf_clear(&m->scratch);
    buf_reserve(&m->scratch, 2 * n * (sizeof(text_span) + sizeof(tag)));
    text_span *spans = (text_span *)(void *)m->scratch.data;
    tag *tags = (tag *)(void *)(spans + 2 * n);
    return (span_rows){tags, tags + n, spans, spans + n};
}

static status add_spans(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    const tag_set *t = m->own;
    span_rows r = rows_make(m);
    for (int64_t e = 0; e < b->examples; e++) {
        size_t n = 0;
        for (int64_t i = e * s->labels; i < (e + 1) * s->labels; i++) {
            if (!metric_counts(s, b, i))
                continue;
            r.predicted[n] = t->tags[metric_predicted(s, b, i)];
            r.labels[n++] = t->tags[metric_truth(s, b, i)];
        }
        size_t n_predicted = find_spans(m, r.predicted, n, r.predicted_spans);
        size_t n_labels = find_spans(m, r.labels, n, r.label_spans);
        count_spans(m, r.predicted_spans, n_predicted, r.label_spans, n_labels);
    }
    return OK;
}

/* --- figures --- */

/* "_precision" of all labels and "_precision-PER" of one, or as AllenNLP names them, "precision-overall" and
 * "precision-PER". */
static void put_counts(const metric *m, metric_figures *to, const int64_t counts[COUNTS], const char *label)
{
    static const char *const endings[] = {"_precision", "_recall", ""};
    static const char *const names[] = {"precision", "recall", "f1-measure"};
    double matched = (double)counts[MATCHED];
    double all[] = {(double)counts[PREDICTED], (double)counts[LABELS],
                    (double)(counts[PREDICTED] + counts[LABELS]) / 2.0};
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char *name = m->kind->endings_name_it ? xasprintf("%s-%s", names[i], label ? label : "overall")
                                              : xasprintf("%s%s%s", endings[i], label ? "-" : "", label ? label : "");
        metric_put(m, to, name, all[i] > 0.0 ? matched / all[i] : 0.0);
        free(name);
    }
}

static void put_spans(metric *m, metric_figures *to)
{
    const tag_set *t = m->own;
    int64_t all[COUNTS] = {0};
    for (int32_t i = 0; i < t->n_labels * COUNTS; i++)
        all[i % COUNTS] += m->state.counts[i];
    put_counts(m, to, all, NULL);
    for (int32_t i = 0; i < t->n_labels; i++)
        if (*t->labels[i])
            put_counts(m, to, m->state.counts + i * COUNTS, t->labels[i]);
}

const metric_kind metric_span_f1 = {
    .name = "span_f1",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " _precision _recall ",
    .open = open_spans,
    .add = add_spans,
    .figures = put_spans,
};

const metric_kind metric_span_based_f1 = {
    .name = "span_based_f1",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " precision-overall recall-overall f1-measure-overall",
    .endings_name_it = true,
    .open = open_spans,
    .add = add_spans,
    .figures = put_spans,
};
