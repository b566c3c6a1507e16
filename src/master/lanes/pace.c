#include "master/lanes/pace.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct record {
    view_lane lane;
    double seconds[PACE_KEPT]; /* ring */
    size_t n;                  /* reports so far */
    int64_t heard_us;
} record;

struct pace {
    record *at;
    size_t n, cap;
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
    free(*p);
    *p = NULL;
}

static record *find(const pace *p, const view_lane *lane)
{
    for (size_t i = 0; i < p->n; i++)
        if (view_same_lane(&p->at[i].lane, lane))
            return &p->at[i];
    return NULL;
}

void pace_report(pace *p, const view_lane *lane, double seconds, int64_t now_us)
{
    if (!(seconds > 0) || seconds - seconds != 0)
        return;
    record *r = find(p, lane);
    if (!r) {
        GROW(p->at, p->cap, p->n + 1);
        r = &p->at[p->n++];
        *r = (record){.lane = *lane};
    }
    if (now_us - r->heard_us > PACE_FORGET_US)
        r->n = 0;
    r->seconds[r->n++ % PACE_KEPT] = seconds;
    r->heard_us = now_us;
}

void pace_forget_worker(pace *p, const view_lane *worker)
{
    for (size_t i = 0; i < p->n; i++)
        if (view_same_worker(&p->at[i].lane, worker))
            p->at[i].n = 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[(n - 1) / 2];
}

/* 0: not known. */
static double pace_of_lane(const pace *p, const view_lane *lane, int64_t now_us)
{
    const record *r = find(p, lane);
    if (!r || r->n < PACE_LEAST || now_us - r->heard_us > PACE_FORGET_US)
        return 0;
    double last[PACE_KEPT];
    size_t n = r->n < PACE_KEPT ? r->n : PACE_KEPT;
    memcpy(last, r->seconds, n * sizeof *last);
    return median(last, n);
}

bool pace_of(const pace *p, const view_lane *lanes, size_t n, int64_t now_us, double *ret)
{
    double *known = xcalloc(n + 1, sizeof *known), *all = xcalloc(n + 1, sizeof *all);
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        all[i] = pace_of_lane(p, &lanes[i], now_us);
        if (all[i] > 0)
            known[n_known++] = all[i];
    }
    double ordinary = n_known ? median(known, n_known) : 0;
    for (size_t i = 0; n_known && i < n; i++)
        ret[i] = all[i] > 0 ? all[i] : ordinary;
    free(all);
    free(known);
    return n_known > 0;
}
