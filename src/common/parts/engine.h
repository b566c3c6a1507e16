/*
 * Engines: a device that has the memory of parts, and computes what a server makes of them. Where a server
 * and the one lane it serves share an engine, neither gradients nor weights nor the optimizer's state leave
 * it. Addresses of what lies there go about as all others do, in messages inside the process too; to
 * follow them is for the engine alone. No engine, NULL in the functions below and wherever one is named,
 * means the host, where the server's threads compute.
 *
 * What is called is begun: the device does it in the order of the calls, whichever thread made them, and
 * frees what is released behind it. The host waits for what it reads, and for nothing else. So a part that
 * is handed to and fro between the lane and whoever calls the engine may not be there yet; what the one does
 * with it comes behind what the other did, on the device:
 *
 *     the lane makes its gradient  ->  engine_take .. an update .. engine_give  ->  the lane reads its weights
 *
 * What an engine makes has, bit for bit, the values the host would make. Once it failed, whatever can say so
 * does, in the same words: nothing is read of what may be unsound.
 *
 * Threads: an engine is open before the second thread hears of it. Then memory and what is done with it
 * belong to any, also at a time; updates and sums of squares to one, the server's. Of a part, to who has it.
 */
#ifndef TEQUIO_COMMON_PARTS_ENGINE_H
#define TEQUIO_COMMON_PARTS_ENGINE_H

#include "common/parts/flat.h"

#include <stdatomic.h>

typedef struct part_engine part_engine;
struct update_part;                 /* optim/update.h */
struct update_span;

typedef struct part_engine_ops {
    /* As the functions below. */
    MUST_USE status (*alloc)(part_engine *e, size_t n, const char *what, float **ret, error *err);
    void (*release)(part_engine *e, float *p);
    MUST_USE status (*take)(part_engine *e, int32_t part, error *err);
    MUST_USE status (*give)(part_engine *e, int32_t part, error *err);
    void (*copy)(part_engine *e, float *to, const float *from, size_t n);
    void (*sum)(part_engine *e, float *dst, const float *left, const float *right, size_t n);
    MUST_USE status (*read)(part_engine *e, float *host, const float *from, size_t n, error *err);
    MUST_USE status (*write)(part_engine *e, float *to, const float *host, size_t n, error *err);

    /* A step of a part, in place; spans and the list of states are the host's. */
    MUST_USE status (*update)(part_engine *e, const struct update_part *u, const float *grad,
                              float *weight, float *const *state, error *err);

    /* Of x, the gradient of a part: backend.h's sums of squares of its spans, n in all, on their way to
     * where `terms` finds them. It waits for them. */
    MUST_USE status (*square_sums)(part_engine *e, int32_t part, const struct update_span *spans,
                                   size_t n_spans, const float *x, size_t n, error *err);
    MUST_USE status (*has_terms)(part_engine *e, int32_t part, bool *ret, error *err);
    MUST_USE status (*terms)(part_engine *e, int32_t part, size_t n, double *ret, error *err);
} part_engine_ops;

struct part_engine {
    const part_engine_ops *ops;
    float *weights;                 /* the flat vector that the lane reads: parts lie there, and change in place */
    atomic_bool is_open;            /* set once, by the lane, if there is room for all that is to lie here */
};

/* e itself, NULL unless it is open. Of a lane's engine its server and its worker ask once the lane stands. */
part_engine *engine_if_open(part_engine *e);

/* n floats, zero. E_NOMEM names `what`. */
MUST_USE status engine_alloc(part_engine *e, size_t n, const char *what, float **ret, error *err);
void engine_release(part_engine *e, float *p);              /* NULL is fine */
/* What is begun from now on comes behind what the lane has done with a part. */
MUST_USE status engine_take(part_engine *e, int32_t part, error *err);
/* What the lane does with it once it hears of it comes behind what was begun until now. */
MUST_USE status engine_give(part_engine *e, int32_t part, error *err);
void engine_copy(part_engine *e, float *to, const float *from, size_t n);
/* tree_sum (tree.h) */
void engine_sum(part_engine *e, float *dst, const float *left, const float *right, size_t n);
/* Between the engine and the caller's memory. */
MUST_USE status engine_read(part_engine *e, float *host, const float *from, size_t n, error *err);
MUST_USE status engine_write(part_engine *e, float *to, const float *host, size_t n, error *err);

#endif
