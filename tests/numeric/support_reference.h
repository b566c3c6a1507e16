/*
 * An interpreter of forward graphs in double precision: plain loops written from the texts of the
 * ONNX operators, with nothing in common with a backend. Values are arrays of double whatever their
 * type is in the graph; labels and masks are whole numbers there.
 *
 * Two uses: the value every kernel is held to, and, run at shifted parameters, the central
 * difference every gradient is held to (no float noise, so the step can be small).
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_REFERENCE_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_REFERENCE_H

#include "graph/graph.h"

typedef struct reference reference;

/* `g` has no backward nodes and is kept until reference_destroy. */
reference *reference_create(const graph *g);
void reference_destroy(reference **r);

/* A value's elements, row-major: inputs and parameters to be filled, others to be read. */
double *reference_value(reference *r, graph_val v);
double *reference_named(reference *r, const char *name);
int64_t reference_elements(const reference *r, graph_val v);

void reference_run(reference *r);

/* The derivative of `loss` along direction[] of x, an input or a parameter, by central differences.
 */
double reference_derivative(reference *r, graph_val loss, graph_val x, const double *direction);

#endif
