/*
 * What the master tells of its job while it runs, for whoever looks at the job dir: the file live.json, replaced
 * every few seconds. Nothing is concluded from it, so it is not synced, and one that cannot be written is passed over;
 * it stays as it was told last when the job ends or its master dies (jobstate.h says which).
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_COMMON_STORE_LIVE_FILE_H
#define TEQUIO_COMMON_STORE_LIVE_FILE_H

#include "common/store/jobdir.h"

#define LIVE_FILE "live.json"

/* Only while the job is ours. */
void live_file_write(const jobdir *d, const json_t *told);

/* What an earlier start told is no more, as another one begins. */
void live_file_forget(const jobdir *d);

/* *ret: the caller's; NULL where nobody told anything, also after a loss of power. E_DATA: it is no JSON object. */
MUST_USE status live_file_read(const jobdir *d, json_t **ret, error *err);

#endif
