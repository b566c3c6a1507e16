/*
 * The vote on a step: the total norm of its gradient, from one sum of squares per part, added in
 * the order of the parts, so that neither servers nor arrival show in the bits; and whether it is
 * finite.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SERVERS_VOTE_H
#define TEQUIO_MASTER_SERVERS_VOTE_H

#include "common/base/error.h"
#include "common/parts/loss_scale.h"
#include "common/parts/verdict.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct vote vote;

/* max_norm: INFINITY for none. */
vote *vote_create(int32_t n_live_parts, double max_norm, const loss_scale_rule *scaling);
void vote_destroy(vote **v);
void vote_begin(vote *v, int64_t step);

/* What a server says of one part. */
typedef struct vote_part {
    int32_t part;
    double square_sum;
    loss_scale scale; /* of the step: every part's is the same */
} vote_part;

/* A part counts once. *ret_complete with *ret when all are in: the factor max_norm / (norm + 1e-6),
 * at most 1 (PyTorch's clip_grad_norm_), or a step to skip. E_NONFINITE names the part where the
 * loss scale cannot fall. */
MUST_USE status vote_add(vote *v, int64_t step, const vote_part *p, bool *ret_complete,
                         verdict *ret, error *err);

#endif
