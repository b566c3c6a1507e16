/*
 * ONNX files for tests, put together in memory. Shapes and lists of names are written as text:
 * "2,3" and "x w b". What goes wrong in putting together fails the test.
 */
#ifndef TEQUIO_TESTS_UNIT_ONNX_SUPPORT_FILE_H
#define TEQUIO_TESTS_UNIT_ONNX_SUPPORT_FILE_H

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "onnx/model.h"

enum { FILE_FLOAT = 1, FILE_INT32 = 6, FILE_INT64 = 7, FILE_BOOL = 9 };

typedef struct file {
    arena *a;
    Onnx__ModelProto proto;
    Onnx__GraphProto graph;
} file;

file *file_create(int64_t opset);
void file_destroy(file **f);

/* Dimensions that are no numbers are symbols. */
void file_input(file *f, const char *name, int32_t type, const char *shape);
void file_output(file *f, const char *name);
Onnx__TensorProto *file_weights(file *f, const char *name, const char *shape); /* 0.5, 1.5, ... */
Onnx__TensorProto *file_ints(file *f, const char *name, const char *values);   /* int64 [n] */
Onnx__NodeProto *file_node(file *f, const char *type, const char *inputs, const char *outputs);
void file_int(file *f, Onnx__NodeProto *n, const char *name, int64_t value);
void file_float(file *f, Onnx__NodeProto *n, const char *name, float value);
void file_string(file *f, Onnx__NodeProto *n, const char *name, const char *value);
void file_list(file *f, Onnx__NodeProto *n, const char *name, const char *values);

/* A file whose nodes are to be inside of f's: it goes with f. */
file *file_inside(file *f);
/* All of `body` as a subgraph: a branch, the body of a loop. */
void file_subgraph(file *f, Onnx__NodeProto *n, const char *name, const file *body);

/* An operator set, or a function, besides the first. */
void file_opset(file *f, const char *domain, int64_t version);
/* A function's nodes are made by file_node of a file of its own. */
void file_function(file *f, const char *domain, const char *name, const char *inputs,
                   const char *outputs, const file *body);

void file_pack(const file *f, buf *ret);
onnx_model *file_open(const file *f);

#endif
