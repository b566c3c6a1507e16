/*
 * The vote on a step: the total norm of its gradient, from one sum of squares per part, added in
 * the order of the parts, so that neither servers nor arrival show in the bits.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SERVERS_VOTE_H
#define TEQUIO_MASTER_SERVERS_VOTE_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct vote vote;

vote *vote_create(int32_t n_live_parts, double max_norm);
void vote_destroy(vote **v);
void vote_begin(vote *v, int64_t step);

/* One part's sum; a part counts once. *ret_complete with *ret_scale when all are in: the factor
 * max_norm / (norm + 1e-6), at most 1 (PyTorch's clip_grad_norm_). E_NONFINITE names the part. */
MUST_USE status vote_add(vote *v, int64_t step, int32_t part, double square_sum, bool *ret_complete,
                         float *ret_scale, error *err);

/* The norm of the last complete vote. */
double vote_norm(const vote *v);

#endif
