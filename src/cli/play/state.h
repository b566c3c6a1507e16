/*
 * What a process that plays roles knows, shared by the files of this folder and by nobody else.
 * Threads: filled by the main thread before any part begins; what parts change has a comment.
 */
#ifndef TEQUIO_CLI_PLAY_STATE_H
#define TEQUIO_CLI_PLAY_STATE_H

#include "cli/play/play.h"
#include "cli/play/rendezvous/rendezvous.h"
#include "common/base/jobkey.h"
#include "common/fault/fault.h"
#include "common/net/net.h"
#include "common/store/jobdir.h"
#include "exec/resident.h"

#include <pthread.h>

enum { PARTS_MAX = 4 };

typedef struct play play;

/* One role of this process, on its thread. */
typedef struct part {
    status (*run)(play *p, error *err);
    char name[TASK_NAME];
    pthread_t thread;
    play *play;
    fault *fault;                       /* of the task whose part it is */
    error error;
} part;

struct play {
    const play_options *o;
    const cluster *c;
    net *net;
    jobdir *dir;                        /* of the process that plays master */
    bool plays_master, plays_worker, plays_ps, evaluates_here, evaluates;
    bool is_alone;                      /* everything over inproc */
    buf files;                          /* what the process that plays master reads of the model */
    bool encrypts;
    jobkey key;                         /* if it does; until it has been used */
    task worker, ps;                    /* who it is as worker and as server */
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
    part parts[PARTS_MAX];
    size_t n_parts;
    atomic_bool abort, evaluator_stop;
    pthread_mutex_t lock;
    status failed;                      /* the first failure of a part */
    error failure;
};

/* Of the whole job, a chief that trains among them; 0: not known. */
int32_t play_count_workers(const play *p);

/* A role each, until it ends. */
MUST_USE status play_dismissal(play *p, error *err);    /* a job that was done before */
MUST_USE status play_master(play *p, error *err);
MUST_USE status play_worker(play *p, error *err);
MUST_USE status play_ps(play *p, error *err);
MUST_USE status play_evaluator(play *p, error *err);

#endif
