/*
 * An ONNX file, as it was read: the protobuf message, whose large values stay in the file, which is mapped,
 * and the folder that its external data lie in. https://onnx.ai/onnx/repo-docs/IR.html
 *
 * Nothing in a file is trusted: its size and the nesting of its subgraphs have limits, tensors are
 * checked before they are read, and external data stay inside the model's folder.
 *
 * Errors: E_DATA for a file that is none, or damaged. Ownership: a model owns all it gives.
 * Threads: any number may read an open model.
 */
#ifndef TEQUIO_ONNX_MODEL_H
#define TEQUIO_ONNX_MODEL_H

#include "common/base/fs.h"
#include "onnx/raw.h"

#include <stddef.h>
#include <stdint.h>

#define ONNX_FILE_MAX ((size_t)1 << 31) /* protobuf has no larger messages */

enum { ONNX_OPSET_MIN = 1, ONNX_OPSET_MAX = 28 };

typedef struct onnx_model {
    Onnx__ModelProto *proto;
    char *path;   /* for messages */
    char *folder; /* of external data; NULL: the model may have none */
    fs_map file;  /* as long as `raw` points into it */
    onnx_raw raw; /* what of `proto` lies there */
} onnx_model;

MUST_USE status onnx_open(const char *path, onnx_model **ret, error *err);
/* The same over memory, which may go afterwards; without external data. */
MUST_USE status onnx_open_memory(const void *data, size_t bytes, const char *origin,
                                 onnx_model **ret, error *err);
void onnx_close(onnx_model **m);

/* The text of a string that may be absent. */
static inline const char *onnx_text(const char *s)
{
    return s ? s : "";
}

/* The graph's initializer of that name, -1 if there is none. */
int32_t onnx_initializer(const onnx_model *m, const char *name);

/* Which version of a domain ("" and "ai.onnx" are one) is asked for, 0 if none. */
int64_t onnx_opset(Onnx__OperatorSetIdProto *const *sets, size_t n, const char *domain);

#endif
