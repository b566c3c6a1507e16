/*
 * Which files the job reads: what it began with, and what workers read.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_FILES_H
#define TEQUIO_MASTER_FILES_H

#include "common/base/buf.h"
#include "common/wire/wire.h"
#include "master/lanes/members.h"

typedef struct master master;

typedef struct data_files {
    bool checks;                    /* the option data_check is not off */
    bool settled;                   /* it is known which are the job's, or need not be */
    bool recorded;                  /* job.json said so */
    buf facts;                      /* what they are (common/store/facts.h), as far as anybody tells */
} data_files;

/* What the job began with, and what our own process reads. E_DATA if that differs. */
MUST_USE status master_open_files(master *m, error *err);
/* E_DATA: the worker that says hello reads other files than the job. */
MUST_USE status master_check_files(const master *m, const Wire__Hello *hello, error *err);
/* Once all are there: whose files count. */
MUST_USE status master_settle_files(master *m, error *err);
/* E_DATA: a member reads others than those. */
MUST_USE status master_check_member(const master *m, const member *one, error *err);

#endif
