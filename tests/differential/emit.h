/*
 * Files of ONNX from terms and nodes of a sketch. Messages are the arena's; what they are made of
 * is borrowed. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_EMIT_H
#define TEQUIO_TESTS_DIFFERENTIAL_EMIT_H

#include "common/base/buf.h"
#include "differential/sketch.h"

/* AttributeProto.AttributeType */
enum { EMIT_FLOAT = 1, EMIT_INT = 2, EMIT_STRING = 3, EMIT_TENSOR = 4, EMIT_INTS = 7 };

#define APPEND(a, list, n, item)                                                                   \
    do {                                                                                           \
        void *grown_ = arena_alloc((a), ((size_t)(n) + 1) * sizeof *(list));                       \
        if (n)                                                                                     \
            memcpy(grown_, (list), (size_t)(n) * sizeof *(list));                                  \
        (list) = grown_;                                                                           \
        (list)[(n)++] = (item);                                                                    \
    } while (0)

typedef struct emitter {
    arena *a;
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
} emitter;

void emit_init(emitter *e, int64_t opset);
void emit_fini(emitter *e);

void emit_input(emitter *e, const term *t);
void emit_initializer(emitter *e, const term *t);
void emit_constant(emitter *e, const term *t);
void emit_node(emitter *e, Onnx__NodeProto *n);
void emit_output(emitter *e, const char *name);

void emit_pack(const emitter *e, buf *ret);
MUST_USE status emit_open(const emitter *e, onnx_model **ret, error *err);

#endif
