/* A model of ONNX that a test has put together, imported and run once on the CPU backend. */
#ifndef TEQUIO_TESTS_NUMERIC_ONNX_RUN_H
#define TEQUIO_TESTS_NUMERIC_ONNX_RUN_H

#include "graph/graph.h"
#include "numeric/support_lane.h"
#include "onnx/import.h"
#include "unit/onnx/support_file.h"

enum { RUN_MOST_OUT = 16, RUN_MOST_ELEMENTS = 4096, RUN_SEED = 11 };

/* What an input is fed; `x` has as many numbers as the shape. A trained one is a parameter. */
typedef struct run_input {
    const char *name;
    dtype type;
    graph_shape shape;
    const double *x;
    bool trained;
} run_input;

typedef struct run_result {
    size_t n;
    graph_shape shape[RUN_MOST_OUT];
    dtype type[RUN_MOST_OUT];
    double y[RUN_MOST_OUT][RUN_MOST_ELEMENTS];
} run_result;

/* All outputs, which must depend on the inputs. Any failure fails the test. `batch` is the batch's
 * number, from which random numbers are drawn. To be freed. */
run_result *run_file(const file *f, const run_input *in, size_t n_in, int64_t batch);

#endif
