/*
 * The throttle of the checkpoint writer: what keeps the writing of checkpoints from being felt.
 *
 * Hashing and writing take memory bandwidth from all who train on the same machine. While versions
 * follow one another the writer therefore pauses seven times as long as it worked, after every
 * piece: a checkpoint takes eight times as long, and a step next to none longer. Once no part has
 * moved for two steps training has ended, or waits for just this checkpoint: then there is no pause.
 *
 * Threads: throttle_moved and throttle_forget belong to the server's thread; any may ask throttle_pause_us.
 */
#ifndef TEQUIO_PS_THROTTLE_H
#define TEQUIO_PS_THROTTLE_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct throttle {
    int64_t version, begun_us; /* the newest version, and when its first part reached it */
    _Atomic int64_t step_us;   /* from one version to the next; 0: not known yet */
    _Atomic int64_t moved_us;  /* when a part last moved */
} throttle;

/* Some part has reached `version`. */
void throttle_moved(throttle *r, int64_t version, int64_t now_us);

/* Versions may go back: what was measured counts no more. */
void throttle_forget(throttle *r);

/* How long a thread that has worked for so long should pause, in microseconds; 0: not at all. */
int64_t throttle_pause_us(const throttle *r, int64_t worked_us, int64_t now_us);

#endif
