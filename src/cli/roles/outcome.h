/*
 * What the process of a master leaves in the job dir when the job has ended.
 *
 * Threads: the process's main one, after its roles have ended.
 */
#ifndef TEQUIO_CLI_ROLES_OUTCOME_H
#define TEQUIO_CLI_ROLES_OUTCOME_H

#include "common/config/config.h"
#include "common/store/jobdir.h"

#include <stdatomic.h>

/* Says how the job ended where the master could not, because another role of the process failed or it did
 * not come as far. Does nothing for a process that does not hold the job dir. Warns where it fails. */
void outcome_note(const jobdir *d, status st, const char *text);

/* What a job that is done leaves beside its weights, and is done without:
 *
 *   model.onnx      the network as other programs read it; not where the master does not see the data, or ONNX
 *                   cannot say the network
 *   metrics.json    peak_worker_0_memory_MB, where this process has all lanes; with evaluate_on_test, test_*
 *                   of the best weights
 *   NAME.png        a picture of each confusion matrix in metrics.json
 *   model.tar.gz    the best weights as an archive (cli/run/model_archive.h)
 *
 * `tequio export` and `evaluate` can make up for what cannot be. Warns then; but the result is that of the
 * evaluation, which somebody asked for. E_PREEMPTED: *stop (NULL: never) became true while a disk was waited for, or
 * data were read for it. */
MUST_USE status outcome_leave(const config *c, const jobdir *d, bool is_alone, const atomic_bool *stop, error *err);

/* Of a job that was done before this start: completes what the last master did not come to, if it was killed
 * as it left. Does nothing while another process holds the job dir, or where it cannot be written. */
void outcome_complete(const config *c, jobdir *d, const atomic_bool *stop);

#endif
