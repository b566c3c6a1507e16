/*
 * Vertex AI's CustomJob, or its CustomJobSpec alone, in the form of AI Platform's Job.
 *
 * Worker pool 0 is the master, alone; 1 are the workers, 2 the parameter servers, 3 the evaluators.
 * A pool that is empty has none of them.
 *
 * Threads: pure functions.
 * Source: Vertex AI's REST reference, v1 (CustomJob, CustomJobSpec), and its page on distributed
 * training.
 */
#ifndef TEQUIO_JOB_SPEC_VERTEX_H
#define TEQUIO_JOB_SPEC_VERTEX_H

#include "job/spec/job.h"

bool vertex_is_job(const doc_node *top);

/* *ret is a Job whose values are those of `top`, at their places there. What has no place in it goes
 * to `j`: warnings, the environment, whether anything is started again. E_CONFIG. */
MUST_USE status vertex_read(doc_node *top, arena *memory, job *j, doc_node **ret, error *err);

#endif
