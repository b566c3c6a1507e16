/*
 * What a table says of a part whose sum waits for the verdict: the norm of the gradient. It is begun at
 * once, and said when it is there: on the host before anything else, on a device when that gets there.
 */
#include "ps/table_entry.h"

#include <string.h>

/* --- the norm --- */

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

/* Squares of the trainable elements, without their scale, which double has room for: begun; and what came
 * of it, which is waited for. Statistics add nothing, but what is not finite among them shows. */
static status begin_square_sum(const table *t, int32_t part, const float *grad, error *err)
{
    size_t n_spans, n = entry_terms(t->o.flat, part, NULL);
    const part_segment *s = flat_part_segments(t->o.flat, part, &n_spans);
    for (size_t i = 0; i < n_spans; i++)
        t->spans[i] = entry_span(t->o.flat, part, &s[i]);
    return t->optimizer->ops->square_sums(t->optimizer, part, t->spans, n_spans, grad, n, err);
}

static status end_square_sum(const table *t, int32_t part, double *ret, error *err)
{
    const flat *f = t->o.flat;
    const int64_t version = t->entries[part].version;
    size_t n = entry_terms(f, part, t->tensors);
    double inverse = (double)loss_scale_inverse(entry_scale(&t->entries[part])), sum = 0;
    TRY(t->optimizer->ops->terms(t->optimizer, part, n, t->terms, err));
    for (size_t i = 0; i < n; i++) {
        const tensor_decl *d = &f->tensors[t->tensors[i]];
        bool counts = d->kind == TENSOR_TRAINABLE && version >= t->groups[d->group].frozen_steps;
        sum += (counts ? 1.0 : 0.0) * t->terms[i];
    }
    *ret = sum * inverse * inverse;
    return OK;
}

/* --- the vote --- */

/* Of the part that has waited longest. Waits. */
static status say_next(table *t, error *err)
{
    int32_t part = t->summing[0];
    entry *e = &t->entries[part];
    double norm;
    TRY(end_square_sum(t, part, &norm, err));
    e->norm = norm;
    e->summing = false;
    memmove(t->summing, t->summing + 1, (size_t)--t->n_summing * sizeof *t->summing);
    t->hooks.voted(t->hooks.user, part, e->version, norm);
    return OK;
}

/* Does not wait. */
static status say_finished(table *t, error *err)
{
    while (t->n_summing) {
        bool is_there;
        TRY(t->optimizer->ops->has_terms(t->optimizer, t->summing[0], &is_there, err));
        if (!is_there)
            return OK;
        TRY(say_next(t, err));
    }
    return OK;
}

status entry_vote(table *t, int32_t part, const float *grad, error *err)
{
    entry *e = &t->entries[part];
    e->last_norm = e->norm;
    e->summing = true;
    t->summing[t->n_summing++] = part;
    TRY(begin_square_sum(t, part, grad, err));
    return say_finished(t, err);
}

bool table_is_summing(const table *t)
{
    return t && t->n_summing;
}

status table_say_summed(table *t, error *err)
{
    if (table_is_summing(t))
        TRY(say_next(t, err));
    return say_finished(t, err);
}

void table_say_vote(table *t, int32_t part)
{
    const entry *e = &t->entries[part];
    if (e->held && e->root && !e->summing)
        t->hooks.voted(t->hooks.user, part, e->version, e->norm);
}

void table_say_votes(table *t)
{
    for (int32_t p = 0; p < t->o.flat->n_live_parts; p++) {
        const entry *e = &t->entries[p];
        table_say_vote(t, p);
        if (t->o.votes && e->held && e->version > e->norms_from)
            t->hooks.voted(t->hooks.user, p, e->version - 1, e->root ? e->last_norm : e->norm);
    }
}
