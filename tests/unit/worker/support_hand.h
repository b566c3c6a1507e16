/*
 * A hand: one worker on no thread at all. A real sync_driver, weights_view and reducer over a kv and lanes
 * that do one small thing at a time, when they are told, so that a test chooses every order of
 * events. It talks to a keep; each part's messages are in order, those of different parts are not.
 *
 * Whatever a lane reads is compared with what it must read, at every bit of its work.
 */
#ifndef TEQUIO_TESTS_UNIT_WORKER_SUPPORT_HAND_H
#define TEQUIO_TESTS_UNIT_WORKER_SUPPORT_HAND_H

#include "unit/worker/support_keep.h"
#include "worker/sync_driver.h"

enum { HAND_LANES = 2 };

typedef struct hand hand;

typedef struct hand_report {
    int64_t step;
    uint32_t slot;
} hand_report;

hand *hand_start(keep *k);
/* Whatever is under way is lost, but for the first `delivered` messages to each part. */
void hand_kill(hand **h, hand *const *all, size_t n_all, size_t delivered);

sync_driver *hand_driver(hand *h);

/* Each does one thing, if there is one to do. */
bool hand_move_lane(hand *h, int32_t lane);
/* The next message to `part` gets there; a new version is answered to all hands that wait. */
bool hand_say(hand *h, int32_t part, hand *const *all, size_t n_all);
bool hand_hear(hand *h, int32_t part);
/* Notes of lanes are handled. */
void hand_serve(hand *h);
bool hand_take_report(hand *h, hand_report *ret);

/* A part has a new version: what it can answer now. NULL is fine. */
void hand_answer_waiting(hand *h, int32_t part);

/* The connection to a part's server is lost and there again. */
void hand_redial(hand *h, int32_t part);

#endif
