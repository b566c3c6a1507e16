/*
 * What was sent of a job to a tracker: JOB_DIR/track/<tracker>-<8 digits of whom it is sent to>/sent.json. One sends
 * at a time: the folder is locked as long as a ledger is open. Nothing is lost with the file: what was sent is sent
 * again, and known again by its time.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_WATCH_TRACK_LEDGER_H
#define TEQUIO_WATCH_TRACK_LEDGER_H

#include "watch/track/growth.h"

#include <stdbool.h>

typedef struct ledger {
    json_t *sent;       /* an object, the tracker's to fill in */
    char *path;
    int lock_fd;
} ledger;

/* `to`: whom it is sent to. What was sent of another job counts as nothing. E_BUSY: somebody else sends. */
MUST_USE status ledger_open(const char *job_dir, const char *tracker, const char *to, const char *job_id, ledger *ret,
                            error *err);
MUST_USE status ledger_save(const ledger *o, error *err);
void ledger_close(ledger *o);

const char *ledger_text(const ledger *o, const char *key); /* "": none */
void ledger_set_text(ledger *o, const char *key, const char *value);
/* Where a file of lines was left; and the steps of its lines that were sent: all up to one, where lines are in the
 * order of their steps (`has_order`), else each. */
growth_place ledger_place(const ledger *o, const char *file);
void ledger_set_place(ledger *o, const char *file, growth_place place);
bool ledger_has_step(const ledger *o, const char *file, bool has_order, int64_t step);
void ledger_add_step(ledger *o, const char *file, bool has_order, int64_t step);
int64_t ledger_last_step(const ledger *o, const char *file);    /* the highest; -1: none */

#endif
