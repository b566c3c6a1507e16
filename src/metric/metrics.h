/*
 * Metrics of an evaluation: what a configuration lists as `model.metrics` or `trainer.metrics`, counted batch by batch.
 *
 * A metric's value is bit-equal however the examples are split over batches, threads and processes, and in
 * whatever order the parts are merged: integers are added, fractions are added exactly (exact_sum.h), and
 * rank metrics sort what they keep (metric_state.h). It is a function of the scores and labels alone.
 *
 * kinds.def has a row for each kind; docs/METRICS.md says what each takes and gives.
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_METRICS_H
#define TEQUIO_METRIC_METRICS_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What a model says of each label. */
typedef enum metric_input {
    METRIC_CLASSES = 1, /* a score of each class; the label is a class */
    METRIC_YES_NO = 2,  /* one score; the label is a yes or a no */
    METRIC_NUMBERS = 4, /* a number; the label is a number */
    METRIC_TOKENS = 8,  /* the class itself; the label is a class */
    METRIC_ARCS = 16    /* a head and its tag, of each word; the labels are heads and tags too */
} metric_input;

/* What all batches of an evaluation have in common. */
typedef struct metric_source {
    metric_input input;
    int64_t classes;           /* of METRIC_CLASSES and METRIC_TOKENS; of METRIC_ARCS the tags */
    int64_t labels;            /* of an example: 1, or the length of its row */
    bool is_odds;              /* of METRIC_YES_NO: scores are logits, not probabilities */
    bool has_ignore_index;     /* labels of that value do not count */
    int64_t ignore_index;
    const char *const *words;  /* of the classes; NULL: none. Kept while metrics are open */
    bool is_span;              /* of METRIC_CLASSES: the two labels are first and last position of an answer */
    const char *const *parts_of_speech; /* of METRIC_ARCS: what those of words are numbered by; NULL: nobody says */
    int64_t n_parts_of_speech;
    bool has_answers;          /* batches can say what answers are worth */
} metric_source;

/* What the model answers to the question of an example, and what that is worth (squad.h). */
typedef struct metric_answer {
    int64_t question, window;  /* of the windows of a question, that with the highest score counts */
    float score;
    bool has_gold;             /* there is a right answer; else there is none, and "" is right */
    bool exact;
    double f1;
} metric_answer;

/* Row-major; what a kind of input does not have is NULL. */
typedef struct metric_batch {
    int64_t first;             /* the number of its first example among all */
    int64_t examples;
    const float *scores;       /* [examples, labels, classes], or [examples, labels]; of METRIC_ARCS the arcs' */
    int64_t class_stride;      /* from a class to the next; 0: 1. Labels lie within it where it is more */
    const int64_t *predicted;  /* tokens [examples, n_predicted], or heads [examples, labels] */
    int64_t n_predicted;       /* 0: as many as labels */
    const int64_t *labels;     /* [examples, labels]; NULL: targets are the labels */
    const float *targets;      /* [examples, labels] */
    const int64_t *predicted_tags, *tags; /* of METRIC_ARCS */
    const int64_t *parts_of_speech; /* likewise: their numbers, -1 where there is none; NULL: nobody asks */
    const unsigned char *mask; /* [examples, labels], 0: the label does not count; NULL: all do */
    const metric_answer *answers; /* [examples], where metrics_want_answers */
} metric_batch;

typedef enum metric_average {
    METRIC_PER_CLASS,
    METRIC_MICRO,
    METRIC_MACRO,
    METRIC_WEIGHTED
} metric_average;

typedef enum metric_encoding { METRIC_BIO, METRIC_BIOUL, METRIC_IOB1, METRIC_BMES } metric_encoding;

enum { METRIC_SUM_ROOM = 64 };
enum { METRIC_NGRAMS = 8, METRIC_NO_LABEL = -1, METRIC_BINS = 15, METRIC_THRESHOLDS = 101, METRIC_CURVE_ROWS = 4 };

/* Each kind takes some of these. Lists are borrowed while metrics are open. */
typedef struct metric_options {
    const char *kind;             /* a name in kinds.def */
    const char *name;             /* of its figures; NULL: as the kind */
    int64_t top_k;                /* 0: 1; of worst_examples, how many */
    bool tie_break;
    int64_t positive_label;       /* of f1 METRIC_NO_LABEL: 1 of two classes */
    double beta;                  /* 0: 1 */
    metric_average average;
    double threshold;             /* of a probability */
    const int64_t *labels;        /* classes that count; NULL: all */
    size_t n_labels;
    metric_encoding encoding;
    const char *const *tags;      /* of the classes; NULL: the source's words */
    size_t n_tags;
    const char *const *ignore_classes; /* spans of these labels, or words of these tags, do not count */
    size_t n_ignore_classes;
    const char *const *ignore_pos; /* words of these parts of speech do not count */
    size_t n_ignore_pos;
    int64_t bins;                 /* 0: METRIC_BINS */
    int64_t ngram_size;           /* 0: 2 */
    const double *ngram_weights;  /* NULL: four of 0.25 */
    size_t n_ngram_weights;
    const int64_t *exclude;       /* tokens that are in no n-gram */
    size_t n_exclude;
} metric_options;

/* A number (rows 0), a list (rows 1) or a table of counts, row by row. */
typedef struct metric_figure {
    char *name;
    int64_t rows, columns;
    double *values;               /* NaN: there is none, for lack of examples or because of scores refused */
    bool are_counts;              /* whole numbers, in a table */
} metric_figure;

typedef struct metric_figures {
    metric_figure *at;
    size_t n, cap;
} metric_figures;

void metric_figures_fini(metric_figures *f);
const metric_figure *metric_figures_find(const metric_figures *f, const char *name);

typedef struct metric_list metric_list;

/* Is there such a kind? */
bool metrics_know(const char *kind);
/* The name of the kind nearest to that word; NULL: none is near. */
const char *metrics_did_you_mean(const char *kind);

/* The names of the numbers that a metric gives whatever the data, "f1_recall", as many as there are; the
 * caller frees each. Of an unknown kind there are none. */
size_t metrics_names(const metric_options *options, char **ret, size_t most);

/* E_CONFIG: a kind that is unknown or does not take this input, an option that does not fit, two figures of
 * one name. E_NOMEM. */
MUST_USE status metrics_open(const metric_options *options, size_t n, const metric_source *source,
                             metric_list **ret, error *err);
void metrics_close(metric_list **m);

/* Is there one that is of answers? */
bool metrics_want_answers(const metric_list *m);

/* E_DATA: a label is no class. E_NOMEM. A batch with scores that are NaN or infinite (of classes, +infinity)
 * is counted as refused: metrics_check names it. */
MUST_USE status metrics_add(metric_list *m, const metric_batch *batch, error *err);
/* Both were opened alike. E_NOMEM. */
MUST_USE status metrics_merge(metric_list *into, metric_list *from, error *err);
/* Back to no examples. */
void metrics_reset(metric_list *m);

/* Is what it counts of a batch of a fixed size, and counted of scores and labels alone? Of an unknown kind: no. */
bool metrics_stays_small(const char *kind);
/* How many counts such a metric would have, a sum being worth METRIC_SUM_ROOM of them; nothing is counted yet. E_CONFIG
 * as metrics_open. */
MUST_USE status metrics_measure(const metric_options *o, const metric_source *source, size_t *ret, error *err);
/* What was counted, in few bytes (packed.h), of metrics that all stay small; and added to what metrics that were opened
 * alike have counted. E_DATA. */
void metrics_pack(const metric_list *m, buf *to);
MUST_USE status metrics_add_packed(metric_list *m, const char **from, size_t *bytes, error *err);

/* The values, after any number of batches; all NaN once a score was refused. */
void metrics_figures(metric_list *m, metric_figures *ret);
/* E_NONFINITE: scores were refused. It names the metrics. */
MUST_USE status metrics_check(const metric_list *m, error *err);

/* What was counted, as bytes for another process, and back into metrics opened alike that have counted
 * nothing yet. Equal counts give equal bytes. E_DATA, E_NOMEM. */
void metrics_save(metric_list *m, buf *to);
MUST_USE status metrics_load(metric_list *m, const char *bytes, size_t n, error *err);

#endif
