/*
 * From reports to steps, epochs and commits of checkpoints.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_REPORTS_H
#define TEQUIO_MASTER_REPORTS_H

#include "common/wire/wire.h"
#include "master/cuts/saver.h"

typedef struct master master;

typedef struct reporting {
    int64_t epoch_saved, epoch_recorded; /* newest epoch's end whose cut is over; in the results */
    int64_t open_step, open_us;     /* the oldest step whose reports are not all here; since then */
} reporting;

/* A report enters the accounts. */
MUST_USE status master_record(master *m, const wire_head *h, const Wire__Report *r, error *err);
/* Every part of the servers has this version at least. */
int64_t master_applied(const master *m);
/* Tells workers how far the accounts are complete: they forget what they kept of it. */
void master_say_reported(master *m);
/* Of the accounts, which were complete up to `before`, more are. */
MUST_USE status master_steps_done(master *m, int64_t before, error *err);
/* A shard is in its place: what is written is committed, as far as the accounts are complete. */
MUST_USE status master_take_written(master *m, const shard_report *r, error *err);
/* How it went with a cut: what the disk did to one is not what ends a job. */
MUST_USE status master_cut_over(master *m, uint32_t id, status st, const error *why, error *err);
/* There will be no checkpoint of that cut. */
MUST_USE status master_cut_lost(master *m, uint32_t id, const char *why, error *err);

/* Commits what is written, as far as the accounts are complete. */
MUST_USE status master_commit(master *m, error *err);
/* To be called when there may be more to commit. A disk that takes nothing is asked now and then only, and not
 * here. */
MUST_USE status master_commit_if_well(master *m, error *err);

#endif
