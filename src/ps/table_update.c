/*
 * What a table has computed (part_store.h), wherever its parts lie: the square sum of a gradient, whose terms
 * are added here in their order, and what a step makes of weights and state.
 */
#include "ps/table_entry.h"

/* --- square sums --- */

size_t entry_terms(const flat *f, int32_t part, int32_t *ret_tensors)
{
    size_t n_segments, n = 0;
    const part_segment *s = flat_part_segments(f, part, &n_segments);
    for (size_t i = 0; i < n_segments; i++)
        for (int64_t at = s[i].at, end = s[i].at + s[i].n; at < end; n++) {
            if (ret_tensors)
                ret_tensors[n] = s[i].tensor;
            at = (at / PART_GRAIN + 1) * PART_GRAIN;
        }
    return n;
}

static update_span span_of(const flat *f, int32_t part, const part_segment *s)
{
    return (update_span){.first = (uint32_t)(s->at - f->parts[part].begin), .n = (uint32_t)s->n};
}

status entry_square_sum_begin(const table *t, int32_t part, const float *grad, error *err)
{
    size_t n_spans, n = entry_terms(t->o.flat, part, NULL);
    const part_segment *s = flat_part_segments(t->o.flat, part, &n_spans);
    for (size_t i = 0; i < n_spans; i++)
        t->spans[i] = span_of(t->o.flat, part, &s[i]);
    return t->optimizer->ops->square_sums(t->optimizer, part, t->spans, n_spans, grad, n, err);
}

status entry_square_sum_end(const table *t, int32_t part, double *ret, error *err)
{
    const flat *f = t->o.flat;
    size_t n = entry_terms(f, part, t->tensors);
    double inverse = (double)loss_scale_inverse(entry_scale(&t->entries[part])), sum = 0;
    TRY(t->optimizer->ops->terms(t->optimizer, part, n, t->terms, err));
    for (size_t i = 0; i < n; i++) {
        bool counts = f->tensors[t->tensors[i]].kind == TENSOR_TRAINABLE;
        sum += (counts ? 1.0 : 0.0) * t->terms[i];
    }
    *ret = sum * inverse * inverse;
    return OK;
}

/* --- updates --- */

/* What becomes of a tensor's elements; `inverse` of the loss scale. */
static void rule_of(const tensor_decl *d, float inverse, update_span *ret)
{
    ret->how = d->kind == TENSOR_STATE ? UPDATE_AVERAGE : d->decay ? UPDATE_DECAYED : UPDATE_PLAIN;
    ret->keep = d->momentum;
    ret->take = (1.0f - d->momentum) * inverse;
}

/* The part's, in the table's memory for them; neighbours that go by one rule are one. */
static size_t spans_of(const table *t, int32_t part, float inverse)
{
    const flat *f = t->o.flat;
    size_t n_segments, n = 0;
    const part_segment *s = flat_part_segments(f, part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        update_span one = span_of(f, part, &s[i]), *last = n ? &t->spans[n - 1] : NULL;
        rule_of(&f->tensors[s[i].tensor], inverse, &one);
        if (last && last->how == one.how && one.how != UPDATE_AVERAGE &&
            last->first + last->n == one.first)
            last->n += one.n;
        else
            t->spans[n++] = one;
    }
    return n;
}

status entry_update(const table *t, int32_t part, float scale, const float *grad, span *out,
                    span *const *slots_out, error *err)
{
    const entry *e = &t->entries[part];
    loss_scale now = entry_scale(e);
    float *in[OPTIM_SLOTS] = {NULL}, *to[OPTIM_SLOTS] = {NULL};
    update_part u = {.spans = t->spans, .n_spans = spans_of(t, part, loss_scale_inverse(now))};
    for (int how = UPDATE_PLAIN; how <= UPDATE_DECAYED; how++)
        u.by[how] = update_make(&t->o.optim, &(optim_call){
                                                 .step = e->version + 1 - now.skipped,
                                                 .rate = lr_schedule_rate(&t->o.rates, e->version),
                                                 .scale = scale * loss_scale_inverse(now),
                                                 .clip_value = t->o.clip_value,
                                                 .decay = how == UPDATE_DECAYED,
                                             });
    for (size_t i = 0; i < t->n_slots; i++) {
        in[i] = e->slots[i]->floats;
        to[i] = slots_out[i]->floats;
    }
    return t->optimizer->ops->update(t->optimizer, &u, grad, e->weights[e->version & 1]->floats,
                                     out->floats, in, to, err);
}
