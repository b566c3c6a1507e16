/*
 * Host tensors: values that are known before anything runs, such as constants, shapes and what
 * follows from them. Any number of axes up to GRAPH_RANK; an axis may be 0 long.
 *
 * Element types are those a graph has (float32, int64, int32, bool, uint8) and float64, which only
 * lives here. Ownership: all memory is the arena's. Threads: as the arena.
 */
#ifndef TEQUIO_ONNX_HOST_H
#define TEQUIO_ONNX_HOST_H

#include "common/base/alloc.h"
#include "graph/graph.h"
#include "onnx/element.h"
#include "onnx/model.h"

typedef struct host_tensor {
    dtype dtype;
    graph_shape shape;
    int64_t n; /* elements */
    void *data;
    int32_t element; /* ONNX's type of what it holds; 0: that of the dtype */
} host_tensor;

/* Zeroed. E_DATA if the shape is none or overflows. */
MUST_USE status host_create(arena *a, dtype t, const graph_shape *shape, host_tensor **ret,
                            error *err);
host_tensor *host_ints(arena *a, int64_t n, const int64_t *values);  /* int64 [n] */
host_tensor *host_int(arena *a, int64_t value);                      /* int64 [] */

bool host_is_float(const host_tensor *t);
int64_t host_get_int(const host_tensor *t, int64_t i);  /* bool and uint8 widened; of floats cut */
double host_get(const host_tensor *t, int64_t i);       /* of any type */
/* To the tensor's type: integers wrap, floats round, bool is "not zero". */
void host_set_int(host_tensor *t, int64_t i, int64_t value);
void host_set(host_tensor *t, int64_t i, double value);
void host_copy(host_tensor *to, int64_t i, const host_tensor *from, int64_t k); /* of one type */

/* Reading numpy's way: where element `i` of shape `to` lies in a tensor of shape `from`. */
int64_t host_broadcast_at(const graph_shape *from, const graph_shape *to, int64_t i);

/* Of tensors in files. ONNX's number of an element type to what holds it here (element.h); false if we
 * have none. */
bool host_dtype_of_onnx(int32_t data_type, dtype *ret);
const char *host_onnx_type_name(int32_t data_type);

/* Shape and type without the values. E_DATA, E_UNSUPPORTED. */
MUST_USE status host_describe(const Onnx__TensorProto *t, dtype *ret_dtype, graph_shape *ret_shape,
                              error *err);
/* Whether its values are all there, also in another file. ret_n may be NULL. E_DATA, E_IO. */
MUST_USE status host_check(const onnx_model *m, const Onnx__TensorProto *t, int64_t *ret_n,
                           error *err);
/* The values too. */
MUST_USE status host_read(const onnx_model *m, const Onnx__TensorProto *t, arena *a,
                          host_tensor **ret, error *err);
/* A float tensor's elements into `out` [n]. E_DATA where one is not finite. */
MUST_USE status host_read_weights(const onnx_model *m, const Onnx__TensorProto *t, float *out,
                                  int64_t n, error *err);

#endif
