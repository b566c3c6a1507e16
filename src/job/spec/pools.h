/* The machines of a job: reading its four roles, and the rules about types, GPUs, regions and
 * zones. Pure functions. */
#ifndef TEQUIO_JOB_SPEC_POOLS_H
#define TEQUIO_JOB_SPEC_POOLS_H

#include "job/spec/job.h"

/* From TrainingInput, whose schema was checked, into j->tier and j->pools. `input` may be NULL. */
MUST_USE status pools_read(job *j, const doc_node *input, arena *memory, error *err);

/* Where the GPUs are to be had; j->region was read. */
MUST_USE status pools_check_region(job *j, const doc_node *input, arena *memory, error *err);

#endif
