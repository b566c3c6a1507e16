/*
 * What a parameter server knows, shared by the files of this folder and by nobody else.
 * Threads: everything here belongs to the server's thread.
 */
#ifndef TEQUIO_PS_STATE_H
#define TEQUIO_PS_STATE_H

#include "common/base/log.h"
#include "common/base/wait_warning.h"
#include "common/config/training.h"
#include "common/store/jobdir.h"
#include "common/wire/wire.h"
#include "metric/reports.h"
#include "ps/cut.h"
#include "ps/histograms.h"
#include "ps/replicator.h"
#include "ps/outbox.h"
#include "ps/ps.h"
#include "ps/preallocator.h"
#include "ps/spool.h"
#include "ps/table.h"

enum { PEERS_MAX = 256 };

typedef struct waiting_pull {
    net_peer peer;
    int connection;
    int64_t version, floor;
    int64_t since_us;
} waiting_pull;

typedef struct pull_list {
    waiting_pull *at;
    size_t n, cap;
} pull_list;

typedef struct ps {
    const ps_options *o;
    net_socket *socket;
    net_waker *waker;
    uint64_t life;

    bool has_master, set_up, stopped;
    net_peer master;
    int64_t master_heard_us;
    char *master_address;
    wire_head identity;             /* job id and era of the job we serve */
    uint32_t lineage;               /* era in which the parts were loaded */
    uint32_t begun;                 /* the era that began here; 0: none */
    status outcome;
    error *err;

    jobdir *dir;
    spool *spool;                   /* instead, where the master's job dir is not seen */
    bool loads;                     /* restores through the master */
    bool is_damaged;                /* the checkpoint that was to be loaded */
    int32_t load_part;              /* the vector asked for */
    uint64_t load_row;
    wire_declaration declaration;
    schedule schedule;
    int32_t *placement;             /* [n_parts] the shard of each part */
    int32_t server, n_servers;      /* which of them we are */
    holders *shards;                /* [n_servers] */
    replicator *replicator;                 /* NULL: there are no standbys */
    buf hello;                      /* for them */
    net_peer peers[PEERS_MAX];      /* servers that we may stand by for, as they came */
    size_t n_peers;
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
    thread_pool *thread_pool;
    table *table;
    reports *beside;                /* of the part they travel with: what came, and is not applied */
    reports *reports;               /* what is, by the versions it made */
    int64_t copied;                 /* version of that part that came as a copy, without what was measured
                                     * before; 0: it did not, or the master has that */
    cuts *cuts;
    preallocator *preallocator;
    uint64_t freezes;               /* by cuts, as of the last look */
    int32_t unsettled;              /* parts below it may have state that a cut holds */
    histograms *histograms;
    pull_list *pulls;               /* [n_parts]; of versions to come, and of peers without room */
    outbox *outbox;
    uint64_t pushes, seen_pushes;   /* that came; as of the last look at waits */
    int64_t began_us, pushed_us;    /* when the loop began; when pushes were last seen to come */
    wait_warning master_wait, setup_wait, pull_wait, push_wait;
    int64_t stop_us;
    int64_t preempt_us;             /* when PREEMPT was last said */
    int64_t looked_us; /* into the job dir, for its end */
    int64_t tick_us; /* nothing that time decides is looked at before */
    int64_t said_us; /* when votes were last said again */
    uint64_t refused;
    log_pace refused_pace;          /* of strangers' hellos */
    int64_t differs_us;             /* since our chief came with another configuration; 0: it did not */
    error differs;
} ps;

enum { TICK_MS = 200, SETTLE_PAUSE_MS = 1, WAITING_MAX = 4096, SAY_AGAIN_US = 1000000 };

/* A chief of another configuration may be the wrong one, and replaced by the right one. */
enum { DIFFERS_US = 3 * 1000000 };

/* send.c: a peer that left does not concern the server: it comes back, or the master says so */
void ps_reply(ps *s, const net_peer *to, wire_head h, span *payload);
void ps_reply_proto(ps *s, const net_peer *to, wire_head h, const ProtobufCMessage *m);
void ps_refuse(ps *s, const net_peer *to, const wire_head *about, status code, const char *text);

/* waits.c: says which waits are longer than wait_warning */
void ps_warn_of_waits(ps *s, int64_t now_us);

/* setup.c */
/* Of our job, but from before the era it is in. */
bool ps_is_over(const ps *s, const wire_head *h);
void ps_take_hello(ps *s, const net_message *m, const wire_head *h, const Wire__Hello *hello);
MUST_USE status ps_take_setup(ps *s, const net_message *m, const wire_head *h, const Wire__Setup *setup,
                              error *err);
MUST_USE status ps_take_loaded(ps *s, const net_message *m, const wire_head *h, error *err);
void ps_setup_clear(ps *s);

/* standby.c */
bool ps_acts_for(const ps *s, int32_t part);
int64_t ps_visible(const ps *s, int32_t part);  /* the newest version that may be answered */
MUST_USE status ps_read_holders(ps *s, const Wire__Setup *m, error *err);
void ps_list_parts(const ps *s, part_hold *ret);
MUST_USE status ps_begin_replicator(ps *s, const Wire__Setup *m, error *err);
void ps_on_summed(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root);
void ps_meet_peer(ps *s, const net_peer *from);
bool ps_is_peer(const ps *s, const net_peer *from);
/* Workers push to who acts, an acting server sums to its standby. NULL: it may. */
const char *ps_push_refusal(const ps *s, const net_message *m, const wire_head *h);
MUST_USE status ps_take_state(ps *s, const net_message *m, const wire_head *h, error *err);
/* The shards held completely, for the master; free the array. */
uint32_t *ps_list_shards(const ps *s, size_t *ret_n);

/* slot_reports.c */
MUST_USE status ps_take_report(ps *s, const wire_head *h, const Wire__Report *m, error *err);
/* A push that would be summed, and of whose slots not all is told: it comes again. */
bool ps_lacks_reports(const ps *s, const wire_head *h);
/* The replicator's hook: the sum of the part they travel with is about to be sent. */
void ps_on_sum_sent(void *user, int64_t step, uint32_t n_slots, const standby_link *to);
MUST_USE status ps_take_reported(ps *s, const wire_head *h, error *err);
/* A copy of a part is complete. */
void ps_note_copied(ps *s, int32_t part, int64_t version);
/* Of a shard, as far as it is here: may another master rely on it? */
bool ps_is_reported(const ps *s, int32_t shard);
/* A version of a part was made. */
MUST_USE status ps_note_applied(ps *s, int32_t part, int64_t version, error *err);
void ps_keep_reports(ps *s);    /* in an era that begins with what is held; another master may lead */
void ps_drop_reports(ps *s);

/* serve.c */
MUST_USE status ps_on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err);
MUST_USE status ps_on_voted(void *user, int32_t part, int64_t step, double square_sum, error *err);
void ps_take_pull(ps *s, const net_message *m, const wire_head *h);
/* A later version of it may be answered, once the verdict makes it. */
MUST_USE status ps_on_visible(void *user, int32_t part, error *err);
void ps_answer_pulls(ps *s);                    /* of peers that have room again */
void ps_drop_pulls(ps *s, int connection);      /* it is lost: nobody waits there any more */
MUST_USE status ps_take_push(ps *s, net_message *m, const wire_head *h, error *err);
void ps_take_cut(ps *s, const wire_head *h, const Wire__Cut *m);
void ps_send_cut_results(ps *s);
void ps_take_shard(ps *s, const net_message *from, const wire_head *h, const Wire__Shard *m);
void ps_send_histograms(ps *s);

#endif
