/*
 * What a kind of metric is made of, for the files of the families. A kind counts into its metric_state and
 * makes figures of it; merging and bytes are the state's.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_KIND_H
#define TEQUIO_METRIC_KIND_H

#include "metric/metric_state.h"
#include "metric/metrics.h"

typedef struct metric metric;

typedef struct metric_kind {
    const char *name;
    unsigned inputs;       /* those metric_input that it takes */
    bool is_of_rows;       /* it takes examples with a row of labels only */
    bool is_of_spans;      /* it takes answers by first and last position only */
    bool is_of_answers;    /* what these are worth is to be known too */
    bool keeps_each;       /* pairs, rows or values of its state grow with every label or example */
    const char *endings;   /* of the names of its figures that are numbers, in their order, behind a blank
                            * each: " _precision _recall"; an empty one is a blank alone. NULL: none are known */
    bool endings_name_it;  /* they are the names of its figures; behind NAME_ if the options give a name */
    size_t n_counts, n_sums; /* how much it counts, ... */
    /* ... unless this says it, which checks the options too. E_CONFIG. */
    status (*open)(metric *m, size_t *ret_counts, size_t *ret_sums, error *err);
    /* Counts a batch whose labels and scores are in order. E_NOMEM. */
    status (*add)(metric *m, const metric_batch *b, error *err);
    void (*figures)(metric *m, metric_figures *to);
    void (*settle)(metric *m); /* after a merge: what need not be kept goes; NULL: all is kept */
} metric_kind;

struct metric {
    const metric_kind *kind;
    metric_options o;
    const metric_source *source;
    metric_state state;
    void *own;             /* what the kind made in open, in one piece: freed with the metric */
    buf scratch;           /* of add */
};

#define METRIC(name) extern const metric_kind metric_##name;
#include "metric/kinds.def"
#undef METRIC

/* E_CONFIG: "metric 'f1': ..." */
#define METRIC_FAIL(m, err, ...) metric_fail((m), (err), __VA_ARGS__)
status metric_fail(const metric *m, error *err, const char *format, ...) PRINTF_LIKE(3, 4);
const char *metric_name(const metric *m);
/* Of metrics of two classes: there are two, and the positive label is one of them. E_CONFIG. */
MUST_USE status metric_check_positive(const metric *m, error *err);
/* The name of a figure; the caller frees it. */
char *metric_figure_name(const metric_kind *kind, const metric_options *o, const char *ending, size_t n);

/* NaN if there is nothing to divide by. */
double metric_ratio(double part, double whole);

/* A number called by the metric's name and `ending`. */
void metric_put(const metric *m, metric_figures *to, const char *ending, double value);
void metric_put_table(const metric *m, metric_figures *to, const char *ending, int64_t rows, int64_t columns,
                      const double *values);

/* --- of a batch; `i` is the label, counted over all examples --- */

static inline bool metric_counts(const metric_source *s, const metric_batch *b, int64_t i)
{
    if (b->mask && !b->mask[i])
        return false;
    return !(s->has_ignore_index && b->labels && b->labels[i] == s->ignore_index);
}

static inline float metric_score(const metric_source *s, const metric_batch *b, int64_t i, int64_t c)
{
    int64_t stride = b->class_stride ? b->class_stride : 1;
    return b->scores[i / stride * stride * s->classes + c * stride + i % stride];
}

/* Classes that predictions and labels are of: two if they are yes and no. */
int64_t metric_classes(const metric_source *s);
/* The class with the highest score, the first of several; 1 for a yes. */
int64_t metric_predicted(const metric_source *s, const metric_batch *b, int64_t i);
int64_t metric_truth(const metric_source *s, const metric_batch *b, int64_t i);

#endif
