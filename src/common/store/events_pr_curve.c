/* What TensorBoard's plugin PR Curves reads (tensorboard/plugins/pr_curve/summary.py, version 0 of its data). */
#include "common/base/alloc.h"
#include "common/store/events.h"
#include "common/store/events_internal.h"

#include <stdlib.h>

enum { FLOATS = 1, TENSORS = 2, COUNTS = 4, ROWS = 6, PRECISION = 4, RECALL = 5 };

/* As there: 1 where nothing is predicted so far would divide by nothing, which its least number keeps it from. */
static float share(double part, double rest)
{
    const double least = 1e-7;
    double whole = part + rest;
    return (float)(part / (whole > least ? whole : least));
}

/* PrCurvePluginData: its version, 0, is left out; field 2 is the number of thresholds. */
static size_t pack_plugin(size_t n, unsigned char ret[16])
{
    size_t bytes = 0;
    ret[bytes++] = 2 << 3;
    for (; n >= 0x80; n >>= 7)
        ret[bytes++] = (unsigned char)(n | 0x80);
    ret[bytes++] = (unsigned char)n;
    return bytes;
}

void events_pr_curve(events *e, int64_t step, const char *tag, const double *counts, size_t n)
{
    unsigned char content[16];
    float *values = xcalloc(ROWS * n + 1, sizeof *values);
    for (size_t i = 0; i < COUNTS * n; i++)
        values[i] = (float)counts[i];
    for (size_t k = 0; k < n; k++) {
        values[PRECISION * n + k] = share(counts[k], counts[n + k]);
        values[RECALL * n + k] = share(counts[k], counts[3 * n + k]);
    }
    Tequio__Tb__TensorShapeProto__Dim dims[2] = {TEQUIO__TB__TENSOR_SHAPE_PROTO__DIM__INIT,
                                                 TEQUIO__TB__TENSOR_SHAPE_PROTO__DIM__INIT};
    Tequio__Tb__TensorShapeProto__Dim *at[2] = {&dims[0], &dims[1]};
    dims[0].size = ROWS;
    dims[1].size = (int64_t)n;
    Tequio__Tb__TensorShapeProto shape = TEQUIO__TB__TENSOR_SHAPE_PROTO__INIT;
    shape.n_dim = 2;
    shape.dim = at;
    Tequio__Tb__TensorProto tensor = TEQUIO__TB__TENSOR_PROTO__INIT;
    tensor.dtype = FLOATS;
    tensor.tensor_shape = &shape;
    tensor.n_float_val = ROWS * n;
    tensor.float_val = values;
    Tequio__Tb__SummaryMetadata__PluginData data = TEQUIO__TB__SUMMARY_METADATA__PLUGIN_DATA__INIT;
    data.plugin_name = (char *)(uintptr_t) "pr_curves";
    data.content = (ProtobufCBinaryData){.len = pack_plugin(n, content), .data = content};
    Tequio__Tb__SummaryMetadata metadata = TEQUIO__TB__SUMMARY_METADATA__INIT;
    metadata.plugin_data = &data;
    metadata.data_class = TENSORS;
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.value_case = TEQUIO__TB__SUMMARY__VALUE__VALUE_TENSOR;
    v.tensor = &tensor;
    v.metadata = &metadata;
    events_add_value(e, step, &v);
    free(values);
}
