#include "master/lanes/hedge.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void hedges_init(hedges *h, uint32_t max_slots)
{
    *h = (hedges){.max_slots = max_slots, .at = xcalloc(max_slots, sizeof *h->at)};
}

void hedges_fini(hedges *h)
{
    free(h->at);
    h->at = NULL;
}

void hedges_step(hedges *h, int64_t now_us)
{
    for (uint32_t k = 0; k < h->max_slots; k++)
        h->at[k].since_us = now_us;
}

void hedges_clear(hedges *h)
{
    memset(h->at, 0, h->max_slots * sizeof *h->at);
}

bool hedges_in_time(hedges *h, const view_lane *owners, const view_lane *worker)
{
    bool any = false;
    for (uint32_t k = 0; k < h->max_slots; k++)
        if (h->at[k].is_set && view_same_worker(&owners[k], worker)) {
            h->at[k].is_set = false;
            any = true;
        }
    return any;
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

/* Who is to bring slot `k`: its owner, or the lane that hedges it already. */
static const view_lane *awaited(const hedges *h, const hedge_scene *s, uint32_t k)
{
    return h->at[k].is_set ? &h->at[k].lane : &s->owners[k];
}

/* Its worker has brought all it has to. Workers hedge for each other, not for themselves. */
static bool is_idle(const hedges *h, const hedge_scene *s, const view_lane *lane)
{
    for (uint32_t k = 0; k < s->open->n_slots; k++)
        if (!s->open->is_in[k] &&
            (view_same_worker(&s->owners[k], lane) || view_same_worker(awaited(h, s, k), lane)))
            return false;
    return true;
}

/* The workers that help; the others are barred. */
static share_worker *workers_of(const hedge_scene *s, const view_lane *helpers, size_t n_helpers)
{
    share_worker *ret = xcalloc(s->n_workers, sizeof *ret);
    for (size_t i = 0; i < s->n_workers; i++) {
        ret[i] = s->workers[i];
        ret[i].barred = true;
        for (size_t j = 0; j < n_helpers; j++)
            ret[i].barred &= !view_same_worker(&helpers[j], &ret[i].name);
    }
    return ret;
}

/* Deals the slots that are due to the helpers, as quick as these are. */
static bool hand_out(hedges *h, const hedge_scene *s, const bool *is_due, const view_lane *helpers,
                     size_t n_helpers, int64_t now_us)
{
    uint32_t n_slots = s->open->n_slots, n_due = 0, dealt = 0;
    for (uint32_t k = 0; k < n_slots; k++)
        n_due += is_due[k];
    if (!n_due || !n_helpers)
        return false;
    share_worker *workers = workers_of(s, helpers, n_helpers);
    view_lane *by = xcalloc(n_due, sizeof *by);
    shares_deal(workers, s->n_workers, n_due, by);
    for (uint32_t k = 0; k < n_slots; k++)
        if (is_due[k])
            h->at[k] = (hedge){true, by[dealt++], s->view, now_us};
    free(by);
    free(workers);
    return true;
}

/* Lanes that are not suspect and have nothing left to do or, where none is idle, all that are not suspect. */
static size_t find_helpers(const hedges *h, const hedge_scene *s, view_lane *ret, bool *ret_idle)
{
    size_t n = 0;
    for (int idle = 1; idle >= 0 && !n; idle--) {
        *ret_idle = idle;
        for (size_t i = 0; i < s->n_lanes; i++)
            if (!s->lanes[i].suspect && (!idle || is_idle(h, s, &s->lanes[i].lane)))
                ret[n++] = s->lanes[i].lane;
    }
    return n;
}

/* Late slots go to idle lanes; those of suspects to whoever there is. */
static bool hedge_due(hedges *h, const hedge_scene *s, int64_t wait, int64_t now_us)
{
    const open_step *o = s->open;
    view_lane *helpers = xcalloc(s->n_lanes + 1, sizeof *helpers);
    bool *is_due = xcalloc(o->n_slots, sizeof *is_due), any_idle;
    size_t n = find_helpers(h, s, helpers, &any_idle);
    for (uint32_t k = 0; k < o->n_slots; k++) {
        int64_t since = h->at[k].is_set ? h->at[k].since_us : o->since_us;
        is_due[k] = !o->is_in[k] &&
                    (is_suspect(s, awaited(h, s, k)) || (any_idle && now_us - since > wait));
    }
    bool any = hand_out(h, s, is_due, helpers, n, now_us);
    free(is_due);
    free(helpers);
    return any;
}

bool hedges_any_late(const hedge_scene *s, int64_t now_us)
{
    return now_us - s->open->since_us > open_step_patience_us(s->open) || any_suspect(s);
}

bool hedges_look(hedges *h, const hedge_scene *s, int64_t now_us)
{
    return hedges_any_late(s, now_us) && hedge_due(h, s, open_step_patience_us(s->open), now_us);
}

bool hedges_any_by(const hedges *h, const view_lane *worker)
{
    for (uint32_t k = 0; k < h->max_slots; k++)
        if (h->at[k].is_set && view_same_worker(&h->at[k].lane, worker))
            return true;
    return false;
}

const view_lane *hedges_of(const hedges *h, uint32_t k)
{
    return k < h->max_slots && h->at[k].is_set ? &h->at[k].lane : NULL;
}
