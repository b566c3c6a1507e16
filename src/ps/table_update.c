/*
 * What a table computes: the square sum of a gradient, and what a step makes of weights and state.
 * Both are cut into pieces for the thread_pool, or given to the engine part by part. Updates are
 * element-wise, and the terms of a sum are added in their order by one thread, so who computes does not
 * show.
 */
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

static double norm_of(const table *t, int32_t part, size_t n)
{
    const flat *f = t->o.flat;
    double inverse = (double)loss_scale_inverse(entry_scale(&t->entries[part])), sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool counts = f->tensors[t->terms[i].tensor].kind == TENSOR_TRAINABLE;
        sum += (counts ? 1.0 : 0.0) * t->terms[i].sum;
    }
    return sum * inverse * inverse;
}

double entry_square_sum(const table *t, int32_t part, const float *grad)
{
    norm_task task = {.terms = t->terms, .n = entry_terms(t->o.flat, part, t->terms), .grad = grad};
    thread_pool_share(t->o.thread_pool, pieces_of(task.n, NORM_PIECE), sum_terms, &task);
    return norm_of(t, part, task.n);
}

static update_span span_of(const flat *f, int32_t part, const part_segment *s)
{
    return (update_span){.first = (uint32_t)(s->at - f->parts[part].begin), .n = (uint32_t)s->n};
}

status entry_square_sum_begin(const table *t, int32_t part, const float *grad, error *err)
{
    part_engine *e = t->o.engine;
    size_t n_spans, n = entry_terms(t->o.flat, part, NULL);
    const part_segment *s = flat_part_segments(t->o.flat, part, &n_spans);
    for (size_t i = 0; i < n_spans; i++)
        t->spans[i] = span_of(t->o.flat, part, &s[i]);
    return e->ops->square_sums(e, part, t->spans, n_spans, grad, n, err);
}

status entry_square_sum_end(const table *t, int32_t part, double *ret, error *err)
{
    part_engine *e = t->o.engine;
    size_t n = entry_terms(t->o.flat, part, t->terms);
    TRY(e->ops->terms(e, part, n, t->sums, err));
    for (size_t i = 0; i < n; i++)
        t->terms[i].sum = t->sums[i];
    *ret = norm_of(t, part, n);
    return OK;
}

/* --- updates --- */

typedef struct update_task {
    const table *t;
    int32_t part;
    optim_call call;
    const float *grad, *in;
    float *out;
    span *const *slots_out;
} update_task;

/* n elements of a tensor, from one on, for one thread. */
typedef struct update_run {
    const tensor_decl *tensor;
    size_t n;
    const float *grad, *in, *state_in[OPTIM_SLOTS];
    float *out, *state_out[OPTIM_SLOTS];
    optim_call call;
    float inverse; /* of the loss scale */
} update_run;

/* `at` elements into the part. */
static update_run run_of(const update_task *task, const tensor_decl *d, size_t at, size_t n)
{
    const entry *e = &task->t->entries[task->part];
    update_run s = {.tensor = d,
                    .n = n,
                    .grad = task->grad + at,
                    .in = task->in + at,
                    .out = task->out + at,
                    .call = task->call,
                    .inverse = loss_scale_inverse(entry_scale(e))};
    s.call.decay = d->decay;
    for (size_t k = 0; k < task->t->n_slots; k++) {
        s.state_in[k] = e->slots[k]->floats + at;
        s.state_out[k] = task->slots_out[k]->floats + at;
    }
    return s;
}

static void update_here(const table *t, const update_run *s)
{
    if (s->tensor->kind == TENSOR_STATE)
        optim_average(s->tensor->momentum, s->inverse, s->n, s->grad, s->in, s->out);
    else
        optim_apply(&t->o.optim, &s->call, s->n, s->grad, s->in, s->out, s->state_in, s->state_out);
}

/* What becomes of a tensor's elements. */
static void rule_of(const update_task *task, const tensor_decl *d, update_span *ret)
{
    float inverse = loss_scale_inverse(entry_scale(&task->t->entries[task->part]));
    ret->how = d->kind == TENSOR_STATE ? UPDATE_AVERAGE : d->decay ? UPDATE_DECAYED : UPDATE_PLAIN;
    ret->keep = d->momentum;
    ret->take = (1.0f - d->momentum) * inverse;
}

/* The part's, in the table's room; neighbours that go by one rule are one. */
static size_t spans_of(const update_task *task)
{
    const flat *f = task->t->o.flat;
    size_t n_segments, n = 0;
    const part_segment *s = flat_part_segments(f, task->part, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        update_span one = span_of(f, task->part, &s[i]), *last = n ? &task->t->spans[n - 1] : NULL;
        rule_of(task, &f->tensors[s[i].tensor], &one);
        if (last && last->how == one.how && one.how != UPDATE_AVERAGE &&
            last->first + last->n == one.first)
            last->n += one.n;
        else
            task->t->spans[n++] = one;
    }
    return n;
}

/* All of a part at once, in place. */
static status update_there(const update_task *task, float *weights, error *err)
{
    const table *t = task->t;
    part_engine *e = t->o.engine;
    update_part u = {.spans = t->spans, .n_spans = spans_of(task)};
    float *states[OPTIM_SLOTS] = {NULL};
    for (int i = UPDATE_PLAIN; i <= UPDATE_DECAYED; i++) {
        optim_call call = task->call;
        call.decay = i == UPDATE_DECAYED;
        u.by[i] = update_make(&t->o.optim, &call);
    }
    for (size_t k = 0; k < t->n_slots; k++)
        states[k] = task->slots_out[k]->floats;
    return e->ops->update(e, &u, task->grad, weights, states, err);
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
        update_run run = run_of(task, &f->tensors[s[i].tensor], (size_t)(from - part->begin),
                                (size_t)(to - from));
        update_here(task->t, &run);
    }
}

status entry_update(const table *t, int32_t part, float scale, const float *grad, span *out,
                    span *const *slots_out, error *err)
{
    const entry *e = &t->entries[part];
    loss_scale now = entry_scale(e);
    update_task task = {
        .t = t,
        .part = part,
        .call = {.step = e->version + 1 - now.skipped,
                 .rate = lr_schedule_rate(&t->o.rates, e->version),
                 .scale = scale * loss_scale_inverse(now),
                 .clip_value = t->o.clip_value},
        .grad = grad,
        .in = e->weights[e->version & 1]->floats,
        .out = out->floats,
        .slots_out = slots_out,
    };
    if (t->o.engine)
        return update_there(&task, out->floats, err);
    thread_pool_share(t->o.thread_pool, pieces_of(e->pool.n, UPDATE_PIECE), update_piece, &task);
    return OK;
}
