/*
 * Reading a job from a job file: a Job of AI Platform's, or a CustomJob of Vertex AI's (vertex.h), which
 * is brought into the form of the other first.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_JOB_SPEC_JOB_FILE_H
#define TEQUIO_JOB_SPEC_JOB_FILE_H

#include "job/spec/job.h"

/* In two steps, for the caller changes the job in between: `top` as a Job of AI Platform's, whose keys
 * have their names in camel case, and what that asks for. `j` is empty before the first. E_CONFIG with the
 * place. */
MUST_USE status job_file_form(doc_node *top, arena *memory, job *j, doc_node **ret, error *err);
MUST_USE status job_file_read_form(doc_node *form, job *j, error *err);

#endif
