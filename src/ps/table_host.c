/*
 * The optimizer of parts that lie on the host: the server's threads, which share the pieces of a part.
 * Updates are element-wise, and the terms of a sum of squares are a block each, so which thread computes
 * does not show.
 */
#include "common/base/alloc.h"
#include "ps/table_entry.h"

#include <stdlib.h>
#include <string.h>

enum {
    UPDATE_PIECE = 1 << 16, /* elements */
    SUM_PIECE = 16,         /* terms */
};

typedef struct square_sum {
    size_t at, n;           /* in the part */
    double sum;
} square_sum;

typedef struct host_optimizer {
    part_optimizer base;    /* the first member: a pointer to it is one to this */
    thread_pool *threads;
    whole_step *whole;      /* NULL: nobody asks for it */
    square_sum *sums;       /* [the most that a part has] of the part that was last */
    const float *grad;      /* of that */
    size_t n;
    int32_t part;
} host_optimizer;

static size_t pieces_of(size_t n, size_t piece)
{
    return (n + piece - 1) / piece;
}

static host_optimizer *host_of(part_optimizer *o)
{
    return (host_optimizer *)o;
}

/* --- updates that need tensors whole --- */

static void direct_piece(size_t piece, void *arg)
{
    whole_direct(arg, piece * UPDATE_PIECE, (piece + 1) * UPDATE_PIECE);
}

static void tensor_piece(size_t piece, void *arg)
{
    whole_tensor(arg, piece);
}

static void measure_piece(size_t piece, void *arg)
{
    whole_measure(arg, piece);
}

static void move_piece(size_t piece, void *arg)
{
    whole_move(arg, piece * UPDATE_PIECE, (piece + 1) * UPDATE_PIECE);
}

static void update_whole(host_optimizer *h, const update_part *u, whole_vectors v)
{
    const update_span *last = u->n_spans ? &u->spans[u->n_spans - 1] : NULL;
    size_t pieces = last ? pieces_of(last->first + last->n, UPDATE_PIECE) : 0, blocks = whole_begin(h->whole, u, v);
    thread_pool_share(h->threads, pieces, direct_piece, h->whole);
    thread_pool_share(h->threads, u->n_spans, tensor_piece, h->whole);
    thread_pool_share(h->threads, blocks, measure_piece, h->whole);
    whole_trust(h->whole);
    thread_pool_share(h->threads, pieces, move_piece, h->whole);
}

/* --- updates --- */

typedef struct update_task {
    const update_part *u;
    const float *grad, *weight_in;
    float *weight_out, *const *state_in, *const *state_out;
} update_task;

static void update_piece(size_t piece, void *arg)
{
    const update_task *t = arg;
    size_t begin = piece * UPDATE_PIECE;
    optim_update(t->u, begin, begin + UPDATE_PIECE, t->grad, t->weight_in, t->weight_out, t->state_in,
                 t->state_out);
}

static status host_update(part_optimizer *o, const update_part *u, const float *grad,
                          const float *weight_in, float *weight_out, float *const *state_in,
                          float *const *state_out, error *err)
{
    const update_span *last = u->n_spans ? &u->spans[u->n_spans - 1] : NULL;
    update_task task = {u, grad, weight_in, weight_out, state_in, state_out};
    (void)err;
    if (u->whole) {
        update_whole(host_of(o), u, (whole_vectors){grad, weight_in, weight_out, state_in, state_out});
        return OK;
    }
    thread_pool_share(host_of(o)->threads, last ? pieces_of(last->first + last->n, UPDATE_PIECE) : 0,
                      update_piece, &task);
    return OK;
}

/* --- square sums --- */

static void sum_piece(size_t piece, void *arg)
{
    host_optimizer *h = arg;
    for (size_t i = piece * SUM_PIECE; i < h->n && i < (piece + 1) * SUM_PIECE; i++)
        h->sums[i].sum = optim_square_sum(h->grad + h->sums[i].at, h->sums[i].n);
}

static status host_square_sums(part_optimizer *o, int32_t part, const update_span *spans,
                               size_t n_spans, const float *x, size_t n, error *err)
{
    host_optimizer *h = host_of(o);
    (void)err;
    h->part = part;
    h->grad = x;
    h->n = 0;
    for (size_t i = 0; i < n_spans; i++)
        for (size_t at = spans[i].first, end = at + spans[i].n, stop; at < end; at = stop) {
            stop = (at / PART_GRAIN + 1) * PART_GRAIN;
            stop = stop < end ? stop : end;
            h->sums[h->n++] = (square_sum){.at = at, .n = stop - at};
        }
    BUG_ON(h->n != n);
    thread_pool_share(h->threads, pieces_of(n, SUM_PIECE), sum_piece, h);
    return OK;
}

static status host_has_terms(part_optimizer *o, int32_t part, bool *ret, error *err)
{
    (void)err;
    *ret = host_of(o)->part == part;
    return OK;
}

static status host_terms(part_optimizer *o, int32_t part, size_t n, double *ret, error *err)
{
    const host_optimizer *h = host_of(o);
    (void)err;
    BUG_ON(h->part != part || h->n != n);
    for (size_t i = 0; i < n; i++)
        ret[i] = h->sums[i].sum;
    return OK;
}

/* --- its life --- */

part_optimizer *host_optimizer_create(thread_pool *threads, size_t most_terms, whole_step *whole)
{
    static const part_optimizer_ops ops = {
        .update = host_update,
        .square_sums = host_square_sums,
        .has_terms = host_has_terms,
        .terms = host_terms,
    };
    host_optimizer *h = xcalloc(1, sizeof *h);
    h->base.ops = &ops;
    h->threads = threads;
    h->whole = whole;
    h->part = -1;
    h->sums = xcalloc(most_terms + 1, sizeof *h->sums);
    return &h->base;
}

void host_optimizer_destroy(part_optimizer **o)
{
    if (!*o)
        return;
    free(host_of(*o)->sums);
    whole_destroy(&host_of(*o)->whole);
    free(host_of(*o));
    *o = NULL;
}
