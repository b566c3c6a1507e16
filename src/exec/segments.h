/*
 * Segments of a variant's nodes, as a device plays them.
 *
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_SEGMENTS_H
#define TEQUIO_EXEC_SEGMENTS_H

#include "exec/exec.h"
#include "exec/variant.h"

typedef struct segment_clock {
    bool timed;             /* segments are... */
    double busy_ms;         /* ...for so long so far */
} segment_clock;

/* Records the segments of all variants, if the device can. */
MUST_USE status segments_record(exec *e, error *err);
/* `timed`: each node by its stopwatch (variant_time_nodes). */
MUST_USE status segments_play(const exec *e, const variant *v, const segment *s, bool timed, error *err);
/* Behind a run that has ended: what its segments took, if they are timed. */
MUST_USE status segments_time(exec *e, const variant *v, error *err);

#endif
