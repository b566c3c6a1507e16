#include "master/lanes/pace.h"

#include "common/base/alloc.h"

#include <stdlib.h>

typedef struct record {
    view_lane lane;
    recent seconds;
} record;

typedef struct turns {
    view_lane worker;
    recent fixed_s, push_s;
    size_t n; /* turns measured */
} turns;

struct pace {
    record *at;
    size_t n, cap;
    turns *turns;
    size_t n_turns, cap_turns;
};

pace *pace_create(void)
{
    return xcalloc(1, sizeof(pace));
}

void pace_destroy(pace **p)
{
    if (!p || !*p)
        return;
    free((*p)->at);
    free((*p)->turns);
    free(*p);
    *p = NULL;
}

static record *pace_find(const pace *p, const view_lane *lane)
{
    for (size_t i = 0; i < p->n; i++)
        if (view_same_lane(&p->at[i].lane, lane))
            return &p->at[i];
    return NULL;
}

static turns *find_turns(const pace *p, const view_lane *worker)
{
    for (size_t i = 0; i < p->n_turns; i++)
        if (view_same_worker(&p->turns[i].worker, worker))
            return &p->turns[i];
    return NULL;
}

void pace_report(pace *p, const view_lane *lane, double seconds)
{
    if (!(seconds > 0) || seconds - seconds != 0)
        return;
    record *r = pace_find(p, lane);
    if (!r) {
        GROW(p->at, p->cap, p->n + 1);
        r = &p->at[p->n++];
        *r = (record){.lane = *lane};
    }
    recent_add(&r->seconds, seconds);
}

static turns *turns_of(pace *p, const view_lane *worker)
{
    turns *t = find_turns(p, worker);
    if (t)
        return t;
    GROW(p->turns, p->cap_turns, p->n_turns + 1);
    t = &p->turns[p->n_turns++];
    *t = (turns){.worker = *worker};
    return t;
}

/* What is less than nothing is nothing; a NaN too. */
void pace_turn(pace *p, const view_lane *worker, double fixed_s)
{
    turns *t = turns_of(p, worker);
    recent_add(&t->fixed_s, fixed_s > 0 && fixed_s - fixed_s == 0 ? fixed_s : 0);
    t->n++;
}

void pace_push(pace *p, const view_lane *worker, double push_s)
{
    recent_add(&turns_of(p, worker)->push_s, push_s > 0 && push_s - push_s == 0 ? push_s : 0);
}

void pace_forget_worker(pace *p, const view_lane *worker)
{
    for (size_t i = 0; i < p->n; i++)
        if (view_same_worker(&p->at[i].lane, worker))
            p->at[i].seconds.n = 0;
    turns *t = find_turns(p, worker);
    if (t)
        t->fixed_s.n = t->push_s.n = t->n = 0;
}

/* 0: not known. */
static double pace_of_lane(const pace *p, const view_lane *lane)
{
    const record *r = pace_find(p, lane);
    return r ? recent_median(&r->seconds) : 0;
}

/* Of the lanes of the same worker that are known, or else what is said. */
static double ordinary_of(const view_lane *lanes, const double *all, size_t n, const view_lane *worker,
                          double otherwise)
{
    double *known = xcalloc(n, sizeof *known);
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i] > 0 && view_same_worker(&lanes[i], worker))
            known[n_known++] = all[i];
    double ordinary = n_known ? recent_median_of(known, n_known) : otherwise;
    free(known);
    return ordinary;
}

bool pace_of(const pace *p, const view_lane *lanes, size_t n, double *ret)
{
    double *known = xcalloc(n + 1, sizeof *known), *all = xcalloc(n + 1, sizeof *all);
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        all[i] = pace_of_lane(p, &lanes[i]);
        if (all[i] > 0)
            known[n_known++] = all[i];
    }
    double ordinary = n_known ? recent_median_of(known, n_known) : 0;
    for (size_t i = 0; n_known && i < n; i++)
        ret[i] = all[i] > 0 ? all[i] : ordinary_of(lanes, all, n, &lanes[i], ordinary);
    free(all);
    free(known);
    return n_known > 0;
}

size_t pace_turns(const pace *p, const view_lane *worker)
{
    const turns *t = find_turns(p, worker);
    return t ? t->n : 0;
}

void pace_of_worker(const pace *p, const view_lane *worker, double *ret_fixed_s, double *ret_push_s)
{
    const turns *t = find_turns(p, worker);
    *ret_fixed_s = t ? recent_median(&t->fixed_s) : 0;
    *ret_push_s = t ? recent_median(&t->push_s) : 0;
}
