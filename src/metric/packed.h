/*
 * What metrics have counted of a few batches, in few bytes: counts and sums that are 0 take none, others what their
 * size asks for. It is what a report of a slot carries of them (training_metrics.h).
 *
 * Only of states without pairs, rows and values, which are not few.
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_PACKED_H
#define TEQUIO_METRIC_PACKED_H

#include "metric/metric_state.h"

/* Integers of 7 bits a byte, the lowest first; those below 0 take turns with the others. */
void packed_put(buf *to, int64_t x);
/* Takes one off the front of `*from`, `*bytes` long. E_DATA: it is cut short or longer than any. */
MUST_USE status packed_get(const char **from, size_t *bytes, int64_t *ret, error *err);

/* Equal states give equal bytes. */
void packed_put_state(buf *to, const metric_state *s);
/* What was counted there counts in `into` too; of another shape it is E_DATA, and then `into` may have part of it. */
MUST_USE status packed_add_state(metric_state *into, const char **from, size_t *bytes, error *err);

#endif
