/*
 * Hedges: who computes a late lane's slots too. Pure; times are handed in.
 *
 * A step that is open for much longer than steps are used to take waits for somebody: a slow lane,
 * a frozen host, a cut link. The lanes that have done their share get the missing slots as well,
 * the copy that comes first counts (their bits are the same), and the late lane keeps its slots.
 * That holds for the steps that follow too, until the lane reports a slot before anybody else does,
 * or slots are dealt anew. A lane whose connection is gone is late at once.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_HEDGE_H
#define TEQUIO_MASTER_LANES_HEDGE_H

#include "master/lanes/view.h"

#define HEDGE_LEAST_US INT64_C(500000)
#define HEDGE_FIRST_US INT64_C(5000000) /* while no median is known */
enum { HEDGE_TIMES = 3 }; /* late is who takes so many times the median step, and not less */

typedef struct hedges hedges;

hedges *hedges_create(uint32_t max_slots);
void hedges_destroy(hedges **h);

/* From now on a step is open: the one before is complete, so its time counts... */
void hedges_step(hedges *h, int64_t now_us);
/* ...or steps begin again after nobody was to compute. */
void hedges_resume(hedges *h, int64_t now_us);

/* Slots were dealt anew: nobody hedges any more. */
void hedges_clear(hedges *h);

/* A lane reported a slot of its own before anybody else did. True: it is hedged no longer. */
bool hedges_in_time(hedges *h, const view_lane *owners, const view_lane *lane);

typedef struct hedge_lane {
    view_lane lane;
    bool suspect; /* its connection is gone */
} hedge_lane;

/* The open step, as it stands. */
typedef struct hedge_scene {
    const view_lane *owners; /* [max_slots] */
    const bool *is_in;       /* [n_slots] reported */
    uint32_t n_slots;        /* of the step */
    const hedge_lane *lanes; /* that may get slots */
    size_t n_lanes;
} hedge_scene;

/* True: somebody was asked to hedge. */
bool hedges_look(hedges *h, const hedge_scene *scene, int64_t now_us);

/* Who computes slot `k` too; NULL: nobody. */
const view_lane *hedges_of(const hedges *h, uint32_t k);

#endif
