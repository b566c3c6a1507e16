/*
 * Whether the roles of this process turn, and are ready: each says so as its loop goes round. What may take long by
 * itself, as building a model does, is announced, and not held against it.
 *
 * Threads: any; of a role, its own.
 */
#ifndef TEQUIO_COMMON_LIVE_PULSE_H
#define TEQUIO_COMMON_LIVE_PULSE_H

#include "common/cluster/cluster.h"

void pulse_turn(role r, int64_t now_us);
void pulse_rest(role r);                /* until its next turn */
void pulse_set_ready(role r, bool is_ready);

bool pulse_is_ready(role r);
/* Seconds since its last turn; 0: it has not begun, or rests. */
double pulse_silence(role r, int64_t now_us);

#endif
