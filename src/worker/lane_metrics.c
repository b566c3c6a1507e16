#include "worker/lane_metrics.h"

#include "common/base/alloc.h"
#include "data/finish_batch.h"
#include "metric/training_metrics.h"
#include "model/label_scores.h"

#include <stdlib.h>
#include <string.h>

typedef struct held_batch {
    data_batch batch;
    data_field fields[DATA_FIELDS];
    char *room[DATA_FIELDS];        /* of a field's values */
    size_t cap[DATA_FIELDS];
} held_batch;

struct lane_metrics {
    label_scores *scores;
    training_metrics *metrics;
    held_batch held[2], *now, *next;
    buf counts;
};

status lane_metrics_open(const config *c, const variants *v, lane_metrics **ret, error *err)
{
    *ret = NULL;
    if (!v->recipe.size)
        return OK;
    lane_metrics *m = xcalloc(1, sizeof *m);
    m->now = &m->held[0];
    m->next = &m->held[1];
    status st = variants_scores(c, v, &m->scores, err);
    if (st == OK)
        st = training_metrics_open(v->recipe.data, v->recipe.size, &m->metrics, err);
    if (st == OK)
        *ret = m;
    else
        lane_metrics_close(&m);
    return st;
}

void lane_metrics_close(lane_metrics **m)
{
    if (!m || !*m)
        return;
    for (size_t i = 0; i < DATA_FIELDS; i++) {
        free((*m)->held[0].room[i]);
        free((*m)->held[1].room[i]);
    }
    label_scores_close(&(*m)->scores);
    training_metrics_close(&(*m)->metrics);
    buf_fini(&(*m)->counts);
    free(*m);
    *m = NULL;
}

/* What a loader leaves as bytes become the numbers that they mean. */
static void spread(const data_field *f, const void *bytes, int64_t n, void *ret)
{
    size_t each = (size_t)data_field_elements(f);
    for (int64_t i = 0; i < n; i++) {
        float *example = (float *)ret + (size_t)i * each;
        memcpy(example, (const unsigned char *)bytes + (size_t)i * each, each);
        data_bytes_spread(f, example);
    }
}

/* `form`: what a device has still to finish, as with an image beside which the label moves; NULL: nothing. */
static void copy_field(held_batch *h, size_t i, const data_batch *batch, const finish_form *form)
{
    data_field f = batch->fields[i];
    bool is_bytes = f.dtype == DT_U8 && f.bytes.channels;
    size_t width = is_bytes ? sizeof(float) : 1;
    size_t bytes = data_field_bytes(&f) * width * (size_t)batch->slot.n;
    GROW(h->room[i], h->cap[i], bytes);
    if (form)
        finish_batch(form, batch->draws[i], batch->data[i], batch->slot.n, h->room[i]);
    else if (is_bytes)
        spread(&f, batch->data[i], batch->slot.n, h->room[i]);
    else
        memcpy(h->room[i], batch->data[i], bytes);
    f.dtype = is_bytes ? DT_F32 : f.dtype;
    h->fields[i] = f;
    h->batch.data[i] = h->room[i];
}

void lane_metrics_fill(lane_metrics *m, const loader *from, const data_batch *batch)
{
    held_batch *h = m->next;
    h->batch = (data_batch){
        .slot = batch->slot, .shape = batch->shape, .n_fields = batch->n_fields, .fields = h->fields};
    for (size_t i = 0; i < batch->n_fields; i++) {
        h->fields[i] = batch->fields[i];
        if (label_scores_reads(m->scores, batch->fields[i].name))
            copy_field(h, i, batch, loader_form(from, i));
    }
}

void lane_metrics_begin(lane_metrics *m)
{
    held_batch *begun = m->next;
    m->next = m->now;
    m->now = begun;
}

status lane_metrics_count(lane_metrics *m, exec *e, size_t variant, span **ret, error *err)
{
    label_scores_value outputs[LABEL_SCORES_OUTPUTS];
    metric_batch batch;
    for (size_t i = 0; i < LABEL_SCORES_OUTPUTS && label_scores_output(m->scores, i); i++)
        outputs[i].data = exec_value(e, variant, label_scores_output(m->scores, i), &outputs[i].value);
    label_scores_take(m->scores, &m->now->batch, outputs, &batch);
    buf_clear(&m->counts);
    TRY(training_metrics_count(m->metrics, &batch, &m->counts, err));
    *ret = span_copy(m->counts.data, m->counts.size);
    return OK;
}
