/*
 * Members: the workers that said hello, each life of a task once.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_MEMBERS_H
#define TEQUIO_MASTER_LANES_MEMBERS_H

#include "common/net/net.h"
#include "common/wire/wire.h"
#include "master/lanes/hedge.h"

enum { MEMBERS_MAX = 4096, MEMBERS_LANES_MAX = 65536 };

typedef struct member {
    bool alive;                     /* says hello and heartbeats; dead ones keep their place */
    bool suspect;                   /* its connection is gone, and it was not heard since */
    int64_t suspect_us;             /* since when */
    bool hangs;                     /* said so, and not heard since */
    bool refused;                   /* its files or declaration are not the job's: nothing it says counts */
    bool whole;                     /* was there when the era began, or holds a version since */
    bool declared;                  /* what this life of it declared is the job's */
    bool sees_dir;                  /* the job dir: there it reads how the job ended */
    bool told;                      /* how it ended */
    bool trainer;
    uint32_t index;
    uint64_t life;
    uint32_t incarnation;
    uint32_t lanes;
    net_peer peer;
    int connection;
    int64_t heard_us;
    uint64_t rival;                 /* another life that says it is this task; 0: none */
    int64_t rival_us;               /* since when */
    int64_t computing;              /* as it said last: the step it computes slots of; -1: none */
    int64_t held;                   /* and the version it holds; below 0: none */
    uint32_t computing_era;         /* when it said so */
    uint64_t pid;
    char host[64];
    char *files;                    /* what it reads (common/store/facts.h); NULL: it does not say */
} member;

/* A worker that spoke and is no member: it failed before, or came to be told that all is over. */
typedef struct guest {
    bool trainer;
    uint32_t index;
    int connection;                 /* -1: it has left, or is about to */
} guest;

typedef struct members {
    member *at;
    size_t n, cap;
    guest *guests;
    size_t n_guests, cap_guests;
    uint32_t incarnations;          /* issued so far */
    char fingerprint[512];          /* the first worker's; all must have it */
} members;

void members_fini(members *m);

/* Whether the task that says hello is at work already, in another life of it on another connection.
 * That one may be about to be lost, so the new one has to ask again; once both were heard for
 * timeout_us they are two tasks of one name, and the new one is refused (E_CONFIG). */
MUST_USE status members_check_rival(members *m, const Wire__Hello *hello, const net_message *message,
                                    int64_t now_us, int64_t timeout_us, bool *ret_waits,
                                    error *err);

/* A hello: a new member, a new life of one, or the same one on a new connection. E_CONFIG when its
 * fingerprint differs from the others', E_PROTOCOL when there are too many.
 * *ret_changed: the view must be dealt anew. */
MUST_USE status members_hello(members *m, const Wire__Hello *hello, const net_message *message,
                              int64_t now_us, member **ret, bool *ret_changed, error *err);

member *members_by_peer(members *m, const net_peer *peer);      /* NULL if unknown */
/* Whether a worker that says it reads is a member already: it said so on an earlier connection. */
bool members_has_read(members *m, const Wire__Hello *hello);
member *members_by_connection(members *m, int connection);
uint32_t members_alive(const members *m);
uint32_t members_of_others(const members *m);   /* of the living, but for the master's own */

/* A worker spoke; one that is no member is kept in mind, once, whatever it is connected by. */
void members_met(members *m, bool trainer, uint32_t index, int connection);
void members_lost(members *m, int connection);  /* of a guest: it has left */
size_t members_came(const members *m);          /* members and guests, living or not */
/* A member is here again, in whatever life, to be told how the job ended; false: it never was one. */
bool members_return(members *m, bool trainer, uint32_t index, const net_message *by);
bool members_have_guests(const members *m);     /* who have not left */
bool members_all_declared(const members *m);    /* of the living */
uint32_t members_lanes(const members *m);

/* An era begins: whoever is there may get slots at once. */
void members_all_whole(members *m);
/* The lanes that may get slots, trainer first, then by index: of the living that are whole or, when
 * nobody is, of all the living. Free the array. */
hedge_lane *members_lane_list(const members *m, size_t *ret_n);

task member_task(const member *m);
/* The name people know it by. */
const char *member_name(const member *m, char buffer[TASK_NAME]);

#endif
