/*
 * What the master knows, shared by the files of this folder and by nobody else.
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

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/wait_warning.h"
#include "common/config/training.h"
#include "common/store/checkpoint.h"
#include "common/wire/wire.h"
#include "master/accounting/accounting.h"
#include "master/accounting/results.h"
#include "master/cuts/fetch.h"
#include "master/cuts/saver.h"
#include "master/cuts/scrubber.h"
#include "master/lanes/deal.h"
#include "master/lanes/leases.h"
#include "master/lanes/members.h"
#include "master/master.h"
#include "master/scheduler.h"
#include "master/servers/assign.h"
#include "master/servers/summaries.h"
#include "master/servers/vote.h"
#include "metric/reports.h"
#include "optim/optim.h"

typedef enum phase { GATHER, SETUP, RUN, DRAIN, OVER } phase;

typedef struct server {
    net_socket *socket;
    uint64_t life;                  /* of the process that answered; 0: none yet */
    uint32_t lineage;               /* of the parts it holds; 0: none of this job's */
    uint32_t era;                   /* it was in last */
    bool *holds;                    /* [n] shards it holds completely; NULL: it never said */
    holders *assignment;            /* [n] of that era; NULL: it said none */
    bool welcomed, ready;
    bool sees_dir;                  /* the job dir: there it reads how the job ended */
    bool told;                      /* how it ended */
    int64_t refuses_us;             /* since when it answers that we do not fit together; 0: it does not */
    const char *refused;            /* why it could not be connected to; NULL: nothing is wrong */
    int64_t lowest, newest;         /* versions of the parts it acts for; -1: none */
    int64_t heard_us;
    int32_t unanswered;             /* heartbeats since then */
    bool hangs;                     /* said so, and not heard since */
    int64_t left_us;                /* when its connection was lost */
} server;

/* Of the evaluator, while it is waited for. */
typedef struct evaluator_life {
    uint64_t trace;                 /* its sign, as last seen */
    int64_t seen_us;                /* when that changed, or the wait_warning began; 0: nobody waits */
    bool hangs;                     /* said so */
} evaluator_life;

/* The job dir does not take what is to be written. */
typedef struct disk_wait {
    int64_t since_us;               /* 0: all is well */
    backoff again;                 /* when it is tried next */
    wait_warning spoken;
    bool failed;                    /* since that try began */
    bool owes_start;                /* this start could not be counted yet */
    const char *owes_turn;          /* why an era is due that could not begin; NULL: none is... */
    int32_t owes_turn_of;           /* ...and whose doing that is, as of master_turn */
    bool pauses;                    /* too much waits in memory: workers are held */
    char why[ERROR_TEXT];
} disk_wait;

typedef struct master {
    const master_options *o;
    phase phase;
    net_socket *listener;
    server *servers;
    members members;
    assign assign;                  /* who holds which shard */
    buf hello;
    wire_head identity;             /* job id, era */
    uint32_t lineage;               /* era in which the servers last loaded their parts */
    uint32_t turns;                 /* eras after this start's first */
    bool keeps;                     /* this era: the servers go on with what they hold */
    bool is_over_before;            /* the job was done when we started: only to say so */
    bool taken_back;                /* this lineage: the accounts do not know yet that it began */
    bool superseded;                /* a newer master leads the job: nobody stops because of us */
    int64_t restarts;

    char digest[65];                /* of the configuration */
    bool checks_files;              /* the option data_check is not off */
    bool files_settled;             /* it is known which files are the job's, or need not be */
    bool files_recorded;            /* job.json said so */
    buf files;                      /* what they are (common/store/facts.h), as far as anybody tells */
    wire_declaration declaration;   /* flat == NULL before the first DECLARE */
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
    schedule schedule;
    const scheduler *scheduler;     /* by it */
    steps steps;                    /* of a unit of the schedule each, as all that follows */
    int64_t batches_per_step;       /* K, by which ssp counts turns */
    int64_t total;                  /* versions to reach */
    int64_t limit;                  /* last said to workers */
    uint32_t view_id;
    bool view_due;                  /* lanes came or went */
    deal *deal;
    int64_t start;                  /* version this era begins with */
    int64_t saved;                  /* the newest checkpoint then */
    char restore_dir[64];           /* what is loaded; "": drawn from the seed */

    disk_wait disk;
    bool finished;                  /* all results are there */
    accounting *accounting;
    results *results;
    saver *saver;
    scrubber *scrubber;
    int64_t scrub_us, scrubbed;     /* when a checkpoint was last begun to be read, and which */
    fetches *fetches;
    checkpoint *restore;            /* during SETUP: for servers that do not see the job dir */
    bool restore_verified;          /* all of it has been read */
    vote *vote;
    summaries *summaries;
    batch_set applied;              /* units on every part, as the era begins; the lease
                                     * scheduler's, like the next */
    leases *leases;

    int64_t epoch_saved, epoch_recorded; /* newest epoch's end whose cut is over; in the results */
    int64_t open_step, open_us;     /* the oldest step whose reports are not all here; since then */
    int64_t begun_us, tick_us, beat_us, watch_us, progress_us, drain_us, preempt_us;
    phase spoken_of;                /* the one in which `waiting` was spoken of */
    wait_warning waiting;
    evaluator_life evaluator;
    bool preempted;
    int64_t verdict_step;           /* the last one announced; -1: none */
    verdict verdict;
    loss_scale scale;               /* of `start`, as far as the servers load it */
    log_pace refused_pace;
    status failed;                  /* the first failure of a task */
    error failure;
    error disagreement;             /* why a server does not take us, as it said last */
} master;

enum { ERA_STARTS = 0xffff, ERA_TURNS = 0xffff };   /* halves of the 32 bits of an era */

enum { TICK_MS = 100, BEAT_MS = 2 * TICK_MS, SECOND_US = 1000000, SHUTDOWN_US = 3 * SECOND_US,
       DIFFERS_US = 3 * SECOND_US };

/* send.c */
double master_option(const master *m, const char *key);
wire_head master_head(const master *m, wire_type type);
void master_send(net_socket *s, const net_peer *to, wire_head h, const ProtobufCMessage *message);
void master_send_servers(master *m, wire_head h, const ProtobufCMessage *message);
void master_send_workers(master *m, wire_head h, const ProtobufCMessage *message);

/* setup.c */
void master_say_hello(master *m, server *s);
bool master_all_workers(const master *m);
/* So many workers are there, or have not come for so long, that the job may begin with them. */
bool master_may_begin(const master *m);
void master_close_accounts(master *m);
/* A new era begins: the servers go on with the parts they hold where these fit together, else all
 * load theirs, from the newest checkpoint or drawn. */
MUST_USE status master_begin_setup(master *m, error *err);
void master_say_setup(master *m, int32_t s);
MUST_USE status master_take_ready(master *m, int32_t s, const Wire__Ready *r, error *err);
/* The same once everybody is there that must be. */
MUST_USE status master_try_setup(master *m, error *err);
/* Once all servers are ready: the accounts are opened, and all run. */
MUST_USE status master_try_begin(master *m, error *err);

/* restore.c */
/* What all servers will load: the newest checkpoint that is whole; -1: there is none yet. */
MUST_USE status master_choose_restore(master *m, int64_t *ret_saved, error *err);
/* It is damaged: it is set aside with a loud word. */
MUST_USE status master_condemn(const master *m, int64_t step, const char *why, error *err);
/* Server `s` finds it damaged: if it is, another one is loaded, in another era. */
MUST_USE status master_doubt_restore(master *m, int32_t s, const char *text, error *err);
MUST_USE status master_take_load(master *m, int32_t s, const wire_head *h, error *err);
/* The oldest of those that are kept as the newest ones, and that the accounts reach back to; *ret stays if
 * that is older. */
MUST_USE status master_oldest_checkpoint(const master *m, int64_t *ret, error *err);

/* scrub.c: once a second; which checkpoints that are kept are damaged. */
MUST_USE status master_scrub(master *m, int64_t now_us, error *err);

/* end_moved.c: what it does that the job's end was moved, if it was, and nobody has said so yet. */
MUST_USE status master_tell_moves(master *m, error *err);

/* shards.c */
/* Who acts and stands by in the era that begins. True: all is held, and goes on; m->lineage is what
 * they have in common. False: all must be loaded, as dealt. */
bool master_assign(master *m);
void master_note_shards(const master *m, server *s, const Wire__Welcome *w);
/* After a master's start: those that are here hold every part, and the others are silent. */
bool master_can_spare(master *m, double waited_s);
/* Something happened to server `s`, or to all (-1): a new era. */
MUST_USE status master_turn(master *m, int32_t s, const char *why, error *err);
/* What the servers hold is of no use. */
void master_forget_parts(master *m);
/* The same, and all go back, as two losses at once may have it. */
MUST_USE status master_give_up(master *m, const char *why, error *err);
/* After each heartbeat: a lost server that has a standby is not waited for, one that is abreast again
 * acts again. */
MUST_USE status master_watch_servers(master *m, int64_t now_us, error *err);
/* As our heartbeats have it, too, the last of which had no time to be answered: after a freeze of our own
 * nobody has been silent. */
double master_silence_s(const server *s, int64_t now_us);
/* False while they may load a checkpoint, which keeps a server longer than any message does. */
bool master_hears_servers(const master *m);
/* A standby is abreast, or (head.step) does not answer whom it stands by for. */
MUST_USE status master_take_backed(master *m, int32_t s, const wire_head *h, error *err);
void master_fill_shards(const master *m, Wire__Setup *ret);
void master_clear_shards(Wire__Setup *s);
uint32_t *master_list_acting(const master *m, size_t *ret_n);   /* free it; none without copies */

/* hung.c */
/* Once a second: who has been silent for hang_timeout is named. */
void master_tell_hung(master *m, int64_t now_us);

/* run.c */
/* Looks for evaluations; where patience is over, what is saved is the result. */
MUST_USE status master_stop_early(master *m, error *err);
MUST_USE status master_begin_run(master *m, error *err);
void master_order_cuts(master *m);
void master_say_cuts(master *m);                /* the open ones, again */
void master_order_histograms(master *m);
MUST_USE status master_take_norm(master *m, int32_t s, const wire_head *h, const Wire__Norm *n,
                                 error *err);
MUST_USE status master_take_cut_done(master *m, int32_t s, const wire_head *h, const Wire__CutDone *c,
                                     error *err);
MUST_USE status master_take_shard(master *m, int32_t s, const Wire__Shard *piece, error *err);
MUST_USE status master_take_cut_late(master *m, const Wire__CutLate *c, error *err);
/* Once a second: what a server has not answered is said to it again. */
void master_say_again(master *m);

/* reports.c */
/* A report enters the accounts. */
MUST_USE status master_record(master *m, const wire_head *h, const Wire__Report *r, error *err);
/* Every part of the servers has this version at least. */
int64_t master_applied(const master *m);
/* Tells workers how far the accounts are complete: they forget what they kept of it. */
void master_say_reported(master *m);
/* Of the accounts, which were complete up to `before`, more are. */
MUST_USE status master_steps_done(master *m, int64_t before, error *err);
/* A shard is in its place: what is written is committed, as far as the accounts are complete. */
MUST_USE status master_take_written(master *m, const shard_report *r, error *err);
/* How it went with a cut: what the disk did to one is not what ends a job. */
MUST_USE status master_cut_over(master *m, uint32_t id, status st, const error *why, error *err);
/* There will be no checkpoint of that cut. */
MUST_USE status master_cut_lost(master *m, uint32_t id, const char *why, error *err);

/* Commits what is written, as far as the accounts are complete. */
MUST_USE status master_commit(master *m, error *err);

/* disk.c */
/* How a write into the job dir went: what may pass is noted and tried again (OK), until it has lasted for
 * trainer.disk_timeout; anything else is returned. */
MUST_USE status master_disk(master *m, status st, const error *why, error *err);
/* Now and then: what waits is tried again. E_DISK: that took too long. */
MUST_USE status master_watch_disk(master *m, int64_t now_us, error *err);
bool master_disk_is_well(const master *m);
void master_disk_took(master *m);               /* a checkpoint: what else waits is tried at once */

/* waits.c */
void master_say_step_wait(const master *m, double waited);     /* for whom a step, or its end, waits */
void master_warn_of_waits(master *m, int64_t now_us);
/* Whatever connection there was to that server, it counts no more. dispatch.c */
MUST_USE status master_redial(master *m, int32_t server, error *err);
/* E_LOST names who has been awaited for too long. */
MUST_USE status master_check_lost(const master *m, int64_t now_us, error *err);

/* master.c: leaves the results, once nothing is left to wait for. */
MUST_USE status master_try_finish(master *m, error *err);

/* shutdown.c: says how it ended to all, until they have left or for SHUTDOWN_US. */
void master_shut_down(master *m, status st, const char *text);

/* views.c */
/* Deals slots to the lanes that are there and says it to all workers. */
void master_deal(master *m);
void master_send_view(master *m, const net_peer *only);     /* as it stands; NULL: to all */
/* It has changed: the same, under a new number. */
void master_say_new_view(master *m);

/* admission.c */
MUST_USE status master_take_hello(master *m, const net_message *message, const Wire__Hello *hello, error *err);
MUST_USE status master_take_declare(master *m, member *from, const Wire__Declaration *d, error *err);
void master_welcome(master *m, const member *one);
/* One that was let in does not fit after all: it is told, and is a member no more. */
void master_refuse_member(master *m, member *one, const error *why);

/* files.c */
/* What the job began with, and what our own process reads. E_DATA if that differs. */
MUST_USE status master_open_files(master *m, error *err);
/* E_DATA: the worker that says hello reads other files than the job. */
MUST_USE status master_check_files(const master *m, const Wire__Hello *hello, error *err);
/* Once all are there: whose files count, and who is refused. */
MUST_USE status master_settle_files(master *m, error *err);

/* dispatch.c */
void master_preempt(master *m, const char *who);
/* Who fails before it could say hello has come all the same, and leaves by itself. */
void master_note_failed(master *m, const Wire__Stop *s);
MUST_USE status master_serve_servers(master *m, error *err);
MUST_USE status master_serve_workers(master *m, error *err);

#endif
