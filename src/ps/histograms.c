#include "ps/histograms.h"

#include "common/base/alloc.h"
#include "common/store/events.h"
#include "common/wire/wire.h"

#include <stdlib.h>

struct histograms {
    const flat *flat;
    bool *is_ours;                      /* [n_live_parts] */
    int32_t n_ours, missing;            /* of those */
    int64_t version;                    /* -1: nothing ordered */
    bool begun;
    events_histogram **weights;         /* [n_tensors] */
    events_histogram **gradients;
    float *room;                        /* [the largest part] for what table_read copies */
};

histograms *histograms_create(const flat *f, const int32_t *placement, const holders *shards,
                              int32_t server)
{
    histograms *h = xcalloc(1, sizeof *h);
    h->flat = f;
    h->version = -1;
    h->is_ours = xcalloc((size_t)f->n_live_parts + 1, sizeof *h->is_ours);
    for (int32_t p = 0; p < f->n_live_parts; p++)
        h->n_ours += h->is_ours[p] = shards[placement[p]].acting == server;
    h->weights = xcalloc((size_t)f->n_tensors, sizeof *h->weights);
    h->gradients = xcalloc((size_t)f->n_tensors, sizeof *h->gradients);
    h->room = xmalloc(((size_t)flat_largest_part(f) + 1) * sizeof *h->room);
    for (int32_t i = 0; i < f->n_tensors; i++) {
        h->weights[i] = events_histogram_create();
        h->gradients[i] = events_histogram_create();
    }
    return h;
}

void histograms_destroy(histograms **h)
{
    if (!h || !*h)
        return;
    for (int32_t i = 0; i < (*h)->flat->n_tensors; i++) {
        events_histogram_destroy(&(*h)->weights[i]);
        events_histogram_destroy(&(*h)->gradients[i]);
    }
    free((*h)->is_ours);
    free((*h)->weights);
    free((*h)->gradients);
    free((*h)->room);
    free(*h);
    *h = NULL;
}

void histograms_order(histograms *h, const table *t, int64_t version)
{
    if (h->begun || table_newest(t) >= version)
        return;
    h->version = version;
    h->missing = h->n_ours;
    for (int32_t i = 0; i < h->flat->n_tensors; i++) {
        events_histogram_clear(h->weights[i]);
        events_histogram_clear(h->gradients[i]);
    }
}

/* Of a gradient without its loss scale. */
static void add_gradient(events_histogram *h, const float *grad, size_t n, float inverse)
{
    enum { AT_ONCE = 1024 };
    float unscaled[AT_ONCE];
    for (size_t at = 0; at < n; at += AT_ONCE) {
        size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        for (size_t i = 0; i < some; i++)
            unscaled[i] = grad[at + i] * inverse;
        events_histogram_add(h, unscaled, some);
    }
}

static status add_part(histograms *h, const table *t, int32_t part, const float *weights,
                       const float *grad, float inverse, error *err)
{
    size_t n_segments;
    const part_segment *s = flat_part_segments(h->flat, part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        size_t at = (size_t)(s[i].at - h->flat->parts[part].begin), n = (size_t)s[i].n;
        const float *here;
        TRY(table_read(t, weights + at, n, h->room, &here, err));
        events_histogram_add(h->weights[s[i].tensor], here, n);
        TRY(table_read(t, grad + at, n, h->room, &here, err));
        add_gradient(h->gradients[s[i].tensor], here, n, inverse);
    }
    return OK;
}

status histograms_applied(histograms *h, table *t, int32_t part, int64_t version, const float *grad,
                          error *err)
{
    if (version != h->version || !h->is_ours[part])
        return OK;
    h->begun = true;
    h->missing--;
    span *held = table_weights(t, part, version);
    float inverse = loss_scale_inverse(table_scale(t, part, version - 1));
    status st = add_part(h, t, part, held->floats, grad, inverse, err);
    span_drop(held);
    return st;
}

static Wire__Histogram__One *item(const flat *f, int32_t tensor, bool gradient, const events_histogram *from)
{
    Wire__Histogram__One *one = xmalloc(sizeof *one);
    wire__histogram__one__init(one);
    one->tensor = (char *)(uintptr_t)f->tensors[tensor].name;
    one->gradient = gradient;
    one->packed.len = events_histogram_packed_bytes();
    one->packed.data = xmalloc(one->packed.len);
    events_histogram_pack(from, one->packed.data);
    return one;
}

bool histograms_next(histograms *h, int64_t *ret_version, buf *ret)
{
    if (h->version < 0 || !h->begun || h->missing)
        return false;
    Wire__Histogram m = WIRE__HISTOGRAM__INIT;
    m.items = xcalloc((size_t)h->flat->n_tensors * 2, sizeof *m.items);
    for (int32_t i = 0; i < h->flat->n_tensors; i++) {
        m.items[m.n_items++] = item(h->flat, i, false, h->weights[i]);
        if (h->flat->tensors[i].kind == TENSOR_TRAINABLE)
            m.items[m.n_items++] = item(h->flat, i, true, h->gradients[i]);
    }
    wire_pack(&m.base, ret);
    for (size_t i = 0; i < m.n_items; i++) {
        free(m.items[i]->packed.data);
        free(m.items[i]);
    }
    free(m.items);
    *ret_version = h->version;
    h->version = -1;
    h->begun = false;
    return true;
}
