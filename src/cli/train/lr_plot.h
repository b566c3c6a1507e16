/*
 * The picture of a search for a learning rate: losses over rates. Threads: pure.
 */
#ifndef TEQUIO_CLI_TRAIN_LR_PLOT_H
#define TEQUIO_CLI_TRAIN_LR_PLOT_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct lr_curve {
    const double *rate, *loss, *smooth; /* [n], all finite, rates ascending */
    size_t n;                           /* at least 2 */
    bool is_linear;                     /* the axis of rates; else it is logarithmic, and they are above 0 */
} lr_curve;

/* A PNG: losses in grey, smoothed ones in blue, ticks with their numbers on both axes. */
MUST_USE status lr_plot_write(const char *path, const lr_curve *curve, error *err);

#endif
