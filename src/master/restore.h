/*
 * What is loaded when an era does not go on with what the servers hold.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_RESTORE_H
#define TEQUIO_MASTER_RESTORE_H

#include "common/store/checkpoint.h"
#include "common/parts/loss_scale.h"

typedef struct master master;

typedef struct restoring {
    char dir[64];                   /* what is loaded; "": drawn from the seed */
    loss_scale scale;               /* of the version it is of, as far as the servers load it */
    checkpoint *checkpoint;         /* during SETUP: for servers that do not see the job dir */
    bool is_verified;               /* all of it has been read */
} restoring;

/* What all servers will load: the newest checkpoint that is whole; -1: there is none yet. */
MUST_USE status master_choose_restore(master *m, int64_t *ret_saved, error *err);
/* It is damaged: it is set aside with a loud word. */
MUST_USE status master_condemn(const master *m, int64_t step, const char *why, error *err);
/* Reads all of what is to be loaded. *ret_gone: it was damaged, and is set aside. */
MUST_USE status master_verify_restore(master *m, bool *ret_gone, error *err);
/* The oldest of those that are kept as the newest ones, and that the accounts reach back to; *ret stays if
 * that is older. */
MUST_USE status master_oldest_checkpoint(const master *m, int64_t *ret, error *err);

#endif
