/*
 * What the job dir shows of the evaluator (common/store/eval_heartbeat.h), while it is waited for: that it lives, that
 * it reads its data, and when it last got on with that.
 *
 * It gets on when it has read farther than any before it. One that died and was started again begins anew, which
 * counts for the first EVALUATOR_READINGS of a wait alone, so that the wait has an end.
 *
 * Threads: one at a time. Times are of clock_us.
 */
#ifndef TEQUIO_MASTER_EVALUATOR_LIFE_H
#define TEQUIO_MASTER_EVALUATOR_LIFE_H

#include "common/base/read_progress.h"

#include <stdbool.h>

enum { EVALUATOR_READINGS = 3, EVALUATOR_SILENT_US = 10000000 }; /* it is gone, most likely */

typedef struct evaluator_life {
    uint64_t trace;                 /* its sign, as last seen */
    int64_t seen_us;                /* when that changed, or the wait began; 0: nobody waits */
    bool hangs;                     /* said so */
    bool says;                      /* that it reads its data, by this; so does one that died over it */
    bool reads;                     /* likewise, and it is not gone */
    read_state state;
    int64_t moved_us;               /* when it last got on with that; 0: never */
    uint64_t furthest;              /* of the moves of the readings that count */
    int readings;                   /* that have begun in this wait */
} evaluator_life;

/* Nobody waits for it. */
void evaluator_life_rest(evaluator_life *e);
/* It is waited for, and the job dir shows this now; `line`: what it says that it reads, or NULL. */
void evaluator_life_look(evaluator_life *e, uint64_t trace, const read_state *line, int64_t now_us);

#endif
