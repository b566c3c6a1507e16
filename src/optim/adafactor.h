/*
 * Adafactor's second moments (Shazeer and Stern, 1804.04235; transformers' Adafactor): of each matrix of a tensor,
 * its last two axes, means of its rows and of its columns stand for those of all elements. A vector has them one by
 * one, and so has a matrix that has fewer elements than rows and columns, to which it makes no difference.
 *
 * State: of each matrix the rows, then the columns, from where the matrix begins; the rest of its elements stay zero.
 * Threads: pure functions.
 */
#ifndef TEQUIO_OPTIM_ADAFACTOR_H
#define TEQUIO_OPTIM_ADAFACTOR_H

#include <stdint.h>

/* A tensor as matrices; rows 0: a vector. */
typedef struct adafactor_shape {
    int64_t matrices, rows, columns;
} adafactor_shape;

adafactor_shape adafactor_shape_of(int64_t n, int64_t rows, int64_t columns);

/* Of gradients g [n], in place what they become divided by the root of second moments; state_in may be state_out.
 * `room` has n floats, at a multiple of 8 bytes. */
void adafactor_divide(float *g, int64_t n, adafactor_shape s, double keep, double eps, const float *state_in,
                      float *state_out, float *room);

#endif
