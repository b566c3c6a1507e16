/*
 * Rest: what keeps the writing of checkpoints from being felt.
 *
 * Hashing and writing take memory bandwidth from all who train on the same machine. While versions
 * follow one another the writer therefore rests seven times as long as it worked, after every
 * piece: a checkpoint takes eight times as long, and a step next to none longer. Once no part has
 * moved for two steps training has ended, or waits for just this checkpoint: then there is no rest.
 *
 * Threads: rest_moved and rest_forget belong to the server's thread; any may ask rest_due.
 */
#ifndef TEQUIO_PS_REST_H
#define TEQUIO_PS_REST_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct rest {
    int64_t version, begun_us; /* the newest version, and when its first part reached it */
    _Atomic int64_t step_us;   /* from one version to the next; 0: not known yet */
    _Atomic int64_t moved_us;  /* when a part last moved */
} rest;

/* Some part has reached `version`. */
void rest_moved(rest *r, int64_t version, int64_t now_us);

/* Versions may go back: what was measured counts no more. */
void rest_forget(rest *r);

/* How long who has worked for so long should rest, in microseconds; 0: not at all. */
int64_t rest_due(const rest *r, int64_t worked_us, int64_t now_us);

#endif
