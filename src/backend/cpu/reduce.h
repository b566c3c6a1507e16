/*
 * What reductions share: the input's axes fall into kept and reduced ones, neighbours of one kind
 * are one axis. For the files reduce*.c alone. Pure functions.
 */
#ifndef TEQUIO_BACKEND_CPU_REDUCE_H
#define TEQUIO_BACKEND_CPU_REDUCE_H

#include "backend/cpu/program.h"

enum { STRIP = 64, REDUCE_GRAIN = 16384 };

typedef struct reduce_axes {
    int rank;
    int64_t dim[GRAPH_RANK], stride[GRAPH_RANK];
    int64_t count; /* positions of all axes here */
} reduce_axes;

typedef struct reduce_space {
    reduce_axes kept, reduced; /* without the last axis */
    bool last_reduced;
    int64_t last; /* size of the last axis */
} reduce_space;

/* Of input `input`, which is reduced to output 0 of a ReduceX or to the shape SumTo asks for. */
void reduce_space_of(const cpu_node *n, int input, reduce_space *ret);

/* Elements that fall together into one of the result. */
int64_t reduce_space_depth(const reduce_space *s);

/* Where a position of these axes begins in the input. */
static inline int64_t reduce_offset(const reduce_axes *a, int64_t position)
{
    int64_t offset = 0;
    for (int i = a->rank - 1; i >= 0; i--) {
        offset += position % a->dim[i] * a->stride[i];
        position /= a->dim[i];
    }
    return offset;
}

/* A column strip of the result: at x in the input, at y in the result. */
typedef struct reduce_strip {
    int64_t x, y;
    int width;
} reduce_strip;

int64_t reduce_n_strips(const reduce_space *s);
reduce_strip reduce_strip_at(const reduce_space *s, int64_t i);

/* The kinds: reduce.c, reduce_fold.c, reduce_whole.c. */
MUST_USE status reduce_plan_fold(backend_program *p, cpu_node *n, error *err);
MUST_USE status reduce_plan_whole(backend_program *p, cpu_node *n, error *err);

#endif
