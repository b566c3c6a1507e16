/*
 * A node under translation: its inputs, attributes and outputs, for the operator files in ops/.
 *
 * Accessors of attributes answer with a default where there is none; one of a wrong type is noted
 * in the call, which fails after the operator's function has returned. Threads: one at a time.
 */
#ifndef TEQUIO_ONNX_CALL_H
#define TEQUIO_ONNX_CALL_H

#include "graph/attrs.h"
#include "onnx/walk.h"

typedef struct call {
    importer *im;
    const scope *scope;
    const Onnx__NodeProto *node;
    int64_t version;  /* of the operator set of its domain */
    const char *name; /* of its first output, as values of the graph are named */
    slot **in;
    int32_t n_in;
    slot *out;         /* ABSENT where nothing was returned yet */
    int32_t n_out;     /* as many as the node lists */
    const char *wrong; /* an attribute of a wrong type, NULL if all are right */
} call;

typedef status translate_fn(call *c, error *err);

/* Inputs */
bool call_has(const call *c, int32_t i);
MUST_USE status call_value(call *c, int32_t i, graph_val *ret, error *err);
const graph_value *call_at(const call *c, graph_val v); /* until the next node is added */
graph_shape call_shape_of(const call *c, graph_val v);
/* Shape and type of input i, without making it a value. */
MUST_USE status call_describe(call *c, int32_t i, graph_shape *ret_shape, dtype *ret_dtype,
                              error *err);
bool call_is_host(const call *c, int32_t i); /* known without reading a weight */
/* A known input; E_UNSUPPORTED if it depends on data. NULL: absent. */
MUST_USE status call_known(call *c, int32_t i, const host_tensor **ret, error *err);
/* A known list of integers: n is -1 when absent. */
MUST_USE status call_known_ints(call *c, int32_t i, int64_t *ret, int32_t most, int32_t *ret_n,
                                error *err);
MUST_USE status call_known_number(call *c, int32_t i, double otherwise, double *ret, error *err);

/* Attributes */
const Onnx__AttributeProto *call_attribute(const call *c, const char *name); /* NULL if absent */
int64_t call_int(call *c, const char *name, int64_t otherwise);
/* In 32 bits: a number beyond them becomes the last one there is, which no check takes for an
 * axis. */
int32_t call_int32(call *c, const char *name, int64_t otherwise);
int32_t call_narrow(int64_t value);
double call_float(call *c, const char *name, double otherwise);
const char *call_str(call *c, const char *name, const char *otherwise);
/* At most `most`; -1 when absent. */
int32_t call_ints(call *c, const char *name, int64_t *ret, int32_t most);
/* By attribute in opsets below `since`, from then on by input i. */
MUST_USE status call_ints_moved(call *c, const char *name, int64_t since, int32_t i, int64_t *ret,
                                int32_t most, int32_t *ret_n, error *err);

/* Nodes. `call_emit` appends one whose output 0 only this operator reads, `call_finish` the one
 * that makes the call's output 0 and carries its name. */
MUST_USE status call_emit(call *c, graph_op op, const graph_val *in, int32_t n_in, const void *attr,
                          graph_val *ret_out, error *err);
MUST_USE status call_finish(call *c, graph_op op, const graph_val *in, int32_t n_in,
                            const void *attr, error *err);
/* The same over input 0 of the call. */
MUST_USE status call_unary(call *c, graph_op op, const void *attr, error *err);

/* What another operator of ONNX, in its form of opset 13, makes of these slots: known if they are.
 * `axis`: its attribute of that name, NULL: none. Its inputs are named as the call's in messages. */
MUST_USE status call_other(call *c, const char *type, slot **in, int32_t n_in, const int32_t *axis,
                           slot *ret, error *err);

/* Results */
void call_return(call *c, int32_t k, graph_val v);
void call_return_host(call *c, int32_t k, host_tensor *h);
MUST_USE status call_return_input(call *c, int32_t k, int32_t i, error *err); /* the same value */
bool call_wants(const call *c, int32_t k); /* output k has a name */

/* E_UNSUPPORTED and E_DATA; the caller's caller names the node. */
#define call_refuse(err, ...) FAIL((err), E_UNSUPPORTED, __VA_ARGS__)

/* A negative axis counts from the end. E_DATA outside -rank .. rank-1. */
MUST_USE status call_axis(int64_t axis, int32_t rank, int32_t *ret, error *err);

#endif
