/*
 * Hosts, and which task goes where.
 *
 * A hosts file has a line a host: its name as ssh takes it (USER@ may stand in front), then perhaps
 * slots=N (the most tasks it takes), gpus=N, address=A (what other tasks reach it by, if that is
 * not its name). `#` begins a comment. A list on a command line is "a,b:4,c"; the number is of
 * slots.
 *
 * Tasks are dealt in the order master, workers, servers, evaluators. Each goes to the host that has
 * room for it and the fewest tasks of its kind (those that compute, those that do not), of several
 * the one with the fewest tasks at all, of several the first. GPUs count where any host names its
 * own.
 *
 * Ownership: in the arena given. Threads: pure functions.
 */
#ifndef TEQUIO_JOB_SSH_HOSTS_H
#define TEQUIO_JOB_SSH_HOSTS_H

#include "job/spec/job.h"

enum { HOSTS_MOST = 65536 };

typedef struct host {
    const char *name;    /* for ssh */
    const char *address; /* for TF_CONFIG, without brackets */
    int slots;           /* 0: as many as come */
    int gpus;            /* -1: not said */
    int n, computing;    /* tasks it has been dealt, and those of them that compute */
    int gpus_used;       /* by them: the first so many */
} host;

/* Where a task goes. */
typedef struct hosts_place {
    int host;            /* its index */
    int first_gpu, gpus; /* of that host's; gpus < 0: nobody counts them */
} hosts_place;

typedef struct hosts {
    host *at;
    int n, cap;
} hosts;

/* E_CONFIG with the line. `origin` names the text. */
MUST_USE status hosts_read(const char *text, const char *origin, arena *memory, hosts *ret,
                           error *err);
MUST_USE status hosts_read_file(const char *path, arena *memory, hosts *ret, error *err);
MUST_USE status hosts_of_list(const char *list, arena *memory, hosts *ret, error *err);

/* Nobody has been dealt anything. */
void hosts_clear(hosts *h);
/* The place of a further task. E_CONFIG if there is no room. */
MUST_USE status hosts_deal(hosts *h, const job *j, task t, hosts_place *ret, error *err);

#endif
