/*
 * What a process knows of the roles it has, shared by the files of this folder and by nobody else.
 * Threads: filled by the main thread before any role begins; what roles change has a comment.
 */
#ifndef TEQUIO_CLI_ROLES_STATE_H
#define TEQUIO_CLI_ROLES_STATE_H

#include "cli/roles/process.h"
#include "cli/roles/rendezvous/rendezvous.h"
#include "common/base/jobkey.h"
#include "common/fault/fault.h"
#include "common/net/net.h"
#include "common/store/jobdir.h"
#include "exec/resident.h"

#include <pthread.h>

enum { ROLE_THREADS_MAX = 4 };

typedef struct process process;

/* One role of this process, on its thread. */
typedef struct role_thread {
    status (*run)(process *p, error *err);
    char name[TASK_NAME];
    pthread_t thread;
    process *process;
    fault *fault;                       /* of the task whose role it is */
    error error;
} role_thread;

struct process {
    const process_options *o;
    const cluster *c;
    net *net;
    jobdir *dir;                        /* of the process that is the master */
    bool is_master, is_worker, is_ps, evaluates_here, evaluates;
    bool is_alone;                      /* everything over inproc */
    buf files;                          /* what the process that is the master reads of the model */
    bool encrypts;
    jobkey key;                         /* if it does; until it has been used */
    task worker, ps;                    /* its tasks as worker and as server */
    bool trainer;
    int32_t lanes;
    backend_choice *devices;            /* of the lanes */
    resident *resident;                 /* where the only lane and the only server share a device; or NULL */
    backend_choice evaluates_on;

    char name[TASK_NAME];               /* of ranks, in the log until they have met */
    rendezvous_options meeting;         /* likewise */
    rendezvous *met;                    /* likewise; NULL: they have not */
    char *listen, *master;              /* endpoints; NULL: none, not known */
    int listen_fd;                      /* a socket that listens at `listen`; -1: to be opened */
    char **servers;
    int32_t n_servers, first_server; /* the first one's index in the cluster */
    char *relay;

    progress progress;
    role_thread threads[ROLE_THREADS_MAX];
    size_t n_threads;
    atomic_bool abort, evaluator_stop;
    atomic_bool reading_stop;           /* of the evaluator: nobody waits for it any more */
    pthread_mutex_t lock;
    status failed;                      /* the first failure of a role... */
    const role_thread *failed_first;    /* ...and whose */
};

/* A role each, until it ends. */
MUST_USE status process_run_dismissal(process *p, error *err);    /* a job that was done before */
MUST_USE status process_run_master(process *p, error *err);
MUST_USE status process_run_worker(process *p, error *err);
MUST_USE status process_run_ps(process *p, error *err);
MUST_USE status process_run_evaluator(process *p, error *err);

#endif
