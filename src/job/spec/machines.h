/*
 * Machines and GPUs as AI Platform and Vertex AI name them: what there is, which GPUs go with which
 * machine, and where. The tables are the files of tables/, compiled in.
 *
 * A number of GPUs goes with a machine of Compute Engine if machines.csv lists it; of the N1
 * family, which alone takes some, that is so exactly where limits.csv allows its vCPUs and memory.
 * The machines of accelerated.csv and the legacy types have their GPUs built in.
 *
 * Threads: the one that asks first must be alone; then all is constant.
 * Source: AI Platform Training's pages on machine types and on regions, Vertex AI's on compute
 * resources for training, Compute Engine's on families of machines.
 */
#ifndef TEQUIO_JOB_SPEC_MACHINES_H
#define TEQUIO_JOB_SPEC_MACHINES_H

#include "common/base/buf.h"

#include <stdbool.h>

enum {
    GPU_TYPES = 14,
    MACHINES_MOST = 160,
    REGIONS_MOST = 64,
    LIMITS_MOST = 32,
    TIERS_MOST = 8,
    MIXES_MOST = 8
};

typedef struct machine {
    const char *name;
    bool is_legacy;
    const char *equivalent;   /* of a legacy type: the machine of Compute Engine that is like it */
    double vcpus, memory_gb;
    uint32_t counts[GPU_TYPES]; /* bit n: n GPUs of that type go with it */
    bool takes_gpus;          /* of any type */
    int built_in;             /* GPUs it comes with; of `built_in_type` */
    int built_in_type;        /* -1: none */
} machine;

typedef struct gpu_limit {
    int type, count;
    double vcpus, memory_gb;  /* the most a machine may have with so many */
} gpu_limit;

typedef enum offer { OFFER_NO, OFFER_YES, OFFER_UNKNOWN } offer;

typedef struct region {
    const char *name;
    offer gpus[GPU_TYPES];
} region;

/* A scale tier that stands for machines. */
typedef struct tier {
    const char *name, *flag;
    const char *master_type, *worker_type, *ps_type;
    int workers, ps;
    int gpu_type, gpus;       /* of the master; -1 and 0: none */
} tier;

typedef struct machines {
    const char *gpu[GPU_TYPES]; /* "NVIDIA_TESLA_T4" */
    machine machine[MACHINES_MOST];
    region region[REGIONS_MOST];
    gpu_limit limit[LIMITS_MOST];
    tier tier[TIERS_MOST];
    struct {
        const char *region;
        uint32_t types[2];        /* that no zone of it offers together; 0 */
    } mix[MIXES_MOST];
    int n_machines, n_regions, n_limits, n_tiers, n_mixes;
} machines;

/* The tables; read when first asked for. */
const machines *machines_all(void);

/* By their names, in any spelling (common/base/enum_name.h). */
const machine *machine_find(const char *name);   /* NULL: there is none */
const region *region_find(const char *name);
const tier *tier_find(const char *name);
int gpu_type_find(const char *name);             /* -1: there is none */

/* Sets of GPU types (bits) that no zone of a region offers together, 0 at their end. */
const uint32_t *machines_no_zone(const char *region);

/* E_CONFIG, without a place, says what would be right. */
MUST_USE status machine_check(const machine *m, int type, int64_t count, error *err);

/* As CSV again, for people and for programs: machines, accelerated, limits, legacy, regions, mixes
 * or tiers. NULL: no such table. */
const char *machines_table(const char *name);

#endif
