/*
 * What a worker's lane does, cut down for tests: variants of a model on a backend, a flat vector of
 * its own, values set and read by name as doubles. Any failure fails the test with the
 * error's text.
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_LANE_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_LANE_H

#include "exec/exec.h"

/* cmocka: fails the running test with the error's text unless `st` is OK. */
void must(status st, const error *err);

typedef struct lane {
    const graph *const *graphs; /* the caller's, kept */
    flat *layout;               /* NULL: no parameters */
    float *params;
    exec *exec;
} lane;

/* The flat vector of a graph's parameters, NULL if it has none. */
flat *lane_layout(const graph *g);

/* On the backend of the program (support_tested.h), or on this one. */
void lane_init(lane *l, const graph *const *graphs, size_t n_graphs, int threads);
void lane_init_on(lane *l, const backend_ops *ops, const graph *const *graphs, size_t n_graphs,
                  int threads);
void lane_fini(lane *l);

/* An input of the variant, or a parameter. */
void lane_set(lane *l, size_t variant, const char *name, const double *values);
void lane_run(lane *l, size_t variant, const exec_hooks *hooks);

/* A kept value of the variant; ret has room for its elements. */
void lane_get(lane *l, size_t variant, const char *name, double *ret);

/* The gradient of a parameter. */
const float *lane_grad(const lane *l, const char *param);

#endif
