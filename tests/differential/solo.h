/*
 * A node of a sketch alone: imported as a model of its own, and its values at all points. Only for
 * sketch.c. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_SOLO_H
#define TEQUIO_TESTS_DIFFERENTIAL_SOLO_H

#include "differential/sketch.h"

/* Imports the node, appends terms for its outputs and evaluates them. False: it cannot be imported,
 * or its values are not fit (sketch.h). */
bool solo_settle(sketch *s, int32_t node);
void solo_fini(sketch_node *n);

#endif
