/*
 * What `tequio explain` goes by: where the time of a job's lanes went, what its tasks tell of themselves, and its
 * configuration.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_EXPLAIN_FACTS_H
#define TEQUIO_CLI_LOOK_EXPLAIN_FACTS_H

#include "common/live/time_shares.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct explain_facts {
    const json_t *live, *config;    /* of the job dir; borrowed */
    int64_t batches_per_step;       /* 0: not known */
    time_shares shares;             /* of all lanes... */
    int tenths[SHARE_COUNT];        /* ...in tenths of a percent */
    time_sums sums;                 /* of all workers */
    bool is_in_steps;               /* mode sync */
    int64_t workers, lanes, servers;
    double slots;
    double wall_s;                  /* since the first step */
} explain_facts;

explain_facts explain_facts_of(const json_t *job, const json_t *live, const json_t *config);

/* By dotted path; `if_absent` too where it is null, or no number. */
double explain_option(const explain_facts *f, const char *path, double if_absent);
bool explain_has_option(const explain_facts *f, const char *path);   /* not null, nor false */

const json_t *explain_worker(const explain_facts *f, size_t i);      /* NULL: there are no more */
const json_t *explain_server(const explain_facts *f, size_t i);
/* As it counts in the shares of the job; and by what it says itself alone. */
time_shares explain_worker_shares(const explain_facts *f, const json_t *worker);
time_shares explain_worker_own(const explain_facts *f, const json_t *worker);
/* Seconds that a lane of the worker computes a slot; 0: it has computed none. */
double explain_slot_s(const json_t *worker);
double explain_busy_s(const json_t *worker);        /* the same with the examples that it waits for */
/* Who is waited for: the worker that waits least for others, where it is clearly slower than these, and how many times
 * as long it takes for a slot, its examples among that. NULL: nobody is. */
const json_t *explain_late_worker(const explain_facts *f, double *ret_slower);
/* Of the time since the first step, the most that one server had something to do; *ret_task: which. */
double explain_busiest_server(const explain_facts *f, const char **ret_task);

#endif
