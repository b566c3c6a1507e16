/*
 * The weights as a worker's thread and its lanes see them: of each part the version that is in the store
 * (exec/weights.h), and the loss scale of that. Lanes wait here for a version.
 *
 * Threads: what waits, and weights_view_store, _times, _held_us and _wake, any lane's; the rest the worker's thread.
 */
#ifndef TEQUIO_WORKER_WEIGHTS_VIEW_H
#define TEQUIO_WORKER_WEIGHTS_VIEW_H

#include "exec/weights.h"
#include "kv/kv.h"

#include <stdatomic.h>

typedef struct weights_view weights_view;

/* Both are kept. */
weights_view *weights_view_create(const flat *f, weight_store *store);
void weights_view_destroy(weights_view **v);

/* They live there instead: before the first part is put. Any thread, before others know of the view. */
void weights_view_move(weights_view *v, weight_store *store);
weight_store *weights_view_store(const weights_view *v);

/* Puts it into the store, and wakes lanes that wait for it. No lane may be reading an older version of it.
 * E_DEVICE. */
MUST_USE status weights_view_put(weights_view *v, const kv_part *p, error *err);
int64_t weights_view_version(const weights_view *v, int32_t part);      /* -1: none yet */
void weights_view_drop(weights_view *v, int32_t part);                  /* its version back to -1 */
void weights_view_forget(weights_view *v);                              /* all of them */

/* Returns when `part` has `version`; E_LOST "cancelled" once *cancel is true. *ret_edition grows
 * with every weights_view_put of it: a version may come twice, after all have gone back to a
 * checkpoint. */
MUST_USE status weights_view_wait(weights_view *v, int32_t part, int64_t version,
                                  const atomic_bool *cancel, int64_t *ret_edition, error *err);
/* The same for the loss scale of `version`, which is here with the first live part of it. */
MUST_USE status weights_view_wait_scale(weights_view *v, int64_t version, const atomic_bool *cancel,
                                        loss_scale *ret, error *err);
/* Why a part of it that is here, or (-1) the one that came last, took its time; and the gradient that was taken
 * last. */
void weights_view_times(weights_view *v, int32_t part, kv_times *ret, kv_taking *ret_taking);
void weights_view_taken(weights_view *v, const kv_taking *t);

/* Nobody may go on, as the master says, or lanes may again; and for how long that was so, until now. */
void weights_view_hold(weights_view *v, bool holds);
int64_t weights_view_held_us(weights_view *v);

void weights_view_wake(weights_view *v);                                /* waiting lanes look at cancel */

#endif
