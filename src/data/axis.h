/*
 * An axis of a chart: from values, or their logarithms, to pixels, with ticks at round numbers. Threads: pure.
 */
#ifndef TEQUIO_DATA_AXIS_H
#define TEQUIO_DATA_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct axis {
    double from, to;   /* of what is drawn: the logarithm, or the value itself; to is above from */
    bool is_log;
    int first, last;   /* their pixels; last may be the lesser one */
    int ticks;         /* about so many */
} axis;

enum { AXIS_LABEL = 32 };

/* Of values from `least` to `most`, which are above 0 where it is logarithmic. */
axis axis_create(double least, double most, bool is_log, int first, int last, int ticks);

/* The pixel of a value, also beyond the ends. */
double axis_pixel(const axis *a, double value);

/* Ticks in their order, the first one with *at = NAN before: their value is axis_tick_value. False: it was the last. */
bool axis_next_tick(const axis *a, double *at);
double axis_tick_value(const axis *a, double at);
/* "0.02", or "1e-5" of a decade; ret is [AXIS_LABEL]. */
void axis_tick_label(const axis *a, double at, char *ret);

#endif
