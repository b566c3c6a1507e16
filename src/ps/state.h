/*
 * What a parameter server is made of, for the files of this folder and nobody else.
 *
 * Threads: everything here belongs to the server's thread.
 */
#ifndef TEQUIO_PS_STATE_H
#define TEQUIO_PS_STATE_H

#include "common/base/log.h"
#include "ps/cut.h"
#include "ps/histograms.h"
#include "ps/outbox.h"
#include "ps/part_times.h"
#include "ps/preallocator.h"
#include "ps/ps.h"
#include "ps/setup.h"
#include "ps/slot_reports.h"
#include "ps/standby.h"
#include "ps/waits.h"

/* Pulls that cannot be answered yet: of versions to come, and of peers without room. */
typedef struct waiting_pull {
    net_peer peer;
    int connection;
    int64_t version, floor;
    int64_t since_us;
    int64_t unread_us;              /* as it came: how long it may have lain unread */
    bool waited;                    /* it could not be answered at once */
} waiting_pull;

typedef struct pull_list {
    waiting_pull *at;
    size_t n, cap;
} pull_list;

/* State that a cut has come to hold, and is copied bit by bit. */
typedef struct settling {
    uint64_t freezes;               /* by cuts, as of the last look */
    int32_t below;                  /* parts below it may have such state */
} settling;

typedef struct server_ending {
    bool stopped;
    status outcome;
    error *err;
    int64_t stop_us;                /* when we were asked to leave */
    int64_t preempt_us;             /* when PREEMPT was last said */
    int64_t looked_us;              /* into the job dir, for its end */
} server_ending;

struct ps {
    const ps_options *o;
    net_socket *socket;
    net_waker *waker;
    uint64_t life;
    chief chief;
    server_era era;
    bool set_up;
    jobdir *dir;
    spool *spool;                   /* instead, where the master's job dir is not seen */
    server_plan plan;
    loading loading;
    assignment assignment;
    standbys standbys;
    thread_pool *thread_pool;
    table *table;
    slot_reports reports;
    cuts *cuts;
    preallocator *preallocator;
    settling settling;
    histograms *histograms;
    pull_list *pulls;               /* [n_parts] */
    server_times times;
    outbox *outbox;
    server_waits waits;
    server_ending ending;
    int64_t counted_us;             /* when its parts were, for counters */
    int64_t tick_us;                /* nothing that time decides is looked at before */
    int64_t said_us;                /* when votes were last said again */
    int64_t said_status_us;
    bool has_cut;                   /* since then */
    uint64_t refused;
    log_pace refused_pace;          /* of strangers' hellos */
};

enum { TICK_MS = 200, SETTLE_PAUSE_MS = 1, WAITING_MAX = 4096, SAY_AGAIN_US = 1000000, COUNT_US = 1000000 };

/* A chief of another configuration may be the wrong one, and replaced by the right one. */
enum { DIFFERS_US = 3 * 1000000 };

/* send.c: a peer that left does not concern the server: it comes back, or the master says so */
void ps_reply(ps *s, const net_peer *to, wire_head h, span *payload);
void ps_reply_proto(ps *s, const net_peer *to, wire_head h, const ProtobufCMessage *m);
void ps_refuse(ps *s, const net_peer *to, const wire_head *about, status code, const char *text);

/* status.c: to the master, now and then */
void ps_say_status(ps *s, int64_t now_us);

/* serve.c */
MUST_USE status ps_on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err);
void ps_on_voted(void *user, int32_t part, int64_t step, double square_sum);
void ps_take_pull(ps *s, const net_message *m, const wire_head *h);
/* A later version of it may be answered, once the verdict makes it. */
void ps_on_visible(void *user, int32_t part);
void ps_answer_pulls(ps *s);                    /* of peers that have room again */
void ps_drop_pulls(ps *s, int connection);      /* it is lost: nobody waits there any more */
MUST_USE status ps_take_push(ps *s, net_message *m, const wire_head *h, error *err);
void ps_take_cut(ps *s, const wire_head *h, const Wire__Cut *m);
void ps_send_cut_results(ps *s);
void ps_take_shard(ps *s, const net_message *from, const wire_head *h, const Wire__Shard *m);
void ps_send_histograms(ps *s);

/* copies.c */
MUST_USE status ps_begin_replicator(ps *s, const Wire__Setup *m, error *err);
/* The table's hook: the sum goes to the standby. */
void ps_on_summed(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root);
MUST_USE status ps_take_state(ps *s, const net_message *m, const wire_head *h, error *err);
/* The shards held completely, for the master; free the array. */
uint32_t *ps_list_shards(const ps *s, size_t *ret_n);

#endif
