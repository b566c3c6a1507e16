#include "cli/look/recording_query.h"

#include "common/base/alloc.h"

#include <string.h>

static bool is_message(const recorder_event *e)
{
    return e->kind == EVENT_SENT || e->kind == EVENT_RECEIVED;
}

static bool is_of(const recorder_event *e, recorder_kind kind, wire_type type)
{
    return e->kind == kind && e->a == (int32_t)type;
}

int64_t recording_age(const recording *r, int64_t at_us)
{
    return r->head.at_us > at_us ? r->head.at_us - at_us : 0;
}

/* --- pulls --- */

static bool is_answer(const recorder_event *e, pulls_of whose)
{
    recorder_kind answered = whose == PULLS_OF_SERVER ? EVENT_SENT : EVENT_RECEIVED;
    return is_of(e, answered, WIRE_PART) || is_of(e, answered, WIRE_GONE);
}

static open_pull *pull_of(open_pull *at, size_t n, const recorder_event *e, pulls_of whose)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].part == e->lane && (whose == PULLS_OF_WORKER || at[i].peer == (uint32_t)e->b))
            return &at[i];
    return NULL;
}

/* From the newest event back: of a part (and peer) the first that is met decides. One that was said again began as it
 * was first said. */
open_pull *recording_pulls(const recording *r, pulls_of whose, size_t *ret_n)
{
    open_pull *met = xcalloc((size_t)r->head.n_events + 1, sizeof *met);
    size_t n = 0, kept = 0;
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        bool asks = is_of(e, whose == PULLS_OF_SERVER ? EVENT_RECEIVED : EVENT_SENT, WIRE_PULL);
        if (!asks && !is_answer(e, whose))
            continue;
        open_pull *one = pull_of(met, n, e, whose);
        if (!one)
            met[n++] = (open_pull){.part = e->lane, .version = asks ? e->step : -1, .peer = (uint32_t)e->b,
                                   .floor = asks ? recorder_unpack_passing(e).floor : 0,
                                   .age_us = recording_age(r, e->at_us)};
        else if (asks && one->version == e->step)
            one->age_us = recording_age(r, e->at_us);
        else if (one->version >= 0)
            one->version = -2 - one->version; /* what is older is not of this one */
    }
    for (size_t i = 0; i < n; i++) {
        if (met[i].version == -1)
            continue;
        met[kept] = met[i];
        met[kept].version = met[i].version < 0 ? -2 - met[i].version : met[i].version;
        kept++;
    }
    *ret_n = kept;
    return met;
}

/* --- messages --- */

const recorder_event *recording_message(const recording *r, recorder_kind kind, wire_type type, int32_t part,
                                        int64_t step)
{
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        if (is_of(e, kind, type) && (part < 0 || e->lane == part) && (step < 0 || e->step == step))
            return e;
    }
    return NULL;
}

int64_t recording_version(const recording *r, int32_t part)
{
    for (uint32_t k = r->head.n_events; k-- > 0;)
        if (r->events[k].kind == EVENT_UPDATE && r->events[k].a == part)
            return r->events[k].step;
    return -1;
}

uint32_t recording_step_slots(const recording *r, int64_t step)
{
    const recorder_event *e = recording_message(r, EVENT_RECEIVED, WIRE_PUSH, -1, step);
    e = e ? e : recording_message(r, EVENT_SENT, WIRE_PUSH, -1, step);
    return e ? recorder_unpack_passing(e).slots : 0;
}

void recording_slots(const recording *r, recorder_kind kind, int32_t part, int64_t step, uint32_t n_slots, bool *ret)
{
    memset(ret, 0, n_slots * sizeof *ret);
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        tree_node node = recorder_unpack_passing(e).node;
        if (!is_of(e, kind, WIRE_PUSH) || e->lane != part || e->step != step)
            continue;
        for (uint32_t slot = tree_node_first(node); slot < tree_node_end(node, n_slots); slot++)
            ret[slot] = true;
    }
}

int64_t recording_steps_done(const recording *r)
{
    for (uint32_t k = r->head.n_events; k-- > 0;)
        if (r->events[k].kind == EVENT_STEP_DONE)
            return r->events[k].step;
    return -1;
}

bool recording_computed(const recording *r, int32_t lane, int64_t step, int32_t slot)
{
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        if (e->kind == EVENT_SLOT && e->lane == lane && e->step == step && e->a == slot)
            return true;
    }
    return false;
}

/* --- what is in progress --- */

lane_state recording_lane(const recording *r, int32_t lane)
{
    lane_state s = {NULL, NULL};
    for (uint32_t i = 0; i < r->head.n_in_progress; i++) {
        const recorder_event *e = &r->in_progress[i];
        bool is_slot = e->kind == EVENT_SLOT || e->kind == EVENT_IDLE;
        if (e->lane == lane && is_slot)
            s.slot = e;
        else if (e->lane == lane)
            s.wait = e;
    }
    return s;
}

const recorder_event *recording_at(const recording *r, recorder_kind kind)
{
    for (uint32_t i = 0; i < r->head.n_in_progress; i++)
        if (r->in_progress[i].kind == kind)
            return &r->in_progress[i];
    return NULL;
}

static bool is_sign_of_life(const recorder_event *e)
{
    return e->kind == EVENT_ASKED ||
           (is_message(e) && (e->a == WIRE_HEARTBEAT || e->a == WIRE_ALIVE || e->a == WIRE_STATUS ||
                              e->a == WIRE_REPORTED || e->a == WIRE_HELLO || e->a == WIRE_WELCOME));
}

/* Which role of a process had a message nothing tells: that of one which has but one. */
const recorder_event *recording_last(const recording *r, role of)
{
    int n = r->head.is_trainer && r->head.indexes[ROLE_WORKER] < 0;
    for (int i = 0; i < ROLE_COUNT; i++)
        n += r->head.indexes[i] >= 0;
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        int whose = recorder_rows[e->kind].of;
        if (!is_sign_of_life(e) && (whose == (int)of || (whose == RECORDER_OF_ANY && n == 1)))
            return e;
    }
    return NULL;
}
