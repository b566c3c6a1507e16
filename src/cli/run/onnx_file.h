/*
 * A job's model as an ONNX file: the network of the configuration in evaluation mode, with weights
 * from a checkpoint or a .safetensors file, and metadata that say what was trained (step,
 * training_loss, validation_loss, tequio_version).
 *
 * Threads: any, one at a time for a file.
 */
#ifndef TEQUIO_CLI_RUN_ONNX_FILE_H
#define TEQUIO_CLI_RUN_ONNX_FILE_H

#include "common/config/config.h"
#include "graph/graph.h"

typedef struct onnx_file_request {
    const config *config;
    const char *model;      /* a .safetensors file or a checkpoint's folder */
    const char *data;       /* tells the shape of an example, by any it holds; NULL: validation or
                             * training data, as they are read there */
    const char *vocabulary; /* of the job; NULL: it has none */
    const char *path;       /* to write */
    /* Told of the network that was built, for two sizes of the batch; not of one that came as a file. NULL: nobody. */
    void (*built)(void *user, const graph *const both[2]);
    void *user;
} onnx_file_request;

/* E_DATA, E_CONFIG as data, model and weights have it; E_UNSUPPORTED as onnx/export.h says. */
MUST_USE status onnx_file_write(const onnx_file_request *request, error *err);

#endif
