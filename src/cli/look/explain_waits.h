/*
 * Who holds up the others, and by what, told to people and to programs: a wait-for graph (wait_graph.h) in words.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_LOOK_EXPLAIN_WAITS_H
#define TEQUIO_CLI_LOOK_EXPLAIN_WAITS_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>

/* By what tasks have written of what they did last. *ret stays NULL where nobody has written anything; the caller's.
 *
 *     written      when most of them were, in seconds since 1970
 *     held_up_by   [{task, does, since_s, waiters}], whom most wait for first, also by others; nobody where no wait
 *                  is long
 *     waits        [{task, lane, for, whose, since_s}]
 *     tasks        [{task, file, host, pid, why, text, age_s, last, last_s}], file null where it has written nothing;
 *                  age_s: so long before `written`
 *     refused      files that are damaged, and why */
MUST_USE status explain_waits(const char *job_dir, const json_t *live, json_t **ret, error *err);
void explain_waits_text(const json_t *waits, buf *ret);

#endif
