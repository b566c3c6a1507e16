/* A group of parameters: how the optimizer moves them. Values. */
#ifndef TEQUIO_OPTIM_GROUP_H
#define TEQUIO_OPTIM_GROUP_H

#include "optim/lr_sequence.h"
#include "optim/optim.h"

typedef struct optim_group {
    optim optim;
    lr_sequence rates;
    momentum_schedule momentum;
    int64_t frozen_steps; /* it moves from this step on, which its optimizer counts as the first */
} optim_group;

#endif
