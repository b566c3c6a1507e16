/*
 * What a model says to each example, as lines of JSON (prediction_line.h), into a file or onto standard output.
 * Threads: main thread.
 */
#ifndef TEQUIO_CLI_USE_PREDICTIONS_H
#define TEQUIO_CLI_USE_PREDICTIONS_H

#include "evaluator/evaluator.h"

typedef struct predictions {
    const char *path; /* has its name once it is whole; NULL: standard output */
    bool with_inputs;
    double temperature; /* prediction_form's */
    bool is_silent; /* nothing on standard output */
    int64_t limit;  /* examples; 0: all */
} predictions;

/* As evaluator_predict; E_IO; E_USAGE: there is nothing that a temperature changes. */
MUST_USE status predictions_write(const predictions *p, const evaluator_request *request, error *err);

#endif
