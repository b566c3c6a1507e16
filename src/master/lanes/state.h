/*
 * The deal's own things, which the files beside it share: deal.c deals, delivered.c hears what workers bring,
 * tried.c tries lanes that have no slots; below these, owners.c says who has which slots, and measured.c learns
 * how fast they are.
 */
#ifndef TEQUIO_MASTER_LANES_STATE_H
#define TEQUIO_MASTER_LANES_STATE_H

#include "master/lanes/deal.h"
#include "master/lanes/model.h"
#include "master/lanes/trials.h"

/* The deal before the last one, for as long as it may come back. */
typedef struct last_deal {
    bool is_judged;     /* the one that followed it has still to show that it is quicker */
    view_lane *owners;  /* [n_slots] */
    double step_s;
    int64_t doubt_us;   /* how long no other is tried once it has come back */
} last_deal;

struct deal {
    uint32_t n_slots;
    bool rebalances, is_dealt;
    view_lane *owners;  /* [n_slots] */
    uint32_t *since;    /* [n_slots] the first view that said so */
    open_step open;
    hedges hedges;
    pace *pace;
    trials trials;
    last_deal last;
    int64_t next_us;    /* when to look at the pace again */
};

/* owners.c */
bool deal_has_slots(const deal *d, const view_lane *worker);
bool deal_lane_has_slots(const deal *d, const view_lane *lane);
/* A slot is the lane's from that view on. */
void deal_give(deal *d, uint32_t slot, const view_lane *owner, uint32_t view);
/* The hedge of a slot that a worker is tried with; NULL: there is none. */
hedge *deal_trial_hedge(deal *d);

/* measured.c */
/* A worker's turn is over: what of it neither computing what it has in `owners` nor pushing explains. */
void deal_measure_turn(deal *d, const view_lane *owners, const view_lane *worker, double turn_s);
void deal_measure_push(deal *d, const view_lane *owners, const deal_delivery *what);

/* tried.c */
/* A worker that is tried brought the slot before the open step was over. True: it has passed. */
bool deal_trial_is_good(deal *d, const deal_delivery *what, double open_s, int64_t now_us);
/* True: a lane is tried from that view on, or no longer. */
bool deal_begin_trial(deal *d, const model *m, uint32_t view, int64_t now_us);
bool deal_end_trial(deal *d, uint32_t view, int64_t now_us);

#endif
