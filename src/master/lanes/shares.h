/*
 * Shares: how many slots of a step each lane gets, and which. Pure.
 *
 * The model. A worker's *turn* begins when a version is there and ends when all it makes of it is on the
 * servers:
 *
 *   fixed_s             what does not depend on its slots: pulling weights, the way there and back
 *   slot_s              of a lane, for each of its slots, one after another
 *   push_s              for each node the worker pushes (tree_cover of its slots), one after another,
 *                       each once all its slots are computed
 *
 * A step takes as long as the longest turn, and a worker without slots has none. So a worker behind a slow link
 * gets fewer slots than its lanes could compute, and where the link alone takes longer than a step of the
 * others, none.
 *
 * The deal gives the next slot to the lane that is ready first with one more, which among turns that grow
 * with each slot no other deal beats. Slots are dealt in contiguous runs, so that sums stay inside a
 * worker as far as possible. Where pushes take time a longer run may be fewer nodes, so a shorter step is
 * then searched by halving: within a time each worker takes the longest run that it has time for, also
 * among those only that end at multiples of a power of two.
 */
#ifndef TEQUIO_MASTER_LANES_SHARES_H
#define TEQUIO_MASTER_LANES_SHARES_H

#include "master/lanes/view.h"

typedef struct share_worker {
    view_lane name;       /* of the worker: `lane` means nothing */
    uint32_t n_lanes;
    const double *slot_s; /* [n_lanes] > 0 */
    double fixed_s, push_s;
    bool barred;          /* gets no slots, as long as there are others */
} share_worker;

/* Seconds of a worker's turn with the slots it has in `owners`; 0 without any. */
double shares_turn(const share_worker *w, const view_lane *owners, uint32_t n_slots);
/* The nodes that it pushes. */
uint32_t shares_nodes(const view_lane *owners, uint32_t n_slots, const view_lane *worker);
/* The longest turn. */
double shares_step(const share_worker *workers, size_t n, const view_lane *owners,
                   uint32_t n_slots);

/* ret[k] is the owner of slot k; what is undecided goes to the first. At least one worker, and one lane
 * each. */
void shares_deal(const share_worker *workers, size_t n, uint32_t n_slots, view_lane *ret);

#endif
