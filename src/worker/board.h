/*
 * The board: what a worker's lanes and its own thread share.
 *
 *   weights   of each part the version and the loss scale of that; lanes wait here for a version. The
 *             weights themselves are in a store (exec/weights.h)
 *   notes     what lanes have to say (a part is ready, a slot is done), in order, one queue for even
 *             and one for odd steps: a lane may be a step ahead of another
 *   failure   the first one of any lane
 *
 * Threads: board_put_part, board_take_note and the life cycle belong to the worker's thread;
 * everything else to any lane.
 */
#ifndef TEQUIO_WORKER_BOARD_H
#define TEQUIO_WORKER_BOARD_H

#include "common/parts/tree.h"
#include "exec/weights.h"
#include "kv/kv.h"
#include "metric/reports.h"

#include <pthread.h>
#include <stdatomic.h>

/* Of a slot, in this order: NOTE_READY of each part, with NOTE_MEASURED before the reporting one;
 * NOTE_DONE. NOTE_SUM of a part comes after NOTE_READY of all slots that are in it. */
typedef enum note_kind { NOTE_READY, NOTE_SUM, NOTE_MEASURED, NOTE_DONE } note_kind;

typedef struct note {
    note_kind kind;
    int64_t step;
    uint32_t slot;
    int32_t lane;
    /* NOTE_READY: this slot is finished with `part`. Also NOTE_SUM: `sum` is that of the complete `node`,
     * held for who takes the note to push it, or NULL */
    int32_t part;
    tree_node node;
    span *sum;
    slot_report measured;            /* NOTE_MEASURED */
} note;

typedef struct board board;

/* `weights`: where they live; kept, as the rest. */
board *board_create(const flat *f, net_waker *waker, weight_store *weights);
void board_destroy(board **b);

/* They live there instead: before the first part is put. */
void board_move(board *b, weight_store *weights);
weight_store *board_weights(const board *b);

/* Puts it into the store, and wakes lanes that wait for it. No lane may be reading an older version of it.
 * E_DEVICE. */
MUST_USE status board_put_part(board *b, const kv_part *p, error *err);
int64_t board_version(const board *b, int32_t part);        /* -1: none yet */
void board_drop_part(board *b, int32_t part);               /* its version back to -1 */
void board_forget(board *b);                                /* all of them */

/* Returns when `part` has `version`; E_LOST "cancelled" once *cancel is true. *ret_edition grows
 * with every board_put_part of it: a version may come twice, after all have gone back to a
 * checkpoint. */
MUST_USE status board_wait_part(board *b, int32_t part, int64_t version, const atomic_bool *cancel,
                                int64_t *ret_edition, error *err);
/* The same for the loss scale of `version`, which is here with the first live part of it. */
MUST_USE status board_wait_scale(board *b, int64_t version, const atomic_bool *cancel,
                                 loss_scale *ret, error *err);
void board_wake(board *b);                                  /* waiting lanes look at cancel */

void board_post(board *b, const note *n);
void board_fail(board *b, status st, const error *why);

/* The oldest note in that step's queue, of that step or an earlier one; false: none. */
bool board_take_note(board *b, int64_t step, note *ret);
/* Of lanes that are idle: what they noted is forgotten, and its sums are dropped. */
void board_drop_notes(board *b);

status board_failure(board *b, error *err);                 /* OK: none */

#endif
