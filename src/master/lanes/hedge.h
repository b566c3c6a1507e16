/*
 * Hedges: who computes a late lane's slots too. Pure; times are handed in.
 *
 * A step that is open for much longer than it should be (open_step.h) waits for somebody: a slow lane or
 * link, a frozen host, a cut link. The lanes that have done their share get the missing slots as well,
 * the copy that comes first counts (their bits are the same), and the late lane keeps its slots.
 * That holds for the steps that follow too, until its worker has brought slots before anybody else has,
 * or slots are dealt anew. A lane whose connection is gone is late at once.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_HEDGE_H
#define TEQUIO_MASTER_LANES_HEDGE_H

#include "master/lanes/open_step.h"
#include "master/lanes/shares.h"

typedef struct hedge {
    bool is_set;
    view_lane lane;
    uint32_t view;    /* the first view that says so */
    int64_t since_us; /* the lane computes the slot of the open step */
} hedge;

typedef struct hedges {
    uint32_t max_slots;
    hedge *at; /* [max_slots] */
} hedges;

void hedges_init(hedges *h, uint32_t max_slots);
void hedges_fini(hedges *h);

/* A step begins. */
void hedges_step(hedges *h, int64_t now_us);

/* Slots were dealt anew: nobody hedges any more. */
void hedges_clear(hedges *h);

/* A worker brought its slots of the open step before anybody else did. True: they are hedged no longer. */
bool hedges_in_time(hedges *h, const view_lane *owners, const view_lane *worker);

typedef struct hedge_lane {
    view_lane lane;
    bool suspect; /* its connection is gone */
} hedge_lane;

/* The open step, as it stands. */
typedef struct hedge_scene {
    const view_lane *owners; /* [max_slots] */
    const open_step *open;
    const hedge_lane *lanes; /* that may get slots */
    size_t n_lanes;
    const share_worker *workers; /* whose lanes these are: how long they take */
    size_t n_workers;
    uint32_t view;           /* the number of the view that will tell of changes */
} hedge_scene;

/* Slots may be late; else there is nothing to look at. */
bool hedges_any_late(const hedge_scene *scene, int64_t now_us);
/* True: somebody was asked to hedge. */
bool hedges_look(hedges *h, const hedge_scene *scene, int64_t now_us);

/* Whether a worker computes any other's slot. */
bool hedges_any_by(const hedges *h, const view_lane *worker);

/* Who computes slot `k` too; NULL: nobody. */
const view_lane *hedges_of(const hedges *h, uint32_t k);

#endif
