/*
 * Trials: which workers get no slots although they are there, and when one of them is tried again. Pure;
 * times are handed in.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_TRIALS_H
#define TEQUIO_MASTER_LANES_TRIALS_H

#include "master/lanes/view.h"

#define TRIALS_FIRST_US INT64_C(5000000)    /* until a worker is tried for the first time; and at most: */
#define TRIALS_LATEST_US INT64_C(320000000)
/* So many steps in a row, and for so long, others brought its slots: it is barred. */
#define TRIALS_LATE_US INT64_C(10000000)
enum { TRIALS_LATE = 5 };

typedef struct standing {
    view_lane worker;
    uint32_t late;             /* steps in a row in which others brought its slots; */
    int64_t late_step;         /* the last of them... */
    int64_t late_us;           /* ...and when the first was over */
    bool barred;
    int64_t idle_us;           /* it has had no slots since then; 0: it has */
    int64_t pause_us, back_us; /* until it is tried; when it last passed */
    uint32_t n_tried;
} standing;

typedef struct trials {
    standing *at;
    size_t n, cap;

    bool is_on; /* a worker is tried */
    view_lane worker, former;
    uint32_t slot;
    double limit_s;     /* how long its turn may take: steps take no longer without it */
    int64_t until_us;
    uint32_t n_first;   /* steps in a row in which it was before who hedges it... */
    int64_t first_step; /* ...the last of them */
} trials;

void trials_fini(trials *t);

/* A step passed in which others brought a worker's slots. */
void trials_late(trials *t, const view_lane *worker, int64_t step, int64_t now_us);
void trials_in_time(trials *t, const view_lane *worker);
/* Who was late too often is barred. True: somebody is, who was not. */
bool trials_bar(trials *t, int64_t now_us);
bool trials_is_barred(const trials *t, const view_lane *worker);

/* Whether a worker has slots, looked at after each deal. */
void trials_note(trials *t, const view_lane *worker, bool has_slots, int64_t now_us);
bool trials_is_idle(const trials *t, const view_lane *worker); /* it has none */
/* How often it was tried. */
uint32_t trials_count(const trials *t, const view_lane *worker);
/* It has had none for its pause and, if it was tried before, for least_us. */
bool trials_is_due(const trials *t, const view_lane *worker, int64_t least_us, int64_t now_us);

void trials_begin(trials *t, const view_lane *worker, uint32_t slot, const view_lane *former,
                  double limit_s, int64_t until_us);
/* Who is tried was first in that step. Returns how many steps in a row. */
uint32_t trials_first(trials *t, int64_t step);
void trials_pass(trials *t, int64_t now_us);
void trials_fail(trials *t, int64_t now_us);

/* Another life of the worker: nothing speaks against it. */
void trials_forget(trials *t, const view_lane *worker);

#endif
