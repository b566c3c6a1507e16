#include "master/lanes/hedge.h"

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

static bool any_suspect(const hedge_scene *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_lanes; i++)
        any |= s->lanes[i].suspect;
    return any;
}

/* Who is to bring slot `k`: its owner, or who hedges it already. */
static const view_lane *awaited(const hedges *h, const hedge_scene *s, uint32_t k)
{
    return h->at[k].is_set ? &h->at[k].lane : &s->owners[k];
}

/* It has nothing left to do in this step. Workers hedge for each other, not for themselves. */
static bool is_idle(const hedges *h, const hedge_scene *s, const view_lane *lane)
{
    for (uint32_t k = 0; k < s->n_slots; k++)
        if (!s->is_in[k] &&
            (view_same_worker(&s->owners[k], lane) || view_same_lane(awaited(h, s, k), lane)))
            return false;
    return true;
}

/* Hands the slots that are due to `helpers`, in runs. */
static bool hand_out(hedges *h, const bool *is_due, uint32_t n_slots, const view_lane *helpers,
                     size_t n_helpers, int64_t now_us)
{
    size_t n_due = 0, dealt = 0;
    for (uint32_t k = 0; k < n_slots; k++)
        n_due += is_due[k];
    size_t busy = n_helpers < n_due ? n_helpers : n_due;
    for (uint32_t k = 0; busy && k < n_slots; k++)
        if (is_due[k])
            h->at[k] = (hedge){true, helpers[dealt++ * busy / n_due], now_us};
    return dealt > 0;
}

/* Late slots go to idle lanes. When nobody is idle those of suspects go to all others: what a dead
 * worker had reported but not pushed keeps everybody waiting. */
static bool hedge_due(hedges *h, const hedge_scene *s, int64_t wait, int64_t now_us)
{
    view_lane *helpers = xcalloc(s->n_lanes + 1, sizeof *helpers);
    bool *is_due = xcalloc(s->n_slots, sizeof *is_due);
    size_t n = 0;
    for (size_t i = 0; i < s->n_lanes; i++)
        if (!s->lanes[i].suspect && is_idle(h, s, &s->lanes[i].lane))
            helpers[n++] = s->lanes[i].lane;
    bool any_idle = n > 0;
    for (size_t i = 0; !any_idle && i < s->n_lanes; i++)
        if (!s->lanes[i].suspect)
            helpers[n++] = s->lanes[i].lane;
    for (uint32_t k = 0; k < s->n_slots; k++) {
        int64_t since = h->at[k].is_set ? h->at[k].since_us : h->open_us;
        is_due[k] = !s->is_in[k] &&
                    (is_suspect(s, awaited(h, s, k)) || (any_idle && now_us - since > wait));
    }
    bool any = hand_out(h, is_due, s->n_slots, helpers, n, now_us);
    free(is_due);
    free(helpers);
    return any;
}

bool hedges_look(hedges *h, const hedge_scene *s, int64_t now_us)
{
    int64_t wait = patience(h);
    if (now_us - h->open_us <= wait && !any_suspect(s))
        return false;
    return hedge_due(h, s, wait, now_us);
}

const view_lane *hedges_of(const hedges *h, uint32_t k)
{
    return k < h->max_slots && h->at[k].is_set ? &h->at[k].lane : NULL;
}
