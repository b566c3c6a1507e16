/*
 * What one evaluation tells beside its metrics, if it is asked: figures of each class, the examples that cost most
 * with their places in the data, and by which temperature scores become probabilities. They are counted as metrics
 * are, so they too are the same to the bit however the examples are split.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_EVALUATOR_DETAILS_H
#define TEQUIO_EVALUATOR_DETAILS_H

#include "data/data.h"
#include "metric/metrics.h"

#include <jansson.h>

enum { DETAILS = 3 };

typedef struct evaluation_details {
    bool per_class;
    bool temperature; /* that of the least loss */
    int64_t errors;   /* so many examples; 0: none */
    bool pictures;    /* of the first 100 of these, where they have some */
} evaluation_details;

bool details_any(const evaluation_details *d);

/* The metrics that count them; their names are the flags that ask for them. Returns how many. */
size_t details_options(const evaluation_details *d, const metric_source *source, metric_options ret[DETAILS]);

/* Takes what these found out of the figures:
 *
 *   "classes"   a list: "class" (its number), "word" if it has one, "precision", "recall", "f1", "support". Where an
 *               example has several labels of yes or no, each of these is a class.
 *   "errors"    a list, the worst first: "example" (its number, as `tequio predict` has it), "place", "loss", and
 *               where it has one label "label" and "predicted": words, else numbers; "picture" (example_picture.h)
 *
 *   "temperature"  that by which scores are divided for the least mean cross entropy: "temperature" (null: there is
 *               none), "loss_before" and "loss_after", "expected_calibration_error_before" and "_after", "bins"
 *
 * The caller decrefs it. */
json_t *details_take(const evaluation_details *d, const metric_source *source, const dataset *data,
                     metric_figures *figures);

#endif
