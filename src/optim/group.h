/* A group of parameters: how the optimizer moves them. Values. */
#ifndef TEQUIO_OPTIM_GROUP_H
#define TEQUIO_OPTIM_GROUP_H

#include "optim/lr_sequence.h"
#include "optim/optim.h"

typedef struct optim_group {
    optim optim;
    lr_sequence rates;
    double share;         /* of the rate, which layer_decay takes from all but the last layer */
    momentum_schedule momentum;
    int64_t frozen_steps; /* it moves from this step on, which its optimizer counts as the first */
} optim_group;

/* A parameter's group where layers have rates of their own: groups 0 .. n-1 are those of the last layer, the next n
 * those of the one before it, at depth 1, and so on. */
static inline int32_t optim_layer_group(int32_t group, int32_t n, int32_t depth)
{
    return depth * n + group;
}

#endif
