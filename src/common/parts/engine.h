/*
 * Engines: a device that has the memory of parts, and computes what a server makes of them. Where a server
 * and the one lane it serves share an engine, neither gradients nor weights nor the optimizer's state leave
 * it. Addresses of what lies there go about as all others do, in messages inside the process too; to
 * follow them is for the engine alone. No engine, NULL in the functions below and wherever one is named,
 * means the host, where the server's threads compute.
 *
 * What an engine makes has, bit for bit, the values the host would make. Once it failed, whatever can say so
 * does, in the same words: nothing is updated after something unsound.
 *
 * Threads: an engine is open before the second thread hears of it. Then memory and what is done with it,
 * up to engine_write, belong to any, also at a time; updates and sums of squares to one, the server's.
 */
#ifndef TEQUIO_COMMON_PARTS_ENGINE_H
#define TEQUIO_COMMON_PARTS_ENGINE_H

#include "common/parts/flat.h"

#include <stdatomic.h>

typedef struct part_engine part_engine;
struct update;                      /* optim/update.h */

/* Tensors of a part, and blocks of the grid of square sums, are at most so many together. */
enum { ENGINE_TERMS = PART_MAX / FLAT_ALIGN + PART_MAX / PART_GRAIN };

typedef struct part_engine_ops {
    /* As the functions below; done when they return. */
    MUST_USE status (*alloc)(part_engine *e, size_t n, const char *what, float **ret, error *err);
    void (*release)(part_engine *e, float *p);
    void (*copy)(part_engine *e, float *to, const float *from, size_t n);
    void (*sum)(part_engine *e, float *dst, const float *left, const float *right, size_t n);
    MUST_USE status (*read)(part_engine *e, float *host, const float *from, size_t n, error *err);
    MUST_USE status (*write)(part_engine *e, float *to, const float *host, size_t n, error *err);

    /* Begun, and done when `finish` returns: update.h's arithmetic, and optim_average's. Outputs may be
     * the inputs; state[_out] are lists on the host. */
    MUST_USE status (*update)(part_engine *e, const struct update *u, size_t n, const float *grad,
                              const float *weight, float *weight_out, const float *const *state,
                              float *const *state_out, error *err);
    MUST_USE status (*average)(part_engine *e, float momentum, float scale, size_t n,
                               const float *value, const float *in, float *out, error *err);
    MUST_USE status (*finish)(part_engine *e, error *err);

    /* Begun: optim_square_sum of n numbers, the first of which is element `first` of the flat vector,
     * of each block of the flat vector's grid of PART_GRAIN that they touch: terms `at`, at + 1 and so on.
     * The first n of all terms are there when `terms` returns. */
    MUST_USE status (*square_sums)(part_engine *e, size_t at, int64_t first, size_t n, const float *x,
                                   error *err);
    MUST_USE status (*terms)(part_engine *e, size_t n, double *ret, error *err);
} part_engine_ops;

struct part_engine {
    const part_engine_ops *ops;
    atomic_bool is_open;            /* set once, by the lane, if there is room for all that is to lie here */
};

/* e itself, NULL unless it is open. Of a lane's engine its server and its worker ask once the lane stands. */
part_engine *engine_if_open(part_engine *e);

/* n floats, zero. E_NOMEM names `what`. */
MUST_USE status engine_alloc(part_engine *e, size_t n, const char *what, float **ret, error *err);
void engine_release(part_engine *e, float *p);              /* NULL is fine */
void engine_copy(part_engine *e, float *to, const float *from, size_t n);
/* tree_sum (tree.h) */
void engine_sum(part_engine *e, float *dst, const float *left, const float *right, size_t n);
/* Between the engine and the caller's memory. */
MUST_USE status engine_read(part_engine *e, float *host, const float *from, size_t n, error *err);
MUST_USE status engine_write(part_engine *e, float *to, const float *host, size_t n, error *err);

#endif
