/*
 * Ranks: launchers like torchrun and mpirun number the processes they start, and say to each by the
 * environment which one it is and how many there are. Pure but for the environment, which it reads.
 */
#ifndef TEQUIO_COMMON_CLUSTER_RANKS_H
#define TEQUIO_COMMON_CLUSTER_RANKS_H

#include "common/cluster/cluster.h"

typedef struct ranks {
    int32_t rank, size;                 /* size 0: the environment numbers nobody */
    cluster_world world;                /* its texts are constants, but `meeting` */
    char *meeting;                      /* world.meeting; ranks_fini frees it */
} ranks;

/* E_CONFIG where the variables contradict each other, or some are missing. Ranks that only repeat
 * those of a Slurm step are left to Slurm, which knows the hosts: none then. */
MUST_USE status ranks_read(ranks *ret, error *err);
void ranks_fini(ranks *r);

/* "host:port" by MASTER_ADDR and MASTER_PORT; *ret stays as it is where MASTER_ADDR is not set. The
 * caller frees it. E_CONFIG. */
MUST_USE status ranks_named_meeting(char **ret, error *err);

#endif
