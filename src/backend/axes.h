/*
 * Axes of up to three operands that are walked together, the innermost last. Neighbours along which
 * every operand goes on as along its own elements are one axis, and an axis of one element is none:
 * what is left is as few and as long axes as there can be. Kernels of every kind walk them; which
 * axes an operator walks stands in axes_of.h.
 *
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_AXES_H
#define TEQUIO_BACKEND_AXES_H

#include <stdbool.h>
#include <stdint.h>

enum { AXES_MOST = 8, AXES_OPERANDS = 3 };

typedef struct axes {
    int rank;
    int64_t dim[AXES_MOST];
    int64_t stride[AXES_MOST][AXES_OPERANDS]; /* in elements; 0: the operand stays */
} axes;

/* The next axis inwards, with the stride of each of n operands. Begins with all zeros. */
static inline void axes_add(axes *a, int n, int64_t dim, const int64_t *stride)
{
    if (dim == 1)
        return;
    bool joins = a->rank > 0;
    for (int k = 0; k < n && joins; k++)
        joins = a->stride[a->rank - 1][k] == stride[k] * dim;
    if (!joins)
        a->dim[a->rank++] = 1;
    a->dim[a->rank - 1] *= dim;
    for (int k = 0; k < n; k++)
        a->stride[a->rank - 1][k] = stride[k];
}

/* Behind the last axis: one element is one axis too. */
static inline void axes_end(axes *a, int n)
{
    if (a->rank > 0)
        return;
    a->dim[a->rank++] = 1;
    for (int k = 0; k < n; k++)
        a->stride[0][k] = 1;
}

static inline int64_t axes_elements(const axes *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->dim[i];
    return n;
}

#endif
