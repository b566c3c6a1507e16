/*
 * What a process counts of itself while it lives (counters.def): one table of the process, as at most one task of a
 * role is in it. To count costs an addition; nothing is concluded from it.
 *
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_LIVE_COUNTERS_H
#define TEQUIO_COMMON_LIVE_COUNTERS_H

#include "common/cluster/cluster.h"

#include <stdatomic.h>

typedef enum counter {
#define COUNTER(id, of, type, unit, name, help) COUNTER_##id,
#include "common/live/counters.def"
#undef COUNTER
    COUNTER_COUNT
} counter;

enum { COUNTER_OF_ANY = ROLE_COUNT };

typedef struct counter_row {
    int of;                     /* a role, or COUNTER_OF_ANY */
    double unit;                /* what 1 is in those of the name */
    const char *type, *name, *help;
} counter_row;

extern const counter_row counter_rows[COUNTER_COUNT];
extern _Atomic int64_t counter_values[COUNTER_COUNT];

/* Asks the kernel for memory and processor time; for whoever tells of all figures. */
void counters_take_process(void);

static inline void counter_add(counter c, int64_t n)
{
    atomic_fetch_add_explicit(&counter_values[c], n, memory_order_relaxed);
}

static inline void counter_set(counter c, int64_t value)
{
    atomic_store_explicit(&counter_values[c], value, memory_order_relaxed);
}

static inline int64_t counter_get(counter c)
{
    return atomic_load_explicit(&counter_values[c], memory_order_relaxed);
}

#endif
