/*
 * A confusion matrix as a picture: a row for each class of the labels, a column for each predicted, the darker the
 * larger the share of the row's labels. Classes stand by their numbers; counts stand in the cells where these are
 * large enough.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_EVALUATOR_CONFUSION_PICTURE_H
#define TEQUIO_EVALUATOR_CONFUSION_PICTURE_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "metric/metrics.h"

typedef struct confusion_picture {
    int width, height;
    buf png;
} confusion_picture;

/* Is it a table of counts with as many rows as columns? */
bool confusion_picture_fits(const metric_figure *f);
/* Of one that fits. E_NOMEM. */
MUST_USE status confusion_picture_draw(const metric_figure *f, confusion_picture *ret, error *err);
void confusion_picture_fini(confusion_picture *p);

#endif
