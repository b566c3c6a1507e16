/*
 * How the workers and servers stand, as their STATUS said last, and their figures over all their lives: a counter of a
 * process that was started again goes on where that of the life before was. Kept in memory, for this start of the
 * master.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_STATUSES_H
#define TEQUIO_MASTER_STATUSES_H

#include "common/cluster/cluster.h"
#include "common/live/counters.h"
#include "common/wire/wire.h"

/* What one task may have us keep. */
enum { STATUS_BYTES_MOST = 64 << 10, STATUS_WAITS_MOST = 64, STATUS_FIGURES_MOST = 256, STATUS_LINKS_MOST = 4096 };

typedef struct task_status {
    task of;
    uint64_t life;
    int64_t told_us;
    Wire__Status *said;                 /* the last one */
    bool has[COUNTER_COUNT];            /* it tells this figure */
    int64_t last[COUNTER_COUNT];        /* as it told it last, in this life */
    int64_t before[COUNTER_COUNT];      /* counters: what the lives before came to */
} task_status;

typedef struct statuses {
    task_status *at;
    size_t n, cap;
} statuses;

void statuses_fini(statuses *s);

/* `*said` moves in, and is NULL then, unless it is one that no task of ours says (E_PROTOCOL). */
MUST_USE status statuses_take(statuses *s, task of, uint64_t life, int64_t now_us, Wire__Status **said, error *err);
const task_status *statuses_of(const statuses *s, task of);     /* NULL: it said none */

/* In the unit of the counter's name, over all lives; of a gauge as it was told last. */
double task_status_figure(const task_status *t, counter c);

#endif
