/*
 * The tasks of a cluster, and what each is told: its place in the cluster and its environment.
 * Pure functions, except roster_open, which opens the listening sockets of a local cluster.
 */
#ifndef TEQUIO_JOB_ROSTER_H
#define TEQUIO_JOB_ROSTER_H

#include "common/cluster/cluster.h"

typedef struct roster_shape {
    int counts[ROLE_COUNT];
    const char *primary; /* what TF_CONFIG calls the master */
    int start_port;      /* of the master, the others follow; 0: the kernel chooses */
    const char *trial;   /* TF_CONFIG's task.trial; NULL: the job is no trial of a search */
    /* TF_CONFIG as gcloud writes it: with this as its field `job`, in JSON, hosts called localhost,
     * and evaluators, which listen to nobody, left out of the cluster. NULL: it is not */
    const char *gcloud_job;
} roster_shape;

typedef struct roster_task {
    task task;
    const char *host; /* NULL: PORTS_HOST */
    int port, listen_fd;
    int metrics_fd;   /* where it tells its figures; -1: nowhere */
    int first_gpu, gpus; /* of its host's; gpus < 0: nobody dealt any */
} roster_task;

typedef struct roster {
    int n;
    roster_task *tasks; /* master, ps, workers, evaluators: what others dial is there first */
    const char *primary, *gcloud_job, *trial;
    char *cluster;      /* TF_CONFIG's field of that name, made when first asked for */
} roster;

/* What the tasks of a local cluster are told beside their places. */
typedef struct roster_words {
    const char *settings; /* TEQUIO_SET, in place of the launcher's own */
    const char *key_file; /* TEQUIO_KEY_FILE; NULL: as it is */
    const char *fault;    /* TEQUIO_FAULT; NULL: as it is */
    int threads;          /* OMP_NUM_THREADS; 0: as it is */
    size_t worker_memory; /* TEQUIO_MEMORY of workers, bytes; 0: as it is */
} roster_words;

/* Whether the ports from start_port on are there for all that listen. E_CONFIG. */
MUST_USE status roster_check_ports(const roster_shape *shape, error *err);

/* Nobody listens yet: listen_fd is -1, a port that the kernel would choose 0. */
void roster_plan(const roster_shape *shape, roster *ret);
MUST_USE status roster_open(const roster_shape *shape, roster *ret, error *err);
void roster_close(roster *s); /* also what was only half opened */

/* TF_CONFIG of task i, as JSON; the caller frees it. Addresses must be known by now. */
char *roster_tf_config(roster *s, int i);

/* `base` with the variables of the task's `life`, counted from 1, in their places; free with
 * roster_environment_free. */
char **roster_environment(roster *s, int i, int life, const roster_words *words, char *const *base);
void roster_environment_free(char **e);

#endif
