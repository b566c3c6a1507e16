#include "worker/inputs.h"

#include "common/base/log.h"

#include <string.h>

status inputs_bind(exec *e, size_t variant, const dataset *data, inputs *ret, error *err)
{
    size_t n_fields;
    const data_field *fields = dataset_fields(data, &n_fields);
    for (size_t i = 0; i < n_fields; i++) {
        ret->field[i] = exec_input(e, variant, fields[i].name, NULL);
        ret->draws[i] = NULL;
    }
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

void inputs_leave(const backend_ops *ops, loader_options *o)
{
    o->bytes = ops->queue != NULL;
    o->unfinished = ops->queue && ops->queue->finishes();
}

status inputs_make_there(exec *e, const loader *l, inputs *variants, size_t n, error *err)
{
    size_t n_fields;
    const data_field *fields = loader_fields(l, &n_fields);
    for (size_t i = 0; i < n_fields; i++) {
        const finish_form *form = loader_form(l, i);
        backend_bytes meaning = inputs_bytes_of(&fields[i]);
        finish_draw *draws = NULL;
        if (form)
            TRY(exec_input_unfinished(e, fields[i].name, form, &draws, err));
        else if (fields[i].dtype == DT_U8 && fields[i].bytes.channels)
            exec_input_as_bytes(e, fields[i].name, &meaning);
        for (size_t v = 0; v < n; v++)
            variants[v].draws[i] = draws;
    }
    return OK;
}

void inputs_tell(const loader_options *o)
{
    loader_work w;
    loader_work_of(o, &w);
    if (o->bytes && (w.host.size || w.device.size))
        LOG_I("INPUTS", "bytes=%zu an example go up; %s there, %s on the host", w.up,
              w.device.size ? w.device.data : "nothing", w.host.size ? w.host.data : "nothing");
    loader_work_fini(&w);
}

void inputs_write(const inputs *in, const data_batch *batch, float weight)
{
    const size_t n = (size_t)batch->slot.n;
    for (size_t i = 0; i < batch->n_fields; i++) {
        if (in->field[i])
            memcpy(in->field[i], batch->data[i], data_field_bytes(&batch->fields[i]) * n);
        if (in->draws[i])
            memcpy(in->draws[i], batch->draws[i], n * sizeof *in->draws[i]);
    }
    if (in->batch_id)
        *in->batch_id = batch->slot.batch_id;
    *in->slot_weight = weight;
}
