/*
 * kv: push and pull of parts over the servers of a job, with credits.
 *
 * One dial per server. Pushes wait in a queue per server until their bytes fit its credit (bytes
 * pushed and not yet acknowledged): what was given, or less on a link on which that would take long.
 * Among the waiting the highest part goes first, for it belongs to the layers the next forward needs
 * first. What waits for a step of which the part has the outcome is dropped: others have pushed it. A
 * lost connection is dialled anew; what was not acknowledged or answered there is sent again (servers
 * take a node once).
 *
 * What arrives is handed to the callbacks from kv_serve, on the caller's thread.
 *
 * Errors: a peer that is gone or does not read is none, for a lost connection is dialled anew. Which codes
 * a function returns stands above it; "as kv_create" are those of a dial.
 *
 * Threads: a kv belongs to one thread. What is pushed may be dropped on any, once the server has
 * acknowledged it and the transport is done with the memory.
 */
#ifndef TEQUIO_KV_KV_H
#define TEQUIO_KV_KV_H

#include "common/net/net.h"
#include "common/parts/flat.h"
#include "common/parts/loss_scale.h"
#include "common/wire/wire.h"

typedef struct kv kv;

/* A push that is about to be sent. */
typedef struct kv_beside {
    kv *kv;
    const wire_head *push;
} kv_beside;

/* Why a part took its time, in monotonic microseconds. */
typedef struct kv_times {
    int64_t asked_us;       /* when it was asked for... */
    int64_t lanes_us;       /* ...since then it waited so long for gradients of lanes, */
    int64_t server_us;      /* so long, at most, for what the server had to do; the rest it was on its way */
    int64_t came_us;        /* when it was here */
} kv_times;

/* Why a gradient took its time, from when it was given to kv until it was acknowledged. */
typedef struct kv_taking {
    int64_t took_us;
    int64_t server_us;      /* of that, at most, the server's; the rest the way's, and waits for credit */
} kv_taking;

/* A part that has arrived. */
typedef struct kv_part {
    int32_t part;
    int64_t version;
    loss_scale scale;       /* of the version; of a pull of the newest nothing */
    span *weights;          /* a callee that needs them behind the hook holds them */
    kv_times times;
} kv_part;

typedef struct kv_hooks {
    void (*welcome)(void *user, int32_t server, const Wire__Welcome *m);
    void (*part)(void *user, const kv_part *p);
    void (*gone)(void *user, int32_t part, int64_t newest);
    void (*refused)(void *user, int32_t server, const wire_head *head, const Wire__Refused *m);
    void *user;
    /* Acknowledged, or not sent because it was needed no more; NULL: not wanted. */
    void (*pushed)(void *user, int32_t part, int64_t step);
    /* Acknowledged; its sum's memory comes back after that. NULL: not wanted. */
    void (*taken)(void *user, const kv_taking *t);
    /* A node of the reporting part is about to be sent, for the first time or again: what its slots
     * measured goes in front of it, by kv_say_beside. NULL: nothing was measured. */
    status (*measured)(void *user, kv_beside *push, error *err);
} kv_hooks;

typedef struct kv_options {
    net *net;
    const char *const *servers;     /* endpoints, "tcp://host:port"; copied */
    int32_t n_servers;
    int32_t first_server;           /* the first one's index in the cluster */
    size_t credit_bytes;            /* per server, at most; one part is always let through */
    const buf *hello;               /* packed Hello for every new connection; kept */
    net_memory memory;              /* who hears of memory that servers share; {0}: nobody */
    kv_hooks hooks;
} kv_options;

/* E_CONFIG: an endpoint is none. E_FAIL: no socket is to be had, as where too many files are open. */
MUST_USE status kv_create(const kv_options *options, kv **ret, error *err);
void kv_destroy(kv **k);

/* Who we are and how parts lie; drops every push and pull under way (a new era). `flat` is kept.
 * acting[n_servers]: the server that acts for each shard of the deal; NULL: each for its own.
 * Servers are ready by then: those that were not at our first hello are asked again at once. E_NOMEM; a
 * server that acts for nothing is dialled anew: as kv_create. */
MUST_USE status kv_begin(kv *k, uint64_t job_id, uint32_t era, uint32_t incarnation, const flat *f,
                         const uint32_t *acting, error *err);

/* Queue a push of `node` of `part` for `step` (which has `slots` slots). Its sum moves in, also on failure.
 * It, and what waits in front of it, is sent if the credit allows: E_NOMEM, or as hooks.measured. */
MUST_USE status kv_push(kv *k, int32_t part, int64_t step, uint32_t slots, tree_node node,
                        span *sum, error *err);

/* What slot `slot` of a push measured: REPORT to the server that it goes to. `beside` is a
 * kv_beside. E_NOMEM. */
MUST_USE status kv_say_beside(void *beside, int64_t step, uint32_t slot,
                              const ProtobufCMessage *report, error *err);

/* Ask for exactly `version` of `part`; the answer is hooks.part or hooks.gone. E_NOMEM. */
MUST_USE status kv_pull(kv *k, int32_t part, int64_t version, error *err);

/* Ask for the newest of `part`, once all batches below `floor` are in it; the answer is hooks.part
 * with `batch`, the one to be computed with it, for a version. Replaces what was asked before. E_NOMEM. */
MUST_USE status kv_pull_newest(kv *k, int32_t part, int64_t batch, int64_t floor, error *err);

/* Handles what arrived and sends what may go. Never blocks. E_NOMEM; as kv_create; as hooks.measured. */
MUST_USE status kv_serve(kv *k, error *err);

/* HELLO to all once more: their answers (hooks.welcome) tell what they know of the master. E_NOMEM. */
MUST_USE status kv_greet(kv *k, error *err);

/* Keep connections alive, and say again what was not answered: hellos each time, pushes and pulls
 * at growing intervals. Call about once a second. E_NOMEM; as hooks.measured. */
MUST_USE status kv_tick(kv *k, error *err);

/* The sockets to poll, [n_servers]. */
net_socket *const *kv_sockets(const kv *k);

/* For messages about waiting. */
int32_t kv_server_of(const kv *k, int32_t part);
const char *kv_server_name(const kv *k, int32_t server);        /* its endpoint */
bool kv_server_is_up(const kv *k, int32_t server);
const char *kv_server_refused(const kv *k, int32_t server);     /* why we cannot connect; NULL: not known */
size_t kv_unacknowledged(const kv *k, int32_t server);          /* pushes waiting or in flight */

/* How the connection to a server stands. */
typedef struct kv_link {
    int32_t index;              /* of the task in the cluster */
    bool is_up;
    size_t in_flight, credit;   /* bytes pushed and not acknowledged, and how many there may be; SIZE_MAX: any */
    size_t pushes, pulls;       /* under way or waiting */
} kv_link;

void kv_describe(const kv *k, int32_t server, kv_link *ret);

/* Whether pushes of that step wait or are in flight, and how long any have done so, over the kv's life. */
bool kv_is_pushing(const kv *k, int64_t step);
int64_t kv_pushing_us(const kv *k);

#endif
