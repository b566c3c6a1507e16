/*
 * A thread that shows that the evaluator lives (common/store/eval_heartbeat.h), however long a checkpoint takes
 * it, and how far it is while it reads its data; and has its events written (common/live/recorder_output.h) when the
 * master has written its own. Shares nothing but the paths, what is read and the wish that it ends.
 */
#ifndef TEQUIO_EVALUATOR_HEARTBEAT_H
#define TEQUIO_EVALUATOR_HEARTBEAT_H

#include "common/base/read_progress.h"

typedef struct heartbeat heartbeat;

MUST_USE status heartbeat_begin(const char *job_dir, heartbeat **ret, error *err);
/* From now on it reads, by `p`; NULL: no more, and what was given before is not looked at again. */
void heartbeat_reads(heartbeat *a, read_progress *p);
void heartbeat_end(heartbeat **a);

#endif
