/*
 * What the job trains, and for how long: settled with the first DECLARE.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_PLAN_H
#define TEQUIO_MASTER_PLAN_H

#include "common/config/training.h"
#include "common/wire/wire.h"
#include "master/scheduler.h"
#include "optim/optim.h"

typedef struct job_plan {
    char digest[65];                /* of the configuration */
    wire_declaration declaration;   /* flat == NULL before the first DECLARE */
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
    schedule schedule;
    const scheduler *scheduler;     /* by it */
    steps steps;                    /* of a unit of the schedule each, as all that follows */
    int64_t batches_per_step;       /* K, by which ssp counts turns */
    int64_t total;                  /* versions to reach */
} job_plan;

#endif
