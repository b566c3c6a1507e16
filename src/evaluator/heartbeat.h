/*
 * A thread that shows that the evaluator lives (common/store/eval_heartbeat.h), however long a checkpoint takes
 * it, and has its events written (common/live/recorder_output.h) when the master has written its own. Shares nothing
 * but the paths and the wish that it ends.
 */
#ifndef TEQUIO_EVALUATOR_HEARTBEAT_H
#define TEQUIO_EVALUATOR_HEARTBEAT_H

#include "common/base/error.h"

typedef struct heartbeat heartbeat;

MUST_USE status heartbeat_begin(const char *job_dir, heartbeat **ret, error *err);
void heartbeat_end(heartbeat **a);

#endif
