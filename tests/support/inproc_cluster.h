/*
 * A whole cluster in this process: master, servers, workers and perhaps an evaluator, each on a
 * thread of its own, over one net. Data, configuration and job dirs lie in one folder that goes
 * with the test.
 */
#ifndef TEQUIO_TESTS_SUPPORT_INPROC_CLUSTER_H
#define TEQUIO_TESTS_SUPPORT_INPROC_CLUSTER_H

#include "common/base/hash.h"
#include "common/config/config.h"

enum { INPROC_CLUSTER_EXAMPLES = 37, INPROC_CLUSTER_SIDE = 6, INPROC_CLUSTER_CLASSES = 10 };

typedef struct inproc_cluster {
    char *path; /* the folder of everything */
    char *images;
    config *config;
    int jobs; /* started so far; each has a job dir of its own */
} inproc_cluster;

/* `more` is a jsonnet object that is merged into the configuration. */
inproc_cluster inproc_cluster_make(const char *more);
void inproc_cluster_fini(inproc_cluster *v);

typedef struct inproc_cluster_shape {
    int servers, workers, lanes; /* lanes of each worker */
    const char *address;         /* of the tasks, by name: "inproc://%s"; NULL: that. The master
                                  * dials servers at "ps.0.master", so that a test can tell */
    bool evaluator;
    int late;           /* the last so many workers come only after step 2 */
    int64_t preempt_at; /* tell the master to leave after that step; 0: never */
    /* on the master's thread, whenever a step is complete; NULL: nobody wants to know */
    void (*on_step)(void *user, int64_t step);
    void *user;
} inproc_cluster_shape;

typedef struct inproc_cluster_result {
    int64_t steps, batches_applied;
    char params_sha256[SHA256_HEX];
} inproc_cluster_result;

/* Trains from scratch, or goes on with a job that was told to leave. Any role's failure fails the
 * test with its text. The result of a job that was told to leave has -1 steps. */
inproc_cluster_result inproc_cluster_train(inproc_cluster *v, const inproc_cluster_shape *shape);

/* The same in one process, as `tequio train` does it without a cluster. */
inproc_cluster_result inproc_cluster_train_alone(inproc_cluster *v);

#endif
