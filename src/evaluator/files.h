/*
 * What an evaluator reads, held to what the job was evaluated on until now and to the job's own model
 * files (common/store/facts.h): the curve of a job is of one set of data. eval/files.json keeps it.
 * Threads: belongs to the evaluator's.
 */
#ifndef TEQUIO_EVALUATOR_FILES_H
#define TEQUIO_EVALUATOR_FILES_H

#include "common/store/jobdir.h"
#include "data/data.h"

/* Appends the facts of the data and of the model's files, and logs them. */
MUST_USE status files_tell(const config *c, const dataset *data, buf *ret, error *err);

/* E_DATA if they differ; writes what was not known yet. Where they are not to be checked, what was known
 * is forgotten. To be asked once there is a checkpoint: before, the dir may hold a job that is about to
 * be replaced. */
MUST_USE status files_check(const config *c, const jobdir *d, const char *facts, error *err);

#endif
