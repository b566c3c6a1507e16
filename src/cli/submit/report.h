/* What `tequio submit --dry-run` tells of a job: its machines, its tasks and their environment.
 * Threads: the main one. */
#ifndef TEQUIO_CLI_SUBMIT_REPORT_H
#define TEQUIO_CLI_SUBMIT_REPORT_H

#include "cli/submit/request.h"
#include "job/roster.h"

/* On standard output: where the tasks are, or as JSON the name and the TF_CONFIG of each. */
void report_tasks(roster *tasks, bool as_json);

/* On standard output, as text or as JSON. `tasks` tells addresses. */
void report_print(const submit_request *o, roster *tasks, bool as_json);

#endif
