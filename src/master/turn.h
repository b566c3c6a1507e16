/*
 * A new era, because servers came or went.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_TURN_H
#define TEQUIO_MASTER_TURN_H

#include "common/wire/wire.h"

typedef struct master master;

/* Something happened to server `s`, or to all (-1): a new era. */
MUST_USE status master_turn(master *m, int32_t s, const char *why, error *err);
/* The same, and all go back, as two losses at once may have it. */
MUST_USE status master_give_up(master *m, const char *why, error *err);
/* After each heartbeat: a lost server that has a standby is not waited for, one that is abreast again
 * acts again. */
MUST_USE status master_watch_servers(master *m, int64_t now_us, error *err);
/* A standby is abreast, or (head.step) does not answer whom it stands by for. */
MUST_USE status master_take_backed(master *m, int32_t s, const wire_head *h, error *err);

#endif
