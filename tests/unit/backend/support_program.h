/*
 * A graph on the CPU backend without plan or exec: every value has memory of its own, filled with
 * NaN before each run unless the test sets it, so a kernel that skips an element shows.
 */
#ifndef TEQUIO_TESTS_UNIT_BACKEND_SUPPORT_PROGRAM_H
#define TEQUIO_TESTS_UNIT_BACKEND_SUPPORT_PROGRAM_H

#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "graph/attrs.h"

typedef struct program {
    graph *g;
    backend *device;
    backend_program *loaded;
    backend_kernel *kernels;
    void **addresses; /* by value */
    void *workspace;
    error err;
} program;

void program_init(program *p); /* an empty graph */
void program_fini(program *p);

/* Building; a failure fails the test. */
graph_val program_input(program *p, const char *name, dtype t, graph_shape shape);
graph_val program_param(program *p, const char *name, graph_shape shape); /* trainable */
graph_val program_state(program *p, const char *name, graph_shape shape);
graph_val program_node(program *p, graph_op op, const char *name, const void *attr, int n_in,
                       const graph_val *in, graph_val *ret_out); /* output 0 */

/* Opens the device and loads the graph; the plain form fails the test on an error. */
status program_try_load(program *p, int threads);
void program_load(program *p, int threads);

/* Drops what loading made, so that the same graph can be loaded again. */
void program_unload(program *p);

float *program_floats(program *p, graph_val v);
int64_t *program_ints(program *p, graph_val v);

/* f32 elements from a fixed stream in [-1, 1), by value id */
void program_fill(program *p, graph_val v);
void program_fill_sources(program *p); /* every f32 input and parameter */

void program_run(program *p);

int32_t program_node_named(const program *p, const char *name);

#endif
