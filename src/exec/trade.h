/*
 * Inside of peers.h: who has got how far in which union (peers.c), and what is done about it on a
 * device (trade.c).
 * Threads: what is under the lock from any, through the functions; the rest as peers.h says.
 */
#ifndef TEQUIO_EXEC_TRADE_H
#define TEQUIO_EXEC_TRADE_H

#include "exec/state.h"

#include <pthread.h>

struct peers {
    int32_t n;
    const flat *flat;
    exec **engines;          /* [n] NULL: has not joined */
    peers_union *unions;     /* [n] */
    const backend_async *async;
    backend_group *group;    /* their way; NULL: copies */
    char way[200];           /* the same for people */
    bool connected;          /* under the lock; false: not yet, or something went wrong on the way... */
    error why;               /* ...this */
    pthread_mutex_t lock;    /* of what unions say below, too */
    pthread_cond_t changed;  /* any of it */
};

/* Until n_inside is 0 what is set in the beginning stays. */
struct peers_union {
    peers *peers;
    int32_t n;               /* members... */
    int32_t *member;         /* ...by rank: which engine */
    tree_node *node;         /* what each brings */
    uint32_t n_slots;
    tree_node sum;
    int32_t n_inside;        /* under the lock, as all below; 0: the union may be had */
    bool closed;
    int32_t *made_by;        /* [n_live_parts] so many members have made it; no more once closed */
    int32_t *log, n_log;     /* [n_live_parts] parts that all have made, in the order of that */
    int32_t *landed;         /* by rank: so many of the log's are on the host */
    uint64_t changes;
};

/* At one moment. */
typedef struct union_state {
    int32_t n_log, n_whole;  /* parts of the log; those that have landed of all members */
    bool closed;
    uint64_t changes;
} union_state;

union_state union_look(peers_union *u);
void union_close(peers_union *u);
/* Something went wrong on the way to others: nobody waits for it, and there are no more unions. All
 * who hear of it in what they do say what the first one said. */
void union_break(peers_union *u, error *err);
/* This member's gradient of the part is whole and sound, and stays until the union is over. */
void union_made(peers_union *u, int32_t part);
void union_landed(peers_union *u, int32_t rank);
/* Returns once anything has changed since `changes`; E_LOST "cancelled". */
MUST_USE status union_wait(peers_union *u, uint64_t changes, const exec_hooks *hooks, error *err);

/* A run's share in a union. */
typedef struct trade {
    peers_union *with;            /* NULL: none */
    int32_t rank;
    int32_t begun, landed, given; /* of the log */
} trade;

trade trade_of(const exec *e, const exec_slot *s);
void trade_made(trade *t, int32_t part);
/* Does what can be done without waiting. */
MUST_USE status trade_go_on(const exec *e, trade *t, const exec_hooks *hooks, error *err);
/* Waits for the others, does the rest and leaves. */
MUST_USE status trade_finish(const exec *e, trade *t, const variant *v, const exec_hooks *hooks,
                             error *err);
/* Leaves after a failure, once what others count on is done. */
MUST_USE status trade_give_up(const exec *e, trade *t, error *err);
void trade_destroy(exec *e);

#endif
