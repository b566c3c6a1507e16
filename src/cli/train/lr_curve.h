/*
 * The losses that a rising learning rate met: read from the lines of a job, smoothed, and told.
 *
 * Threads: an lr_losses belongs to one thread.
 */
#ifndef TEQUIO_CLI_TRAIN_LR_CURVE_H
#define TEQUIO_CLI_TRAIN_LR_CURVE_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smoothed as AllenNLP does: a running mean that forgets 2% a step, corrected for its beginning. */
typedef struct lr_losses {
    double *rate, *loss, *smooth; /* [n] */
    size_t n, cap;
    int64_t examples; /* of the first step */
} lr_losses;

/* From a metrics.jsonl with a line a step, up to the first loss that is not finite or, with `stop` > 0, more
 * than `stop` times the best after the tenth step. E_DATA if fewer than two are left. *ret is to be lr_losses_fini'd
 * whatever comes of it. */
MUST_USE status lr_losses_read(const char *path, double stop, lr_losses *ret, error *err);
void lr_losses_fini(lr_losses *l);

/* The rate at which the smoothed loss falls fastest, from one step to the next, before it is lowest. */
double lr_losses_fastest(const lr_losses *l);
double lr_losses_lowest(const lr_losses *l);

/* "learning_rate,loss,smoothed" and a line a step. */
MUST_USE status lr_losses_write(const lr_losses *l, const char *path, error *err);
/* A PNG (lr_plot.h). */
MUST_USE status lr_losses_draw(const lr_losses *l, bool is_linear, const char *path, error *err);

#endif
