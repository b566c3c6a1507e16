/* What reductions share. For the files reduce*.c alone. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_REDUCE_H
#define TEQUIO_BACKEND_CPU_REDUCE_H

#include "backend/cpu/program.h"
#include "backend/reduce_space.h"

enum { STRIP = 64, REDUCE_GRAIN = 16384 };

/* A column strip of the result: at x in the input, at y in the result. */
typedef struct reduce_strip {
    int64_t x, y;
    int width;
} reduce_strip;

int64_t reduce_n_strips(const reduce_space *s);
reduce_strip reduce_strip_at(const reduce_space *s, int64_t i);

/* The kinds: reduce.c, reduce_fold.c, reduce_whole.c. */
MUST_USE status reduce_plan_fold(cpu_node *n);
MUST_USE status reduce_plan_whole(cpu_node *n);

#endif
