/*
 * The cluster: its tasks, and which of them this process is. Read from TF_CONFIG, CLUSTER_SPEC
 * (Vertex AI), the ranks of torchrun, mpirun and their kin, Slurm, SageMaker, or nothing (local).
 *
 * Both `chief` and `master` name the master role. The evaluator may stand in `cluster` or not; it
 * is never a training member. Without a chief, worker 0 is the chief. A cluster of workers only has
 * its servers co-hosted in the workers. A sparse cluster (a list given as an object index ->
 * address) leaves the unknown addresses NULL. An evaluator's cluster is empty: it works from the
 * job dir alone. Ranks are workers, rank i is worker i, and learn each other's addresses when they
 * meet (cli/roles/rendezvous/rendezvous.h); until then all are NULL.
 *
 * Ownership: a cluster owns its strings. Immutable once made, so any thread may read.
 */
#ifndef TEQUIO_COMMON_CLUSTER_CLUSTER_H
#define TEQUIO_COMMON_CLUSTER_CLUSTER_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum role { ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR, ROLE_COUNT } role;

typedef struct task {
    role role;
    int32_t index;
} task;

typedef struct cluster_job {            /* the tasks of one role */
    int32_t n;                          /* highest index + 1; 0: none known */
    const char **address;               /* [n] "host:port"; NULL where a sparse one leaves it out */
    bool sparse;                        /* more may exist than are listed */
} cluster_job;

typedef enum cluster_origin { CLUSTER_LOCAL, CLUSTER_TF_CONFIG, CLUSTER_VERTEX, CLUSTER_SLURM,
                              CLUSTER_SAGEMAKER, CLUSTER_RANKS } cluster_origin;

/* What ranks know before they meet. */
typedef struct cluster_world {
    const char *by;                     /* what numbered them: "torchrun", "Open MPI", ... */
    const char *meeting;                /* "host:port" at which rank 0 listens, "@name" if all are
                                         * on this host; NULL: not said */
    int32_t local_rank, local_size;     /* among those of this host; -1 and 0: not said */
} cluster_world;

typedef struct cluster {
    cluster_origin origin;
    cluster_job jobs[ROLE_COUNT];
    task task;                          /* what this process is */
    bool is_chief;                      /* it is the master: by role, or as worker 0 without one */
    bool master_is_worker;              /* no chief in the cluster: worker 0 is chief */
    bool hosted_servers;                /* no ps: every worker hosts a server behind its own port */
    bool primary_called_master;         /* the cluster says "master", not "chief" */
    int32_t global_id;                  /* as RunConfig counts: chief 0, ps last; evaluator -1 */
    const char *environment;            /* "cloud" or NULL */
    const char *trial;                  /* of a search: task.trial as text, or NULL */
    const char *job_json;               /* field `job` as JSON text, or NULL */
    const char *model_dir;              /* field `model_dir`, or NULL */
    cluster_world world;                /* of ranks */
    const char *overruled;              /* what numbered this process too, and did not count; NULL */
} cluster;

/* Looks at the environment: TF_CONFIG, then CLUSTER_SPEC, then ranks, then Slurm, then SageMaker,
 * then local; a variable that is empty counts as absent, and one rank, or a Slurm step or SageMaker
 * job of one task, as local. A TF_CONFIG that says nothing but task.trial counts for that alone, as
 * CLOUD_ML_TRIAL_ID does where nothing else names the trial.
 * TEQUIO_SLURM_JOBS ("master:1,ps:2,worker:5") deals the tasks of a Slurm step to roles, in the
 * alphabetical order of their names; without it all are workers. TEQUIO_SLURM_PORT is the port of
 * the first task on each host, 8888 if it is not there. The messages are the Estimator's where it
 * has one (E_CONFIG). */
MUST_USE status cluster_from_env(cluster **ret, error *err);

/* The same from given texts, for tests and tools. */
MUST_USE status cluster_from_tf_config(const char *json, cluster **ret, error *err);
MUST_USE status cluster_from_cluster_spec(const char *json, cluster **ret, error *err);
MUST_USE status cluster_local(cluster **ret, error *err);

/* Of ranks: this one and their number, and the address of each, NULL while they have not met. */
MUST_USE status cluster_from_ranks(const cluster_world *world, int32_t rank, int32_t size,
                                   const char *const *addresses, cluster **ret, error *err);
void cluster_destroy(cluster **c);

task cluster_chief(const cluster *c);   /* the master */
const char *cluster_address(const cluster *c, task t);      /* NULL if not known */
int32_t cluster_count(const cluster *c, role r);            /* tasks known of that role */

const char *role_name(role r);          /* "master", "worker", "ps", "evaluator" */
bool role_of(const char *name, role *ret);      /* accepts "chief" too */
enum { TASK_NAME = 24 };
const char *task_name(task t, char buffer[TASK_NAME]);      /* "worker.3" */

enum { PORT_MOST = 65535 };

/* Whether every address that is known can be dialled; E_CONFIG names the task whose is not. */
MUST_USE status cluster_check_addresses(const cluster *c, error *err);

/* Split "host:port" or "[::1]:port" (the host comes without brackets); E_CONFIG says what is wrong
 * with it. The port must be a number here. */
MUST_USE status address_split(const char *address, char *host, size_t bytes, int *ret_port,
                              error *err);

/* Of this host alone, judged by the text, so that all who read it come to the same answer. A host
 * comes without brackets. */
bool host_is_loopback(const char *host);
bool address_is_loopback(const char *address);

#endif
