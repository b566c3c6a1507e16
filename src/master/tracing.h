/*
 * The profile of the job (distributed.profile): once the steps of the window are done, each process is asked for what
 * it traced of them, one after the other and piece by piece, and a thread writes JOB_DIR/profile/trace-A-B.json.
 * The next one is asked when that thread has begun with all but the last, so memory holds three of them at most.
 * Nobody waits for it but the job's end, and that not for long: who does not answer is named as missing, and where
 * the disk lets nothing through there is no profile.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_TRACING_H
#define TEQUIO_MASTER_TRACING_H

#include "common/live/clock_offset.h"
#include "common/wire/wire.h"
#include "master/profile/trace_writer.h"

typedef struct master master;

typedef enum tracing_state { TRACING_NONE, TRACING_RUNS, TRACING_ASKS, TRACING_WRITES, TRACING_OVER } tracing_state;

/* A task that is asked: our own process, a server of ours, or a worker. */
typedef struct traced_task {
    role role;
    int32_t server;
    bool trainer;
    uint32_t index;
} traced_task;

typedef struct tracing {
    tracing_state state;
    trace_window steps;
    traced_task *tasks;             /* [n], asked up to `at` */
    size_t n, at;
    trace_source source;            /* of that one, so far */
    uint32_t piece;                 /* the next of it */
    clock_offset clock;             /* its, by these questions and answers too */
    int64_t done_us;                /* when the steps were done; asked later, by what the writer let wait */
    int64_t turn_us;                /* the last turn */
    uint64_t progress;              /* of the writer, */
    int64_t progress_us;            /* and since when it is that while somebody waits for it */
    int64_t asked_us;               /* 0: not for this piece yet */
    int64_t heard_us;               /* since then it owes an answer */
    trace_writer *writer;
    size_t n_told, n_missing;
    char *path;
} tracing;

/* Of a plan that is settled. E_CONFIG: the job has no such steps. */
MUST_USE status master_trace_settle(master *m, error *err);
/* At every turn. */
void master_trace(master *m, int64_t now_us);
/* An answer; `t` moves in if it is taken. `from` as in traced_task. */
void master_take_trace(master *m, const traced_task *from, ProtobufCMessage **t);
/* Whether the job's end need not wait for it. */
bool master_trace_is_over(const master *m);
void master_trace_fini(master *m);

#endif
