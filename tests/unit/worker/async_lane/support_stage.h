/*
 * A stage for lanes: servers that keep, of each part, which batches it has, and connections and
 * lanes that do one small thing at a time, when they are told, so that a test chooses every order
 * of events. Each part's messages are in order, those of different parts are not.
 *
 * A gradient says of which part and batch it is, and weights say how far their part was when they
 * were copied: a foreign gradient, and weights older than the start rule allows, fail the test.
 */
#ifndef TEQUIO_TESTS_UNIT_WORKER_ASYNC_LANE_SUPPORT_STAGE_H
#define TEQUIO_TESTS_UNIT_WORKER_ASYNC_LANE_SUPPORT_STAGE_H

#include "common/parts/batch_set.h"
#include "worker/async_lane.h"

enum { STAGE_PARTS = 4, STAGE_LIVE = 3, STAGE_PART_N = 4 };

typedef struct stage {
    int64_t total;
    batch_set applied[STAGE_LIVE];
} stage;

void stage_begin(stage *s, int64_t total);
void stage_end(stage *s);
/* What every part has. */
void stage_of_all(const stage *s, batch_set *ret);

typedef struct actor actor;

actor *actor_start(stage *s);
/* Its messages are lost, but for the first `delivered` to each part. */
void actor_kill(actor **a, size_t delivered);
/* A new era: what is under way counts no more. */
void actor_begin(actor *a);

/* A lease arrives. */
void actor_lease(actor *a, int64_t batch, int64_t floor);

/* Each does one thing, if there is one to do. */
bool actor_move_lane(actor *a);
bool actor_say(actor *a, int32_t part); /* the next message to the part's server gets there */
bool actor_hear(actor *a, int32_t part);
void actor_serve(actor *a);
bool actor_take_report(actor *a, int64_t *ret_batch);

/* Servers answer what they can by now. */
void actor_answer(actor *a);
/* The connection to a part's server is lost and there again. */
void actor_redial(actor *a, int32_t part);

#endif
