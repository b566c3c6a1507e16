/*
 * A node under translation: its inputs, attributes and outputs, for the operator files in ops/.
 *
 * Accessors of attributes answer with the default of ONNX's schema where a node has none; where the
 * schema has none either, callers say what it is then. One of a wrong type is noted in the call,
 * which fails after the operator's function has returned; so does one that nobody asked for, unless
 * it says what is the default anyway. Threads: one at a time.
 */
#ifndef TEQUIO_ONNX_CALL_H
#define TEQUIO_ONNX_CALL_H

#include "graph/attrs.h"
#include "onnx/schema.h"
#include "onnx/walk.h"

typedef struct call {
    importer *im;
    const scope *scope;
    const Onnx__NodeProto *node;
    int64_t version;  /* of the operator set of its domain */
    const onnx_schema *schema; /* what ONNX says of the operator in that version */
    const char *name; /* of its first output, as values of the graph are named */
    slot **in;
    int32_t n_in;
    slot *out;         /* ABSENT where nothing was returned yet */
    int32_t n_out;     /* as many as the node lists */
    const char *wrong; /* an attribute that is missing or of a wrong type, NULL if all are right */
    uint64_t read;     /* which of the node's attributes were asked for */
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
const onnx_element *call_element(const call *c, int32_t i); /* of an input that is there */
bool call_is_host(const call *c, int32_t i); /* known without reading a weight */
/* A known input; E_UNSUPPORTED if it depends on data. NULL: absent. */
MUST_USE status call_known(call *c, int32_t i, const host_tensor **ret, error *err);
/* A known list of integers: n is -1 when absent. */
MUST_USE status call_known_ints(call *c, int32_t i, int64_t *ret, int32_t most, int32_t *ret_n,
                                error *err);
MUST_USE status call_known_number(call *c, int32_t i, double otherwise, double *ret, error *err);

/* Attributes (attribute.c) */
const Onnx__AttributeProto *call_attribute(call *c, const char *name); /* NULL if absent */
int64_t call_int(call *c, const char *name);
int64_t call_int_or(call *c, const char *name, int64_t otherwise);
/* In 32 bits: a number beyond them becomes the last one there is, which no check takes for an
 * axis. */
int32_t call_int32(call *c, const char *name);
int32_t call_int32_or(call *c, const char *name, int64_t otherwise);
int32_t call_narrow(int64_t value);
double call_float(call *c, const char *name);
double call_float_or(call *c, const char *name, double otherwise);
const char *call_str(call *c, const char *name);
bool call_knows(const call *c, const char *name); /* has any version of the operator this one? */
bool call_flag(call *c, const char *name);        /* false where none has */
/* At most `most`; -1 when absent and there is no default. */
int32_t call_ints(call *c, const char *name, int64_t *ret, int32_t most);
/* All fields of the attributes of a graph's operator (graph/schema.h), as the node says them, or as
 * they are where it does not; the rest of them is zero. */
MUST_USE status call_fields(call *c, graph_op op, void *ret_attr, error *err);
/* What it says makes no difference here. */
void call_ignore(call *c, const char *name);
/* Does the node keep to its schema, and stands each attribute that belongs to a function for one
 * that the function has? E_DATA, E_UNSUPPORTED. */
MUST_USE status call_check(const call *c, error *err);
/* Afterwards: was each of its attributes asked for, or says what is meant without it? E_DATA for
 * one of a wrong type, E_UNSUPPORTED for one that would have been passed over. */
MUST_USE status call_check_read(const call *c, error *err);
/* By attribute in opsets below `since`, from then on by input i. */
MUST_USE status call_ints_moved(call *c, const char *name, int64_t since, int32_t i, int64_t *ret,
                                int32_t most, int32_t *ret_n, error *err);

/* Before opset 7 an attribute could say at which axis of the first operand the second one begins;
 * else it ends where that does, as now. `b` becomes as long as it must be then. E_DATA if it has no
 * place. */
MUST_USE status call_align(call *c, const graph_shape *a, graph_shape *b, error *err);

/* The same of values: the second one is reshaped. */
MUST_USE status call_align_operands(call *c, graph_val in[2], error *err);

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
/* That output k, which was returned, is of that type of ONNX's; else the schema says it. */
void call_type(call *c, int32_t k, int32_t onnx);
bool call_wants(const call *c, int32_t k); /* output k has a name */

/* E_UNSUPPORTED and E_DATA; the caller's caller names the node. */
#define call_refuse(err, ...) FAIL((err), E_UNSUPPORTED, __VA_ARGS__)

/* A negative axis counts from the end. E_DATA outside -rank .. rank-1. */
MUST_USE status call_axis(int64_t axis, int32_t rank, int32_t *ret, error *err);

#endif
