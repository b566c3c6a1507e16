/* Importing files of support_file.h, and looking at what came of them. */
#ifndef TEQUIO_TESTS_UNIT_ONNX_SUPPORT_IMPORT_H
#define TEQUIO_TESTS_UNIT_ONNX_SUPPORT_IMPORT_H

#include "onnx/import.h"
#include "unit/onnx/support_file.h"

/* A graph with the inputs "fed" f32 [4,6], which is the model's "x", and "batch.id", and what was
 * imported into it. */
typedef struct imported {
    onnx_model *m;
    graph *g;
    onnx_imported i;
} imported;

status import(const file *f, onnx_mode mode, bool keep_tied, imported *ret, error *err);
imported import_ok(const file *f, onnx_mode mode);
void imported_fini(imported *p);

void expect_shape(const imported *p, size_t output, const char *text);
int count_ops(const imported *p, graph_op op);
/* Importing for training fails so, with this in the message. */
void expect_error(const file *f, status code, const char *text);

#endif
