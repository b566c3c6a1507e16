/*
 * The history of a job: how its end was moved since its first start. job.json keeps it as a list,
 * the oldest entry first:
 *
 *   time           UTC: "2026-11-22T23:55:00Z"
 *   step           the newest checkpoint at that time; 0 if there was none
 *   was, is        the keys that say when training ends (config_end), before and since
 *   end            [before, since], the step after the last one
 *   learning_rate  {"schedule": "cosine", "changed": true, "at_step": [before, since], "at_end":
 *                  [before, since]}: of the step that comes next, and of the last one
 *
 * The last two are known to the master that goes on from there: it adds them.
 *
 * Threads: as jobdir.h says of what writes job.json.
 */
#ifndef TEQUIO_COMMON_STORE_HISTORY_H
#define TEQUIO_COMMON_STORE_HISTORY_H

#include "common/store/jobdir.h"

/* The entries, borrowed; NULL where there are none. */
const json_t *history_of(const jobdir *d);

/* The first entry that no master has completed; NULL: there is none. Borrowed. */
json_t *history_open_entry(const jobdir *d);

/* Completes it. `rates` is taken. */
MUST_USE status history_complete(jobdir *d, json_t *entry, const int64_t end[2], json_t *rates,
                                 error *err);

/* For people: an entry without its time, as a line without its end; and a list of them, as in
 * job.json, as lines below a title. NULL prints nothing. */
void history_print(const json_t *entry, buf *ret);
void history_print_list(const json_t *list, const char *title, buf *ret);

#endif
