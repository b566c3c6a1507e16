/*
 * The evaluator's sign of life: eval/alive in the job dir, which it touches about once a second. It talks
 * to nobody, so this is how a master tells one that hangs from one that takes long. While it reads its data the
 * file says what, and how far it is: a line with a count that grows, and that in words. Any thread.
 */
#ifndef TEQUIO_COMMON_STORE_EVAL_HEARTBEAT_H
#define TEQUIO_COMMON_STORE_EVAL_HEARTBEAT_H

#include "common/base/read_progress.h"

#include <stdbool.h>
#include <stdint.h>

/* Once the job in that dir has checkpoints; before that nothing is made there. What cannot be touched is
 * not: a disk that takes nothing is heard of elsewhere. `reads`: NULL while it reads no data. */
void eval_heartbeat_touch(const char *job_dir, const read_state *reads);

/* False: it reads no data. */
bool eval_heartbeat_reads(const char *job_dir, read_state *ret);

/* Another number after each touch; 0: it never was. */
uint64_t eval_heartbeat_trace(const char *job_dir);

#endif
