/*
 * What lanes have to say to the worker's thread (a part is ready, a slot is done), in order, one queue
 * for even and one for odd steps, as a lane may be a step ahead of another; and the first failure of any.
 *
 * Threads: lane_notes_post and _fail any lane's; the rest the worker's thread.
 */
#ifndef TEQUIO_WORKER_LANE_NOTES_H
#define TEQUIO_WORKER_LANE_NOTES_H

#include "common/net/net.h"
#include "common/parts/tree.h"
#include "metric/reports.h"

/* Of a slot, in this order: NOTE_READY of each part, with NOTE_MEASURED before the reporting one;
 * NOTE_DONE. NOTE_SUM of a part comes after NOTE_READY of all slots that are in it. */
typedef enum note_kind { NOTE_READY, NOTE_SUM, NOTE_MEASURED, NOTE_DONE } note_kind;

typedef struct note {
    note_kind kind;
    int64_t step;
    uint32_t slot;
    int32_t lane;
    /* NOTE_READY: this slot is finished with `part`. Also NOTE_SUM: `sum` is that of the complete `node`,
     * held for the taker of the note to push it, or NULL */
    int32_t part;
    tree_node node;
    span *sum;
    slot_report measured;            /* NOTE_MEASURED, likewise held */
    int64_t at_us;                   /* NOTE_DONE: when it was so */
} note;

typedef struct lane_notes lane_notes;

lane_notes *lane_notes_create(net_waker *waker);            /* kept; woken by each note */
void lane_notes_destroy(lane_notes **l);

void lane_notes_post(lane_notes *l, const note *n);
void lane_notes_fail(lane_notes *l, status st, const error *why);

/* The oldest note in that step's queue, of that step or an earlier one; false: none. */
bool lane_notes_take(lane_notes *l, int64_t step, note *ret);
/* Of lanes that are idle: what they noted is forgotten, and its sums are dropped. */
void lane_notes_drop(lane_notes *l);

status lane_notes_failure(lane_notes *l, error *err);       /* OK: none */

#endif
