/* Whatever bytes come: a clean refusal, or a model that imports or is refused cleanly, for training
 * and as it is. */
#include "onnx/import.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUTS = 8, UNKNOWN = 2 };

/* An input of the graph for one of the model; axes without size have two elements. */
static status feed(const onnx_model *m, size_t i, graph *g, onnx_binding *ret, error *err)
{
    onnx_io io;
    graph_shape shape = {.rank = 0};
    TRY(onnx_input(m, i, &io, err));
    shape.rank = io.rank;
    for (int32_t k = 0; k < io.rank; k++) {
        shape.dim[k] = io.dim[k] > 0 ? io.dim[k] : UNKNOWN;
        if (shape.dim[k] > 64)
            return E_CONFIG;
    }
    ret->input = io.name;
    return graph_input(g, io.name, io.has_type ? io.dtype : DT_F32, shape, &ret->value, err);
}

static status run(const onnx_model *m, onnx_mode mode, error *err)
{
    graph *g = NULL;
    onnx_binding bound[INPUTS];
    onnx_imported imported = {.memory = NULL};
    onnx_request r = {.mode = mode, .inputs = bound};
    status st = graph_create(&g, err);
    graph_shape one = {.rank = 1, .dim = {1}};
    if (st == OK)
        st = graph_input(g, "batch.id", DT_I64, one, &r.batch_id, err);
    for (size_t i = 0; st == OK && i < onnx_n_inputs(m) && i < INPUTS; i++)
        st = feed(m, i, g, &bound[r.n_inputs++], err);
    if (st == OK)
        st = onnx_import(m, g, &r, &imported, err);
    onnx_imported_fini(&imported);
    graph_destroy(&g);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    onnx_model *m = NULL;
    error err = ERROR_INIT;
    if (onnx_open_memory(data, size, "input", &m, &err) != OK)
        return 0;
    for (onnx_mode mode = ONNX_TRAIN; mode <= ONNX_AS_IS; mode += ONNX_AS_IS - ONNX_TRAIN) {
        error_clear(&err);
        if (run(m, mode, &err) != OK && err.code == OK && *err.text)
            abort();
    }
    onnx_close(&m);
    return 0;
}
