/*
 * Part stores: where the vectors of parts lie that a server keeps and a reducer adds up, and what computes on
 * them. The host is one, part_store_host. A device is another, where a server and the one lane it serves share
 * it: then neither gradients nor weights nor the optimizer's state leave it. Addresses of what lies there go
 * about as all others do, in messages inside the process too; to follow them is for the store alone.
 *
 * What is called is begun: a device does it in the order of the calls, whichever thread made them, and frees
 * what is released behind it. The host waits for what it reads, and for nothing else. So a part that is handed
 * to and fro between the lane and a caller of the store may not be there yet; what the one does with it comes
 * behind what the other did, on the device:
 *
 *     the lane makes its gradient  ->  take .. an update .. give  ->  the lane reads its weights
 *
 * A store makes, bit for bit, the values that every other makes. Once a device failed, whatever can
 * say so does, in the same words: nothing is read of what may be unsound.
 *
 * Threads: a store is open before the second thread hears of it. Then its memory and what is done
 * with that belong to any, also concurrently; its optimizer to one, the server's. A part belongs to
 * its present holder.
 */
#ifndef TEQUIO_COMMON_PARTS_PART_STORE_H
#define TEQUIO_COMMON_PARTS_PART_STORE_H

#include "common/parts/flat.h"

#include <stdatomic.h>

typedef struct part_store part_store;
typedef struct part_optimizer part_optimizer;
struct update_part;                 /* optim/update.h */
struct update_span;

typedef struct part_memory_ops {
    /* n floats, zero. E_NOMEM names `what`. */
    MUST_USE status (*alloc)(part_store *s, size_t n, const char *what, float **ret, error *err);
    void (*release)(part_store *s, float *p);                           /* NULL is fine */
    /* What is begun from now on comes behind what the lane has done with a part. */
    MUST_USE status (*take)(part_store *s, int32_t part, error *err);
    /* What the lane does with it once it hears of it comes behind what was begun until now. */
    MUST_USE status (*give)(part_store *s, int32_t part, error *err);
    void (*copy)(part_store *s, float *to, const float *from, size_t n);
    /* tree_sum (tree.h) */
    void (*sum)(part_store *s, float *dst, const float *left, const float *right, size_t n);
    /* n floats for the host to read: they themselves, or a copy of them in room[n]. */
    MUST_USE status (*read)(part_store *s, const float *from, size_t n, float *room, const float **ret,
                            error *err);
    MUST_USE status (*write)(part_store *s, float *to, const float *host, size_t n, error *err);
} part_memory_ops;

/* What a step makes of a part: all vectors lie in the store, spans and lists of vectors on the host. */
typedef struct part_optimizer_ops {
    /* A step. What is written may be what is read; where the store has the weights in place it is. */
    MUST_USE status (*update)(part_optimizer *o, const struct update_part *u, const float *grad,
                              const float *weight_in, float *weight_out, float *const *state_in,
                              float *const *state_out, error *err);
    /* Of x, the gradient of a part: optim_square_sum of what each of its spans has in each block of 4096 of
     * the part's elements that it touches, in their order; n in all, on their way to where `terms` finds
     * them. It waits for them. */
    MUST_USE status (*square_sums)(part_optimizer *o, int32_t part, const struct update_span *spans,
                                   size_t n_spans, const float *x, size_t n, error *err);
    MUST_USE status (*has_terms)(part_optimizer *o, int32_t part, bool *ret, error *err);
    MUST_USE status (*terms)(part_optimizer *o, int32_t part, size_t n, double *ret, error *err);
} part_optimizer_ops;

struct part_optimizer {
    const part_optimizer_ops *ops;
};

struct part_store {
    const part_memory_ops *memory;
    part_optimizer *optimizer;      /* NULL: the server's threads compute (ps/table_host.c) */
    bool is_host;                   /* what lies there the host may read where it is, and hold */
    float *weights;                 /* the flat vector that the lane reads: parts lie there, and change in
                                     * place. NULL: every version of a part has a block of its own */
    atomic_bool is_open;            /* set once, by the lane, if there is memory for all that is to lie here */
};

part_store *part_store_host(void);

/* s itself, the host unless it is open; s may be NULL. Of a lane's store its server and its worker ask once
 * the lane stands. */
part_store *part_store_or_host(part_store *s);

#endif
