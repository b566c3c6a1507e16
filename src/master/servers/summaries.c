#include "master/servers/summaries.h"

#include "common/base/alloc.h"
#include "common/parts/placement.h"

#include <stdio.h>
#include <stdlib.h>

struct summaries {
    const flat *flat;
    int64_t every;
    int64_t ordered;                /* version under way; -1: none */
    int32_t n_senders, missing;     /* servers that act for live parts; of those not heard */
    events_histogram **weights, **gradients;    /* [n_tensors] */
};

static int32_t count_senders(const flat *f, const assign *a)
{
    int32_t *placement = xcalloc((size_t)f->n_parts, sizeof *placement), n = 0;
    bool *sends = xcalloc((size_t)a->n, sizeof *sends);
    placement_deal(f, a->n, placement);
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        int32_t acting = a->shards[placement[p]].acting;
        n += !sends[acting];
        sends[acting] = true;
    }
    free(sends);
    free(placement);
    return n;
}

summaries *summaries_create(const flat *f, const assign *a, int64_t every_steps)
{
    summaries *s = xcalloc(1, sizeof *s);
    s->flat = f;
    s->every = every_steps;
    s->ordered = -1;
    s->n_senders = count_senders(f, a);
    s->weights = xcalloc((size_t)f->n_tensors, sizeof *s->weights);
    s->gradients = xcalloc((size_t)f->n_tensors, sizeof *s->gradients);
    for (int32_t i = 0; i < f->n_tensors; i++) {
        s->weights[i] = events_histogram_create();
        s->gradients[i] = events_histogram_create();
    }
    return s;
}

void summaries_destroy(summaries **s)
{
    if (!s || !*s)
        return;
    for (int32_t i = 0; i < (*s)->flat->n_tensors; i++) {
        events_histogram_destroy(&(*s)->weights[i]);
        events_histogram_destroy(&(*s)->gradients[i]);
    }
    free((*s)->weights);
    free((*s)->gradients);
    free(*s);
    *s = NULL;
}

int64_t summaries_order(summaries *s, int64_t step, int64_t total)
{
    int64_t version = (step / s->every + 1) * s->every;
    if (s->every <= 0 || version > total || (s->ordered >= 0 && version <= s->ordered) ||
        (s->ordered >= 0 && s->missing && step <= s->ordered))
        return -1; /* reports of a step may come before its sums do */
    s->ordered = version;
    s->missing = s->n_senders;
    for (int32_t i = 0; i < s->flat->n_tensors; i++) {
        events_histogram_clear(s->weights[i]);
        events_histogram_clear(s->gradients[i]);
    }
    return version;
}

static void write_all(summaries *s, events *e)
{
    for (int32_t i = 0; i < s->flat->n_tensors; i++) {
        char tag[256];
        snprintf(tag, sizeof tag, "weights/%s", s->flat->tensors[i].name);
        events_add_histogram(e, s->ordered, tag, s->weights[i]);
        snprintf(tag, sizeof tag, "gradients/%s", s->flat->tensors[i].name);
        if (s->flat->tensors[i].kind == TENSOR_TRAINABLE)
            events_add_histogram(e, s->ordered, tag, s->gradients[i]);
    }
    events_put(e);
}

status summaries_take(summaries *s, events *e, int64_t version, const Wire__Histogram *m, error *err)
{
    if (version != s->ordered || !s->missing)
        return OK;
    for (size_t i = 0; i < m->n_items; i++) {
        const Wire__Histogram__One *one = m->items[i];
        int32_t t = flat_find(s->flat, one->tensor);
        if (t >= 0)
            TRY(events_histogram_merge(one->gradient ? s->gradients[t] : s->weights[t],
                                       one->packed.data, one->packed.len, err));
    }
    if (--s->missing == 0)
        write_all(s, e);
    return OK;
}
