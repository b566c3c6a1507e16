/*
 * What a table computes: the square sum of a gradient, and what a step makes of weights and state.
 * Both are cut into pieces for the helpers. Updates are element-wise, and the terms of a sum are
 * added in their order by one thread, so the number of threads does not show.
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

double entry_square_sum(const table *t, int32_t part, const float *grad)
{
    const flat *f = t->o.flat;
    double inverse = (double)loss_scale_inverse(entry_scale(&t->entries[part])), sum = 0;
    norm_task task = {.terms = t->terms, .n = entry_terms(f, part, t->terms), .grad = grad};
    helpers_share(t->o.helpers, pieces_of(task.n, NORM_PIECE), sum_terms, &task);
    for (size_t i = 0; i < task.n; i++) {
        bool counts = f->tensors[task.terms[i].tensor].kind == TENSOR_TRAINABLE;
        sum += (counts ? 1.0 : 0.0) * task.terms[i].sum;
    }
    return sum * inverse * inverse;
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

/* n elements of a tensor, `at` elements into the part. */
static void update_span(const update_task *task, const tensor_decl *d, size_t at, size_t n)
{
    const table *t = task->t;
    const entry *e = &t->entries[task->part];
    const float *state_in[OPTIM_SLOTS];
    float *state_out[OPTIM_SLOTS];
    if (d->kind == TENSOR_STATE) {
        optim_average(d->momentum, loss_scale_inverse(entry_scale(e)), n, task->grad + at,
                      task->in + at, task->out + at);
        return;
    }
    for (size_t k = 0; k < t->n_slots; k++) {
        state_in[k] = e->slots[k]->data + at;
        state_out[k] = task->slots_out[k]->data + at;
    }
    optim_call call = task->call;
    call.decay = d->decay;
    optim_apply(&t->o.optim, &call, n, task->grad + at, task->in + at, task->out + at, state_in,
                state_out);
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
        if (from < to)
            update_span(task, &f->tensors[s[i].tensor], (size_t)(from - part->begin),
                        (size_t)(to - from));
    }
}

void entry_update(const table *t, int32_t part, float scale, const float *grad, block *out,
                  block *const *slots_out)
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
    helpers_share(t->o.helpers, pieces_of(e->pool.n, UPDATE_PIECE), update_piece, &task);
}
