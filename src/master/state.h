/*
 * What the master is made of, for the files of this folder and nobody else.
 *
 * Phases:
 *   GATHER   servers are dialled, workers say hello, the first declares the flat vector
 *   SETUP    every server loads its parts (from a checkpoint or drawn) and says READY
 *   RUN      views, reports, votes, cuts
 *   DRAIN    the last cut is committed; the last evaluation is awaited
 *   OVER     everybody was told to stop
 *
 * Threads: everything here belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_STATE_H
#define TEQUIO_MASTER_STATE_H

#include "common/base/log.h"
#include "master/accounting/accounting.h"
#include "master/accounting/results.h"
#include "master/cuts/fetch.h"
#include "master/cuts/saver.h"
#include "master/disk.h"
#include "master/era.h"
#include "master/evaluator_life.h"
#include "master/files.h"
#include "master/holds.h"
#include "master/hung.h"
#include "master/lanes/leases.h"
#include "master/lanes/members.h"
#include "master/lanes/reading_workers.h"
#include "master/master.h"
#include "master/plan.h"
#include "master/publish.h"
#include "master/reports.h"
#include "master/restore.h"
#include "master/scrub.h"
#include "master/server.h"
#include "master/servers/assign.h"
#include "master/servers/summaries.h"
#include "master/servers/vote.h"
#include "master/shards.h"
#include "master/shutdown.h"
#include "master/statuses.h"
#include "master/tell.h"
#include "master/tracing.h"
#include "master/turn.h"
#include "master/views.h"
#include "master/waits.h"
#include "metric/reports.h"
#include "optim/settings.h"

typedef enum phase { GATHER, SETUP, RUN, DRAIN, OVER } phase;

/* On a step's norm, or whether it is finite. */
typedef struct voting {
    vote *vote;                     /* NULL: nobody votes */
    int64_t step;                   /* the last one whose verdict was announced; -1: none */
    verdict verdict;
} voting;

/* Of the lease scheduler. */
typedef struct leasing {
    leases *leases;
    batch_set applied;              /* units on every part, as the era begins */
} leasing;

struct master {
    const master_options *o;
    phase phase;
    net_socket *listener;
    buf hello;
    era era;
    job_plan plan;
    data_files files;
    members members;
    reading_workers reading;        /* who is none yet */
    server *servers;
    assign assign;                  /* who holds which shard */
    restoring restore;
    views views;
    leasing leasing;
    voting voting;
    accounting *accounting;
    reporting reporting;
    results *results;
    saver *saver;
    fetches *fetches;
    scrubbing scrub;
    summaries *summaries;
    disk_wait disk;
    timeline *timeline;             /* NULL: nobody is told */
    master_waits waits;
    evaluator_life evaluator;
    job_ending ending;
    log_pace refused_pace;
    error disagreement;             /* why a server does not take us, as it said last */
    publishing publishing;
    tracing tracing;
    statuses statuses;
    holds holds;
    int64_t tick_us, beat_us;
};

enum { TICK_MS = 100, BEAT_MS = 2 * TICK_MS, SECOND_US = 1000000, SHUTDOWN_US = 3 * SECOND_US,
       DIFFERS_US = 3 * SECOND_US };

/* send.c */
double master_option(const master *m, const char *key);
wire_head master_head(const master *m, wire_type type);
void master_send(net_socket *s, const net_peer *to, wire_head h, const ProtobufCMessage *message);
void master_send_servers(master *m, wire_head h, const ProtobufCMessage *message);
void master_send_workers(master *m, wire_head h, const ProtobufCMessage *message);

/* admission.c */
MUST_USE status master_take_hello(master *m, const net_message *message, const Wire__Hello *hello, error *err);
MUST_USE status master_take_declare(master *m, member *from, const Wire__Declaration *d, error *err);
bool master_all_workers(const master *m);
/* Once all are there that a start waits for, the servers are set up. */
MUST_USE status master_try_setup(master *m, error *err);

/* setup.c */
/* A new era begins: the servers go on with the parts they hold where these fit together, else all
 * load theirs, from the newest checkpoint or drawn. */
MUST_USE status master_begin_setup(master *m, error *err);
void master_say_setup(master *m, int32_t s);

/* load.c */
/* Server `s` finds it damaged: if it is, another one is loaded, in another era. */
MUST_USE status master_doubt_restore(master *m, int32_t s, const char *text, error *err);
MUST_USE status master_take_load(master *m, int32_t s, const wire_head *h, error *err);

/* accounts.c */
/* Of the era that begins: checkpoints and epochs go on from the newest checkpoint, steps from its version. */
MUST_USE status master_open_accounts(master *m, error *err);
void master_close_accounts(master *m);

/* begin.c */
MUST_USE status master_take_ready(master *m, int32_t s, const Wire__Ready *r, error *err);
/* Once all servers are ready: the accounts are opened, and all run. */
MUST_USE status master_try_begin(master *m, error *err);

/* end_moved.c: what it does that the job's end was moved, if it was, and nobody has said so yet. */
MUST_USE status master_tell_moves(master *m, error *err);

/* orders.c */
void master_order_cuts(master *m);
void master_say_cuts(master *m);                /* the open ones, again */
/* A server is past a cut: where it may still be made later, that is said to all. */
void master_delay_cut(master *m, uint32_t id, int64_t newest);
void master_order_histograms(master *m);

/* run.c */
MUST_USE status master_take_norm(master *m, int32_t s, const wire_head *h, const Wire__Norm *n,
                                 error *err);
MUST_USE status master_take_cut_done(master *m, int32_t s, const wire_head *h, const Wire__CutDone *c,
                                     error *err);
MUST_USE status master_take_shard(master *m, int32_t s, const Wire__Shard *piece, error *err);
MUST_USE status master_take_cut_late(master *m, const Wire__CutLate *c, error *err);
/* Once a second: what a server has not answered is said to it again. */
void master_say_again(master *m);

/* finish.c */
/* Looks for evaluations; where patience is over, what is saved is the result. */
MUST_USE status master_stop_early(master *m, error *err);
/* It was asked to leave, preempt_grace ago. */
bool master_waited_to_leave(const master *m, int64_t now_us);
/* Leaves the results, once nothing is left to wait for. */
MUST_USE status master_try_finish(master *m, error *err);

/* dispatch.c */
void master_preempt(master *m, const char *who);
/* Who fails before it could say hello has come all the same, and leaves by itself. */
void master_note_failed(master *m, const Wire__Stop *s);
MUST_USE status master_serve_servers(master *m, error *err);
MUST_USE status master_serve_workers(master *m, error *err);

/* Of training that ends at such a step. */
static inline training_span master_span(const master *m, int64_t end)
{
    return (training_span){.steps = end, .epoch_steps = steps_per_epoch(&m->plan.steps)};
}

#endif
