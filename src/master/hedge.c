#include "master/hedge.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { TIMES_KEPT = 15, TIMES_LEAST = 5 };

typedef struct hedge {
    bool is_set;
    view_lane lane;
    int64_t since_us;
} hedge;

struct hedges {
    uint32_t max_slots;
    hedge *at;                    /* [max_slots] */
    int64_t times_us[TIMES_KEPT]; /* ring: of the last steps */
    size_t n_times;
    int64_t open_us;
};

hedges *hedges_create(uint32_t max_slots)
{
    hedges *h = xcalloc(1, sizeof *h);
    h->max_slots = max_slots;
    h->at = xcalloc(max_slots, sizeof *h->at);
    return h;
}

void hedges_destroy(hedges **h)
{
    if (!h || !*h)
        return;
    free((*h)->at);
    free(*h);
    *h = NULL;
}

void hedges_step(hedges *h, int64_t now_us)
{
    h->times_us[h->n_times++ % TIMES_KEPT] = now_us - h->open_us;
    hedges_resume(h, now_us);
}

void hedges_resume(hedges *h, int64_t now_us)
{
    h->open_us = now_us;
    for (uint32_t k = 0; k < h->max_slots; k++)
        h->at[k].since_us = now_us;
}

void hedges_clear(hedges *h)
{
    memset(h->at, 0, h->max_slots * sizeof *h->at);
}

bool hedges_in_time(hedges *h, const view_lane *owners, const view_lane *lane)
{
    bool any = false;
    for (uint32_t k = 0; k < h->max_slots; k++)
        if (h->at[k].is_set && view_same_lane(&owners[k], lane)) {
            h->at[k].is_set = false;
            any = true;
        }
    return any;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How long a step may be open before somebody is late. */
static int64_t patience(const hedges *h)
{
    if (h->n_times < TIMES_LEAST)
        return HEDGE_FIRST_US;
    int64_t times[TIMES_KEPT];
    size_t n = h->n_times < TIMES_KEPT ? h->n_times : TIMES_KEPT;
    memcpy(times, h->times_us, n * sizeof *times);
    qsort(times, n, sizeof *times, by_size);
    int64_t wait = HEDGE_TIMES * times[(n - 1) / 2];
    return wait > HEDGE_LEAST_US ? wait : HEDGE_LEAST_US;
}

static bool is_suspect(const hedge_scene *s, const view_lane *lane)
{
    for (size_t i = 0; i < s->n_lanes; i++)
        if (view_same_lane(&s->lanes[i].lane, lane))
            return s->lanes[i].suspect;
    return false;
}

/* A missing slot for which nobody is on time: neither its owner nor who hedges already. */
static bool is_due(const hedges *h, const hedge_scene *s, uint32_t k, int64_t now_us, int64_t wait)
{
    if (s->is_in[k])
        return false;
    const hedge *one = &h->at[k];
    const view_lane *lane = one->is_set ? &one->lane : &s->owners[k];
    int64_t since = one->is_set ? one->since_us : h->open_us;
    return is_suspect(s, lane) || now_us - since > wait;
}

/* It has nothing left to do in this step. Workers hedge for each other, not for themselves. */
static bool is_idle(const hedges *h, const hedge_scene *s, const hedge_lane *lane)
{
    bool idle = !lane->suspect;
    for (uint32_t k = 0; idle && k < s->n_slots; k++) {
        bool hedged_by_it = h->at[k].is_set && view_same_lane(&h->at[k].lane, &lane->lane);
        idle = s->is_in[k] || (!view_same_worker(&s->owners[k], &lane->lane) && !hedged_by_it);
    }
    return idle;
}

bool hedges_look(hedges *h, const hedge_scene *s, int64_t now_us)
{
    view_lane *idle = xcalloc(s->n_lanes + 1, sizeof *idle);
    size_t n_idle = 0, n_due = 0, dealt = 0;
    int64_t wait = patience(h);
    for (uint32_t k = 0; k < s->n_slots; k++)
        n_due += is_due(h, s, k, now_us, wait);
    for (size_t i = 0; n_due && i < s->n_lanes; i++)
        if (is_idle(h, s, &s->lanes[i]))
            idle[n_idle++] = s->lanes[i].lane;
    for (uint32_t k = 0; n_idle && k < s->n_slots; k++)
        if (is_due(h, s, k, now_us, wait)) {
            size_t busy = n_idle < n_due ? n_idle : n_due;
            h->at[k] = (hedge){true, idle[dealt++ * busy / n_due], now_us};
        }
    free(idle);
    return dealt > 0;
}

const view_lane *hedges_of(const hedges *h, uint32_t k)
{
    return k < h->max_slots && h->at[k].is_set ? &h->at[k].lane : NULL;
}
