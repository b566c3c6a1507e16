/*
 * The journal of a study: trials.jsonl, a line a record. The first one says what is searched and how; a study goes
 * on with the same only. What is appended is on disk when that returns. A last line that was cut off by a kill is
 * cut away when the journal is opened, and with it what it would have said: that was not done yet.
 *
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_TUNE_TRIAL_JOURNAL_H
#define TEQUIO_TUNE_TRIAL_JOURNAL_H

#include "common/store/appender.h"
#include "tune/study.h"

typedef struct trial_journal {
    appender file;
} trial_journal;

#define TRIAL_JOURNAL_INIT {.file = APPENDER_INIT}

/* Opens or makes the file. What is in it is taken into `s`, which is empty. `head` is the first record: E_CONFIG
 * names the first key that is another in the file. `begins`, a list of records that may be NULL, stands behind the head
 * of a new file, which has all of them or is not there. E_DATA with the line that makes no sense, E_DISK, E_IO. */
MUST_USE status trial_journal_open(trial_journal *j, const char *path, const json_t *head, const json_t *begins,
                                   study *s, error *err);
/* Reads the journal of another search into `s`, which is empty. E_CONFIG names the first of the keys of `head` that is
 * another in it. *ret_head, which the caller decrefs, is its first record; NULL: it has none yet. */
MUST_USE status trial_journal_read(const char *path, const json_t *head, study *s, json_t **ret_head, error *err);
/* Whether there is a whole line. */
bool trial_journal_has_begun(const char *path);
void trial_journal_close(trial_journal *j); /* also of TRIAL_JOURNAL_INIT */

/* Appends the record, then takes it into the study. */
MUST_USE status trial_journal_add(trial_journal *j, study *s, const json_t *record, error *err);

#endif
