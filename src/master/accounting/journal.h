/*
 * The journal: what a new master has to know and can learn neither from servers nor from
 * checkpoints: the reports since the newest checkpoint.
 *
 * JOB_DIR/journal is a head (magic, version, a CRC-32C, job id) and records, each with its length, its kind
 * and a CRC-32C of both and of what it says, numbers little-endian:
 *
 *     BASE     the sums so far
 *     REPORT   one slot: step, slot, examples, metrics, and what it counted of the metrics of training
 *     CLOSED   the step entered the accounts although reports were missing
 *
 * A record is written, with one write, before anything follows from it, so it outlives the master
 * whatever kills that. Where the disk takes none, records wait in memory, in their order, until a
 * flush works; whoever reported what waits must keep it as well (journal_oldest_waiting). journal_sync
 * makes it outlive the machine: before a checkpoint is committed, and about once a second. Half a
 * record at the end, or a damaged one, ends the journal. A BASE comes now and then; what lies
 * before the newest one that a checkpoint needs is dropped once that is committed (journal_trim).
 * Opening and trimming make a new file, sync and rename it: a frozen master that thaws writes into
 * the old one. An older version is read and rewritten, a newer one refused and left as it is.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_ACCOUNTING_JOURNAL_H
#define TEQUIO_MASTER_ACCOUNTING_JOURNAL_H

#include "common/base/error.h"
#include "master/accounting/metric_sums.h"

#include <stddef.h>

typedef struct journal journal;

typedef struct journal_place {
    const char *path; /* of the file; not kept */
    uint64_t job_id;
    int64_t saved; /* the newest checkpoint */
    int64_t behind; /* older ones, so many steps before it, may be gone back to later */
    int64_t until; /* >= saved: reports of steps before it count */
} journal_place;

/* Opens the journal, and takes it back: it begins with the newest BASE at or below `saved` - `behind` or,
 * where it does not reach back as far, the first one at or below `saved`, and tells of no step from
 * `until` on. Where there is none, or another job's, or damage has taken that
 * BASE, it begins anew with `otherwise`, and *ret_found is false. E_IO; E_CONFIG: a newer version. */
MUST_USE status journal_open(const journal_place *place, const completed_steps *otherwise, journal **ret,
                             bool *ret_found, error *err);
void journal_close(journal **j);

void journal_report(journal *j, const slot_report *r);
void journal_closed(journal *j, int64_t step);
void journal_base(journal *j, const completed_steps *base);
size_t journal_since_base(const journal *j); /* records written since the last one */

/* Bytes that are not in the file yet; the lowest step that a report among them is of, INT64_MAX: none. */
size_t journal_waiting(const journal *j);
int64_t journal_oldest_waiting(const journal *j);
/* Writes what waits. E_DISK, E_IO: it waits on. */
MUST_USE status journal_flush(journal *j, error *err);
MUST_USE status journal_sync(journal *j, error *err);
/* Nobody goes back to a checkpoint before `step` any more: what only these needed goes. */
MUST_USE status journal_trim(journal *j, int64_t step, error *err);

/* Reading, from the first record to the last whole one. */
typedef enum journal_kind { JOURNAL_BASE = 1, JOURNAL_REPORT, JOURNAL_CLOSED } journal_kind;
typedef struct journal_record {
    journal_kind kind;
    slot_report report; /* JOURNAL_CLOSED: its step alone */
    span counts;        /* the report's, for the visit; like those of the base */
    completed_steps base;
    size_t begin, end; /* where it lies in the file */
} journal_record;
typedef void journal_visit(void *user, const journal_record *r);
/* *ret_end: where the last whole record ends; 0: the file is absent or no journal of that job. E_CONFIG: of
 * a newer version. */
MUST_USE status journal_read(const char *path, uint64_t job_id, journal_visit *visit, void *user,
                             size_t *ret_end, error *err);

#endif
