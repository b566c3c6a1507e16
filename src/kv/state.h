/*
 * What a kv knows, shared by the files of this folder and by nobody else.
 * Threads: everything here belongs to the kv's thread.
 */
#ifndef TEQUIO_KV_STATE_H
#define TEQUIO_KV_STATE_H

#include "common/base/backoff.h"
#include "kv/kv.h"

typedef enum push_state { PUSH_FREE, PUSH_QUEUED, PUSH_SENT } push_state;

/* What is to be said to a server, and again, until it is acknowledged. */
typedef struct push {
    push_state state;
    int32_t server;
    wire_head head;
    span *sum;                  /* held; NULL: PUSH_FREE */
    int64_t queued_us;          /* when it was to be said first */
    backoff backoff;
} push;

typedef struct pull {
    int64_t version;            /* or batch, for the newest; -1: none under way */
    bool newest;
    int64_t floor;              /* that the newest must have */
    int64_t asked_us;
    backoff backoff;
} pull;

/* Bytes acknowledged in a second, counted while some are on their way. */
typedef struct rate {
    double bytes_per_s;         /* 0: not known yet */
    size_t bytes;               /* of the measure under way... */
    int64_t busy_us, seen_us;   /* ...which has taken so long, until then */
} rate;

typedef struct server_link {
    char *endpoint;
    bool welcomed;
    const char *refused;        /* why it could not be connected to; NULL: nothing is wrong */
    size_t in_flight;           /* bytes sent, not acknowledged */
    rate rate;                  /* at which they are acknowledged */
} server_link;

struct kv {
    net *net;
    kv_hooks hooks;
    const buf *hello;
    net_memory memory;
    size_t credit_bytes;
    int32_t n_servers, first_server;
    server_link *servers;
    net_socket **sockets;

    const flat *flat;
    int32_t *placement;         /* [n_parts] the server that acts for it */
    wire_head identity;         /* job id, era, incarnation for every head */
    push *pushes;
    size_t n_pushes, cap_pushes;
    size_t n_under_way;         /* of them, waiting or in flight */
    int64_t pushing_since_us;   /* when they became more than none */
    int64_t pushing_us;         /* how long there were any, until then */
    pull *pulls;                /* [n_parts] */
    int64_t *wire_us;           /* [n_parts] how long the last push of it took on its way, its queue with it */
    buf packed;                 /* a report on its way; kept, so that steps allocate nothing */
};

/* kv.c */
/* A server that has left is no failure of ours: it comes back, or the master has a word for us. */
MUST_USE status kv_send(kv *k, int32_t server, const wire_head *h, span *payload, error *err);

/* push.c */
/* Sends what the credit of a server lets through, front layers first. */
MUST_USE status pushes_flow(kv *k, int32_t server, error *err);
/* The server has acknowledged the push that `h` names. */
void pushes_end(kv *k, int32_t server, const wire_head *h);
/* A connection is gone: what was sent there waits to be sent again. */
void pushes_requeue(kv *k, int32_t server);
/* Step `version` - 1 of the part is over: what still waits to be pushed of it, and of those before, is
 * needed no more. */
void pushes_outdate(kv *k, int32_t part, int64_t version);
MUST_USE status pushes_say_again(kv *k, int64_t now_us, error *err);
size_t pushes_credit(const kv *k, int32_t server);      /* bytes that may be in flight there */
void pushes_drop(kv *k);        /* all are given up */

#endif
