#include "worker/inputs.h"

#include <string.h>

status inputs_bind(exec *e, size_t variant, const dataset *data, inputs *ret, error *err)
{
    size_t n_fields;
    const data_field *fields = dataset_fields(data, &n_fields);
    for (size_t i = 0; i < n_fields; i++)
        ret->field[i] = exec_input(e, variant, fields[i].name, NULL);
    ret->batch_id = exec_input(e, variant, "batch.id", NULL);
    ret->slot_weight = exec_input(e, variant, "slot.weight", NULL);
    ret->loss = exec_value(e, variant, "loss", NULL);
    ret->right = exec_value(e, variant, "accuracy.right", NULL);
    ret->counted = exec_value(e, variant, "accuracy.counted", NULL);
    if (!ret->loss || !ret->slot_weight)
        return FAIL(err, E_UNSUPPORTED, "the model has no value 'loss' or input 'slot.weight'");
    return OK;
}

static backend_bytes inputs_bytes_of(const data_field *f)
{
    backend_bytes b = {.channels = f->bytes.channels, .inner = 1};
    for (int32_t i = 1; b.channels > 1 && i < f->rank; i++)
        b.inner *= f->dim[i];
    _Static_assert((int)DATA_CHANNELS == (int)BACKEND_CHANNELS, "what data gives a device takes");
    memcpy(b.scale, f->bytes.scale, sizeof b.scale);
    memcpy(b.offset, f->bytes.offset, sizeof b.offset);
    return b;
}

void inputs_as_bytes(exec *e, const loader *l)
{
    size_t n;
    const data_field *fields = loader_fields(l, &n);
    for (size_t i = 0; i < n; i++) {
        backend_bytes meaning = inputs_bytes_of(&fields[i]);
        if (fields[i].dtype == DT_U8 && fields[i].bytes.channels)
            exec_input_as_bytes(e, fields[i].name, &meaning);
    }
}

void inputs_write(const inputs *in, const data_batch *batch, float weight)
{
    for (size_t i = 0; i < batch->n_fields; i++)
        if (in->field[i])
            memcpy(in->field[i], batch->data[i],
                   data_field_bytes(&batch->fields[i]) * (size_t)batch->slot.n);
    if (in->batch_id)
        *in->batch_id = batch->slot.batch_id;
    *in->slot_weight = weight;
}
