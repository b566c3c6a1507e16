/*
 * A thread that shows that the evaluator lives (common/store/evalsign.h), however long a checkpoint takes
 * it. Shares nothing but the path and the wish that it ends.
 */
#ifndef TEQUIO_EVALUATOR_ALIVE_H
#define TEQUIO_EVALUATOR_ALIVE_H

#include "common/base/error.h"

typedef struct alive alive;

MUST_USE status alive_begin(const char *job_dir, alive **ret, error *err);
void alive_end(alive **a);

#endif
