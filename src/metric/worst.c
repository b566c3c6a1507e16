/*
 * The examples that cost most: as many as asked for, by the mean loss of their labels, the first of equal ones. It is
 * for whoever looks at them; a configuration does not list it.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"
#include "metric/label_loss.h"

#include <math.h>
#include <stdlib.h>

enum { LABEL, PREDICTED }; /* what a row is worth */
enum { EXAMPLE, LOSS, SHOWN_LABEL, SHOWN_PREDICTED, COLUMNS };

/* The worse first. */
static int compare(const void *a, const void *b)
{
    const metric_row *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void keep_worst(metric *m)
{
    size_t most = (size_t)m->o.top_k;
    if (m->state.n_rows)
        qsort(m->state.rows, m->state.n_rows, sizeof *m->state.rows, compare);
    m->state.n_rows = m->state.n_rows < most ? m->state.n_rows : most;
}

static double label_of(const metric_source *s, const metric_batch *b, int64_t i)
{
    return s->input == METRIC_NUMBERS && b->targets ? (double)b->targets[i] : (double)metric_truth(s, b, i);
}

static double predicted_of(const metric_source *s, const metric_batch *b, int64_t i)
{
    return s->input == METRIC_NUMBERS ? (double)b->scores[i] : (double)metric_predicted(s, b, i);
}

/* False: none of its labels counts. */
static bool judge(const metric_source *s, const metric_batch *b, int64_t example, metric_row *ret)
{
    int64_t n = 0;
    double sum = 0.0;
    for (int64_t i = example * s->labels; i < (example + 1) * s->labels; i++)
        if (metric_counts(s, b, i)) {
            sum += metric_label_loss(s, b, i);
            n++;
        }
    *ret = (metric_row){.place = b->first + example, .score = sum / (double)n};
    if (s->labels == 1 && n) {
        ret->worth[LABEL] = label_of(s, b, example);
        ret->worth[PREDICTED] = predicted_of(s, b, example);
    }
    return n > 0;
}

static status add_worst(metric *m, const metric_batch *b, error *err)
{
    for (int64_t i = 0; i < b->examples; i++) {
        metric_row row;
        if (judge(m->source, b, i, &row))
            TRY(metric_state_add_row(&m->state, &row, err));
    }
    keep_worst(m);
    return OK;
}

static void put_worst(metric *m, metric_figures *to)
{
    keep_worst(m);
    size_t n = m->state.n_rows;
    double *values = xcalloc((n + 1) * COLUMNS, sizeof *values); /* of no rows one is read */
    for (size_t i = 0; i < n; i++) {
        const metric_row *row = &m->state.rows[i];
        double *to_row = values + i * COLUMNS;
        to_row[EXAMPLE] = (double)row->place;
        to_row[LOSS] = row->score;
        to_row[SHOWN_LABEL] = row->worth[LABEL];
        to_row[SHOWN_PREDICTED] = row->worth[PREDICTED];
    }
    metric_put_table(m, to, "", (int64_t)n, COLUMNS, values);
    free(values);
}

const metric_kind metric_worst_examples = {
    .name = "worst_examples",
    .inputs = METRIC_CLASSES | METRIC_YES_NO | METRIC_NUMBERS,
    .keeps_each = true,
    .add = add_worst,
    .settle = keep_worst,
    .figures = put_worst,
};
