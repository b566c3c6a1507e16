/*
 * Inside of peers.h: who has got how far in which group (peers.c), and what is done about it on a
 * device (exchange.c).
 * Threads: what is under the lock from any, through the functions; the rest as peers.h says.
 */
#ifndef TEQUIO_EXEC_EXCHANGE_H
#define TEQUIO_EXEC_EXCHANGE_H

#include "exec/exec.h"
#include "exec/variant.h"

#include <pthread.h>

struct peers {
    int32_t n;
    const flat *flat;
    exec **engines;          /* [n] NULL: has not joined */
    reduce_group *groups;    /* [n] */
    const backend_group_ops *ops;
    backend_group *group;    /* their way; NULL: copies */
    char way[200];           /* the same for people */
    bool connected;          /* under the lock; false: not yet, or something went wrong on the way... */
    error why;               /* ...this */
    pthread_mutex_t lock;    /* of what groups say below, too */
    pthread_cond_t changed;  /* any of it */
};

/* Until n_inside is 0 what is set in the beginning stays. */
struct reduce_group {
    peers *peers;
    int32_t n;               /* members... */
    int32_t *member;         /* ...by rank: which engine */
    tree_node *node;         /* what each contributes */
    uint32_t n_slots;
    tree_node sum;
    int32_t n_inside;        /* under the lock, as all below; 0: the group may be had */
    bool closed;
    int32_t *made_by;        /* [n_live_parts] so many members have made it; no more once closed */
    int32_t *log, n_log;     /* [n_live_parts] parts that all have made, in the order of that */
    int32_t *landed;         /* by rank: so many of the log's are on the host */
    uint64_t changes;
};

/* At one moment. */
typedef struct reduce_group_state {
    int32_t n_log, n_whole;  /* parts of the log; those that have landed of all members */
    bool closed;
    uint64_t changes;
} reduce_group_state;

reduce_group_state reduce_group_look(reduce_group *u);
void reduce_group_close(reduce_group *u);
/* Something went wrong on the way to others: nobody waits for it, and there are no more groups. All
 * who hear of it in what they do say what the first one said. */
void reduce_group_break(reduce_group *u, error *err);
/* This member's gradient of the part is whole and sound, and stays until the group is over. */
void reduce_group_made(reduce_group *u, int32_t part);
void reduce_group_landed(reduce_group *u, int32_t rank);
/* Returns once anything has changed since `changes`; E_LOST "cancelled". */
MUST_USE status reduce_group_wait(reduce_group *u, uint64_t changes, const exec_hooks *hooks, error *err);

/* What an exec has for it, once it has joined its peers. */
typedef struct exchange_buffers {
    int32_t member;         /* of its peers */
    void *received;         /* on the device: others' pieces of a part */
    float **addends;        /* [its peers] where the pieces of a sum are */
    backend_exchange *exchanges; /* [its peers] */
    backend_event **pieces; /* [n_live_parts] PEER, in the order of a group's log */
} exchange_buffers;

/* A run's share in a group. */
typedef struct exchange {
    reduce_group *with;           /* NULL: none */
    int32_t rank;
    int32_t begun, landed, given; /* of the log */
} exchange;

exchange exchange_of(const exec *e, const exec_slot *s);
void exchange_made(exchange *t, int32_t part);
/* Does what can be done without waiting. */
MUST_USE status exchange_progress(const exec *e, exchange *t, const exec_hooks *hooks, error *err);
/* Waits for the others, does the rest and leaves. */
MUST_USE status exchange_finish(const exec *e, exchange *t, const variant *v, const exec_hooks *hooks,
                                error *err);
/* Leaves after a failure, once what others count on is done. */
MUST_USE status exchange_abandon(const exec *e, exchange *t, error *err);
void exchange_destroy(exec *e);

#endif
