/*
 * A thread that shows that the evaluator lives (common/store/eval_heartbeat.h), however long a checkpoint takes
 * it. Shares nothing but the path and the wish that it ends.
 */
#ifndef TEQUIO_EVALUATOR_HEARTBEAT_H
#define TEQUIO_EVALUATOR_HEARTBEAT_H

#include "common/base/error.h"

typedef struct heartbeat heartbeat;

MUST_USE status heartbeat_begin(const char *job_dir, heartbeat **ret, error *err);
void heartbeat_end(heartbeat **a);

#endif
