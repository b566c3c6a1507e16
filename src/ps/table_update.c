/*
 * What a table computes: the square sum of a gradient, and what a step makes of weights and state.
 * Both are cut into pieces for the helpers, or given to the engine tensor by tensor. Updates are
 * element-wise, and the terms of a sum are added in their order by one thread, so who computes does not
 * show.
 */
#include "optim/update.h"
#include "ps/table_entry.h"

enum {
    UPDATE_PIECE = 1 << 16, /* elements */
    NORM_PIECE = 16,        /* terms */
};

static size_t pieces_of(size_t n, size_t piece)
{
    return (n + piece - 1) / piece;
}

/* --- square sums --- */

size_t entry_terms(const flat *f, int32_t part, norm_term *ret)
{
    size_t n_segments, n = 0;
    const part_segment *s = flat_part_segments(f, part, &n_segments);
    for (size_t i = 0; i < n_segments; i++)
        for (int64_t at = s[i].at, end = s[i].at + s[i].n; at < end; n++) {
            int64_t stop = (at / PART_GRAIN + 1) * PART_GRAIN;
            stop = stop < end ? stop : end;
            if (ret)
                ret[n] = (norm_term){.at = (size_t)(at - f->parts[part].begin),
                                     .n = (size_t)(stop - at),
                                     .tensor = s[i].tensor};
            at = stop;
        }
    return n;
}

typedef struct norm_task {
    norm_term *terms;
    size_t n;
    const float *grad;
} norm_task;

static void sum_terms(size_t piece, void *arg)
{
    const norm_task *task = arg;
    for (size_t i = piece * NORM_PIECE; i < task->n && i < (piece + 1) * NORM_PIECE; i++) {
        norm_term *one = &task->terms[i];
        one->sum = optim_square_sum(task->grad + one->at, one->n);
    }
}

static size_t blocks_touched(const part_segment *s)
{
    return pieces_of((size_t)(s->at % PART_GRAIN + s->n), PART_GRAIN);
}

static status sum_terms_there(const table *t, int32_t part, const norm_task *task, error *err)
{
    part_engine *e = t->o.engine;
    int64_t begin = t->o.flat->parts[part].begin;
    size_t n_segments, at = 0;
    const part_segment *s = flat_part_segments(t->o.flat, part, &n_segments);
    for (size_t i = 0; i < n_segments; at += blocks_touched(&s[i]), i++)
        TRY(e->ops->square_sums(e, at, s[i].at, (size_t)s[i].n, task->grad + (s[i].at - begin), err));
    BUG_ON(at != task->n);
    TRY(e->ops->terms(e, task->n, t->sums, err));
    for (size_t i = 0; i < task->n; i++)
        task->terms[i].sum = t->sums[i];
    return OK;
}

status entry_square_sum(const table *t, int32_t part, const float *grad, double *ret, error *err)
{
    const flat *f = t->o.flat;
    double inverse = (double)loss_scale_inverse(entry_scale(&t->entries[part])), sum = 0;
    norm_task task = {.terms = t->terms, .n = entry_terms(f, part, t->terms), .grad = grad};
    if (t->o.engine)
        TRY(sum_terms_there(t, part, &task, err));
    else
        helpers_share(t->o.helpers, pieces_of(task.n, NORM_PIECE), sum_terms, &task);
    for (size_t i = 0; i < task.n; i++) {
        bool counts = f->tensors[task.terms[i].tensor].kind == TENSOR_TRAINABLE;
        sum += (counts ? 1.0 : 0.0) * task.terms[i].sum;
    }
    *ret = sum * inverse * inverse;
    return OK;
}

/* --- updates --- */

typedef struct update_task {
    const table *t;
    int32_t part;
    optim_call call;
    const float *grad, *in;
    float *out;
    block *const *slots_out;
} update_task;

/* n elements of a tensor, from one on. */
typedef struct update_span {
    const tensor_decl *tensor;
    size_t n;
    const float *grad, *in, *state_in[OPTIM_SLOTS];
    float *out, *state_out[OPTIM_SLOTS];
    optim_call call;
    float inverse; /* of the loss scale */
} update_span;

/* `at` elements into the part. */
static update_span span_of(const update_task *task, const tensor_decl *d, size_t at, size_t n)
{
    const entry *e = &task->t->entries[task->part];
    update_span s = {.tensor = d,
                     .n = n,
                     .grad = task->grad + at,
                     .in = task->in + at,
                     .out = task->out + at,
                     .call = task->call,
                     .inverse = loss_scale_inverse(entry_scale(e))};
    s.call.decay = d->decay;
    for (size_t k = 0; k < task->t->n_slots; k++) {
        s.state_in[k] = e->slots[k]->data + at;
        s.state_out[k] = task->slots_out[k]->data + at;
    }
    return s;
}

static void update_here(const table *t, const update_span *s)
{
    if (s->tensor->kind == TENSOR_STATE)
        optim_average(s->tensor->momentum, s->inverse, s->n, s->grad, s->in, s->out);
    else
        optim_apply(&t->o.optim, &s->call, s->n, s->grad, s->in, s->out, s->state_in, s->state_out);
}

static status update_there(const table *t, const update_span *s, error *err)
{
    part_engine *e = t->o.engine;
    if (s->tensor->kind == TENSOR_STATE)
        return e->ops->average(e, s->tensor->momentum, s->inverse, s->n, s->grad, s->in, s->out, err);
    update u = update_make(&t->o.optim, &s->call);
    return e->ops->update(e, &u, s->n, s->grad, s->in, s->out, s->state_in, s->state_out, err);
}

static status update_all_there(const update_task *task, error *err)
{
    const flat *f = task->t->o.flat;
    part_engine *e = task->t->o.engine;
    size_t n_segments;
    const part_segment *s = flat_part_segments(f, task->part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        size_t at = (size_t)(s[i].at - f->parts[task->part].begin);
        update_span span = span_of(task, &f->tensors[s[i].tensor], at, (size_t)s[i].n);
        TRY(update_there(task->t, &span, err));
    }
    return e->ops->finish(e, err);
}

static void update_piece(size_t piece, void *arg)
{
    const update_task *task = arg;
    const flat *f = task->t->o.flat;
    const part_range *part = &f->parts[task->part];
    int64_t begin = part->begin + (int64_t)piece * UPDATE_PIECE, end = begin + UPDATE_PIECE;
    size_t n_segments;
    const part_segment *s = flat_part_segments(f, task->part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        int64_t from = s[i].at > begin ? s[i].at : begin, to = s[i].at + s[i].n;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        update_span span = span_of(task, &f->tensors[s[i].tensor], (size_t)(from - part->begin),
                                   (size_t)(to - from));
        update_here(task->t, &span);
    }
}

status entry_update(const table *t, int32_t part, float scale, const float *grad, block *out,
                    block *const *slots_out, error *err)
{
    const entry *e = &t->entries[part];
    loss_scale now = entry_scale(e);
    update_task task = {
        .t = t,
        .part = part,
        .call = {.step = e->version + 1 - now.skipped,
                 .rate = schedule_rate(&t->o.schedule, e->version),
                 .scale = scale * loss_scale_inverse(now),
                 .clip_value = t->o.clip_value},
        .grad = grad,
        .in = e->weights[e->version & 1]->data,
        .out = out->data,
        .slots_out = slots_out,
    };
    if (t->o.engine)
        return update_all_there(&task, err);
    helpers_share(t->o.helpers, pieces_of(e->pool.n, UPDATE_PIECE), update_piece, &task);
    return OK;
}
