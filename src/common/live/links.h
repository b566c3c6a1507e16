/*
 * How many bytes go between this process and each task, whatever connections they had. Of so many tasks at most;
 * further ones, and those that have not said who they are, are one: LINK_OTHER.
 *
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_LIVE_LINKS_H
#define TEQUIO_COMMON_LIVE_LINKS_H

#include "common/cluster/cluster.h"

#include <stdbool.h>
#include <stdint.h>

enum { LINKS_MOST = 256, LINK_OTHER = 0 };

/* The transport's number of a connection's other end is that task's from now on. */
void link_meet(uint32_t peer, task who);
void link_note(uint32_t peer, bool is_sent, int64_t bytes);

typedef struct link_state {
    task who;                   /* means nothing of LINK_OTHER */
    int64_t sent, received;     /* bytes */
} link_state;

/* The i-th, LINK_OTHER first; false: there are no more. */
bool link_look(int i, link_state *ret);

#endif
