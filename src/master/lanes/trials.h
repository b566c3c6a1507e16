/*
 * Trials: which workers have lanes without slots, and when one of these is tried. Pure; times are handed in.
 *
 * A worker that has no slots computes one that another has as well, so nobody waits for it. Where it has
 * slots on other lanes it is one of these that the lane gets, and the step may have to wait: such a trial ends
 * as soon as a report says that the lane is no quicker than it was, and the next one waits long enough.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_TRIALS_H
#define TEQUIO_MASTER_LANES_TRIALS_H

#include "master/lanes/recent.h"
#include "master/lanes/view.h"

#define TRIALS_FIRST_US INT64_C(5000000)    /* until a worker is tried for the first time; and at most: */
#define TRIALS_LATEST_US INT64_C(40000000)
/* So many steps in a row, and for so long, others brought its slots: it is barred. */
#define TRIALS_LATE_US INT64_C(5000000)
enum { TRIALS_LATE = 5 };
/* A slot takes a lane so many times less than it did: it may be of use. So many reports say it. Trials that
 * make steps wait are at most one part in so many of the time. */
#define TRIALS_QUICKER 1.5
enum { TRIALS_REPORTS = RECENT_SHIFT, TRIALS_OWN_PART = 20 };

/* What of a worker has no slots. */
typedef enum idleness { IDLE_NOTHING, IDLE_LANES, IDLE_WORKER } idleness;

/* How long it has had none, and what its trials showed. */
typedef struct rest {
    int64_t since_us;          /* 0: it has some */
    int64_t pause_us, back_us; /* until it is tried; when it last passed */
} rest;

typedef struct standing {
    view_lane worker;
    uint32_t late;             /* steps in a row in which others brought its slots; */
    int64_t late_step;         /* the last of them, or in which it was in time... */
    int64_t late_us;           /* ...and when the first was over */
    bool barred;
    rest lanes, whole;         /* some of its lanes, or it itself: slow lanes say nothing of it as a whole */
    uint32_t n_tried;
} standing;

typedef struct trial {
    view_lane lane;     /* that is tried */
    uint32_t slot;
    bool is_own;        /* the slot was its worker's, of the lane `former`; else another has it still */
    view_lane former;
    double known_s;     /* what a slot takes the lane as far as is known */
    double limit_s;     /* how long a turn may take: steps take no longer without it */
    int64_t begin_us, until_us;
} trial;

typedef struct trials {
    standing *at;
    size_t n, cap;

    bool is_on;
    trial now;
    uint32_t n_good;    /* steps in a row in which the slot was there while they were open; or reports */
    int64_t good_step;  /* the last of these steps */
    int64_t own_us;     /* until then there is no trial that makes steps wait */
} trials;

void trials_fini(trials *t);

/* A step passed in which others brought a worker's slots. */
void trials_late(trials *t, const view_lane *worker, int64_t step, int64_t now_us);
/* In that step it brought some of them first, or some of others': it is barred no longer. */
void trials_in_time(trials *t, const view_lane *worker, int64_t step);
/* A lane that was late too often is barred. True: one is that was not. */
bool trials_bar(trials *t, int64_t now_us);
bool trials_is_barred(const trials *t, const view_lane *worker);

/* Looked at after each deal. */
void trials_note(trials *t, const view_lane *worker, idleness what, int64_t now_us);
/* How often it was tried. */
uint32_t trials_count(const trials *t, const view_lane *worker);
/* Some have had none for its pause and, if it was tried before, for least_us. */
bool trials_is_due(const trials *t, const view_lane *worker, int64_t least_us, int64_t now_us);

void trials_begin(trials *t, const trial *what);
/* The slot was there in that step while it was open. Returns in how many in a row. */
uint32_t trials_good(trials *t, int64_t step);
/* The lane that is tried reports. */
void trials_report(trials *t, double seconds);
void trials_pass(trials *t, int64_t now_us);
void trials_fail(trials *t, int64_t now_us);

/* Another life of the worker: nothing speaks against it. */
void trials_forget(trials *t, const view_lane *worker);

#endif
