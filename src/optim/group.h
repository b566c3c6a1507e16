/* A group of parameters: how the optimizer moves them. Values. */
#ifndef TEQUIO_OPTIM_GROUP_H
#define TEQUIO_OPTIM_GROUP_H

#include "optim/lr_schedule.h"
#include "optim/optim.h"

typedef struct optim_group {
    optim optim;
    lr_schedule rates;
} optim_group;

#endif
