/*
 * For how long the server waits, for whom, and when it says so.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_WAITS_H
#define TEQUIO_PS_WAITS_H

#include "common/base/wait_list.h"
#include "common/base/wait_warning.h"
#include "common/live/recorder_output.h"

typedef struct ps ps;

typedef struct server_waits {
    int64_t began_us, pushed_us;    /* when the loop began; when pushes were last seen to come */
    uint64_t pushes, seen_pushes;   /* that came; as of the last look */
    wait_warning master, setup, pull, push;
    recorder_request asked;         /* for events, by the master */
} server_waits;

/* Says which waits are longer than wait_warning. */
void ps_warn_of_waits(ps *s, int64_t now_us);
/* What it waits for now; nothing of what has just begun. */
void ps_list_waits(const ps *s, int64_t now_us, wait_list *ret);

#endif
