/*
 * The master's scheduler: what gives the lanes their work, by the job's schedule. In order the slots of
 * each step are dealt to the lanes, which a view says (slot_scheduler.c); otherwise batches are leased to
 * them one by one (lease_scheduler.c).
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SCHEDULER_H
#define TEQUIO_MASTER_SCHEDULER_H

#include "common/base/wait_list.h"
#include "common/wire/wire.h"
#include "master/lanes/hedge.h"
#include "master/lanes/members.h"

struct master;

typedef struct scheduler {
    /* An era is set up: the servers are about to say what they have applied. May be NULL, like all here
     * but find_start and report. */
    void (*expect)(struct master *m);
    /* Server `s` has said it. */
    MUST_USE status (*ready)(struct master *m, int32_t s, const Wire__Ready *r, error *err);
    /* All have: m->era.start becomes the version the era begins with, which is that of the newest checkpoint or
     * a later one. *ret_why: what the servers hold is of no use, and all go back; else it stays. */
    MUST_USE status (*find_start)(struct master *m, const char **ret_why, error *err);
    /* The era runs. */
    void (*begin)(struct master *m);

    void (*hello)(struct master *m, member *one, bool is_new);      /* a worker is let in, or says it again */
    void (*suspect)(struct master *m);                              /* the connection of one is gone */
    void (*lanes)(struct master *m, const hedge_lane *lanes, size_t n);     /* which live now */

    /* Every turn, once it is known who lives: what is due is said. */
    void (*assign)(struct master *m);
    /* Every turn of the phase RUN, last: what is measured of the lanes may change who computes what. */
    void (*watch)(struct master *m, int64_t now_us);

    /* What a slot measured. `from`: NULL when its life is over. */
    MUST_USE status (*report)(struct master *m, const member *from, const wire_head *h,
                              const Wire__Report *r, error *err);
    /* A worker's slots of a step are on the servers. */
    void (*delivered)(struct master *m, const member *from, const wire_head *h, const Wire__Delivered *d);
    /* Once a second: what nobody will report any more is not waited for. */
    MUST_USE status (*settle)(struct master *m, error *err);
    /* For whom the lanes' work waits. */
    void (*list_waits)(const struct master *m, double waited, wait_list *ret);
} scheduler;

extern const scheduler slot_scheduler, lease_scheduler;

const scheduler *scheduler_of(const schedule *s);

#endif
