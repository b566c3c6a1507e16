#include "cli/look/wait_graph_internal.h"

#include "cli/look/recording_query.h"
#include "common/base/alloc.h"

#include <stdlib.h>

/* The server is at an update: whatever it was sent meanwhile it has not read. */
static bool end_by_update(wait_graph *g, int server)
{
    const recording *r = graph_recording(g, server);
    const recorder_event *update = recording_at(r, EVENT_UPDATE);
    if (update)
        graph_add_end(g, server, recording_age(r, update->at_us), "updates part %d to version %lld", update->a,
                      (long long)update->step);
    return update != NULL;
}

/* --- lanes --- */

static void follow_weights(wait_graph *g, graph_wait w);

/* What the lane has asked for its batch; `part` -1: all of it. */
static bool follow_pulls(wait_graph *g, int at, int lane, int64_t batch, int32_t part)
{
    const recording *r = graph_recording(g, at);
    size_t n;
    bool any = false;
    open_pull *pulls = recording_pulls(r, PULLS_OF_LANES, &n);
    for (size_t i = 0; i < n; i++)
        if (pulls[i].version == batch && (part < 0 || pulls[i].part == part)) {
            any = true;
            follow_weights(g, (graph_wait){.kind = GRAPH_WEIGHTS, .from = at, .lane = lane,
                                           .to = graph_peer(g, r, pulls[i].peer), .step = batch,
                                           .part = pulls[i].part, .slot = -1, .age_us = pulls[i].age_us});
        }
    free(pulls);
    return any;
}

/* The lane has a batch. */
static void follow_lane(wait_graph *g, int at, int lane, const lane_state *s)
{
    const recording *r = graph_recording(g, at);
    long long batch = (long long)s->slot->step;
    if (!s->wait)
        graph_add_end(g, at, recording_age(r, s->slot->at_us), "computes batch %lld", batch);
    else if (s->wait->kind == EVENT_LOAD)
        graph_add_end(g, at, recording_age(r, s->wait->at_us), "waits for the examples of batch %lld", batch);
    else if (!follow_pulls(g, at, lane, s->slot->step, s->wait->kind == EVENT_WAIT_PART ? s->wait->a : -1))
        graph_add_end(g, at, recording_age(r, s->wait->at_us), "waits for weights for batch %lld that it has not "
                                                               "asked for", batch);
}

/* Servers that have not said that they have a part's gradient. False: all have. */
static bool follow_pushes(wait_graph *g, int at, int lane, int64_t batch)
{
    const recording *r = graph_recording(g, at);
    bool any = false;
    for (uint32_t k = 0; k < r->head.n_events; k++) {
        const recorder_event *e = &r->events[k];
        bool is_sent = e->kind == EVENT_SENT && e->a == WIRE_PUSH && e->step == batch;
        if (!is_sent || recording_message(r, EVENT_RECEIVED, WIRE_PUSHED, e->lane, batch))
            continue;
        const graph_wait w = {.kind = GRAPH_TAKEN, .from = at, .lane = lane, .to = graph_peer(g, r, (uint32_t)e->b),
                              .step = batch, .part = e->lane, .slot = -1, .age_us = recording_age(r, e->at_us)};
        any = true;
        if (graph_add_wait(g, &w) && graph_speaking(g, w.to) && !end_by_update(g, w.to))
            graph_add_end(g, w.to, -1, "has not said that it has batch %lld of part %d", (long long)batch, w.part);
    }
    return any;
}

/* It has begun none of its batches: weights have not come, or gradients of the one before, which lie in the same place,
 * were not taken. False: neither. */
static bool follow_idle(wait_graph *g, int at, int lane)
{
    const recording *r = graph_recording(g, at);
    const recorder_event *last = NULL;
    bool any = false;
    for (size_t i = 0; i < g->n_leases; i++)
        if (g->leases[i].task == at && g->leases[i].lane == lane)
            any |= follow_pulls(g, at, lane, g->leases[i].batch, -1);
    for (uint32_t k = r->head.n_events; k-- > 0 && !last;)
        last = r->events[k].kind == EVENT_SLOT && r->events[k].lane == lane ? &r->events[k] : NULL;
    return (last && follow_pushes(g, at, lane, last->step)) || any;
}

/* Whether whoever is waited for has sent such a message to the one who waits, or received it from there. Numbers of
 * reports to servers are others than those to the master. */
static bool has_passed(const wait_graph *g, const graph_wait *w, recorder_kind kind, wire_type type)
{
    const recording *r = graph_recording(g, w->to);
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        if (e->kind == kind && e->a == (int32_t)type && e->step == w->step && (w->part < 0 || e->lane == w->part) &&
            graph_peer(g, r, (uint32_t)e->b) == w->from)
            return true;
    }
    return false;
}

/* Of whom a batch is awaited: a lane computes its lowest first. */
static void follow_holder(wait_graph *g, const graph_wait *w, int lane)
{
    const recording *r = graph_recording(g, w->to);
    lane_state s = recording_lane(r, lane);
    bool has_batch = s.slot && s.slot->kind == EVENT_SLOT;
    bool is_computed = recording_computed(r, lane, w->step, 0);
    if (has_batch && (s.slot->step <= w->step || !is_computed))
        follow_lane(g, w->to, lane, &s);
    else if (w->part < 0 && has_passed(g, w, EVENT_SENT, WIRE_REPORT))
        graph_add_end(g, w->to, -1, "has sent what was measured of batch %lld" GRAPH_UNDERWAY, (long long)w->step);
    else if (!is_computed && !follow_idle(g, w->to, lane))
        graph_add_end(g, w->to, -1, "has not begun batch %lld", (long long)w->step);
    else if (is_computed && (w->part >= 0 || !follow_pushes(g, w->to, lane, w->step)))
        graph_add_end(g, w->to, -1, "has computed batch %lld, and not sent all of it", (long long)w->step);
}

/* --- servers --- */

/* A part lacks a batch's gradient. What was sent to a server that updates lies there unread. */
static void follow_gradient(wait_graph *g, graph_wait w, int lane)
{
    const recording *r = graph_recording(g, w.to);
    bool is_sent = r && recording_message(r, EVENT_SENT, WIRE_PUSH, w.part, w.step);
    if (is_sent && end_by_update(g, w.from))
        return;
    if (!graph_add_wait(g, &w) || !graph_speaking(g, w.to))
        return;
    if (is_sent)
        graph_add_end(g, w.to, -1, "has sent batch %lld, for part %d" GRAPH_UNDERWAY, (long long)w.step, w.part);
    else
        follow_holder(g, &w, lane);
}

/* What the part lacks of the batches below the floor; without the master's word it may be more than is known. False:
 * nothing. */
static bool follow_floor(wait_graph *g, const graph_wait *w, const open_pull *pull)
{
    const recording *r = graph_recording(g, w->to);
    bool any = false;
    for (size_t i = 0; i < g->n_leases && g->leases[i].batch < pull->floor; i++) {
        const recorded_lease *l = &g->leases[i];
        if (recording_message(r, EVENT_RECEIVED, WIRE_PUSH, w->part, l->batch))
            continue;
        any = true;
        follow_gradient(g, (graph_wait){.kind = GRAPH_GRADIENT, .from = w->to, .lane = -1, .to = l->task,
                                        .step = l->batch, .part = w->part, .slot = -1, .age_us = pull->age_us},
                        l->lane);
    }
    if (any || !pull->floor || graph_recording(g, graph_master(g)))
        return any;
    (void)graph_add_wait(g, &(graph_wait){.kind = GRAPH_FLOOR, .from = w->to, .lane = -1, .to = -1,
                                          .step = pull->floor, .part = w->part, .slot = -1, .age_us = pull->age_us});
    return true;
}

/* The pull as the server has it; false: it has not come, or is answered. */
static bool find_pull(const wait_graph *g, const graph_wait *w, open_pull *ret)
{
    const recording *r = graph_recording(g, w->to);
    size_t n;
    bool is_there = false;
    open_pull *pulls = recording_pulls(r, PULLS_OF_SERVER, &n);
    for (size_t i = 0; i < n && !is_there; i++) {
        is_there = pulls[i].part == w->part && pulls[i].version == w->step &&
                   graph_peer(g, r, pulls[i].peer) == w->from;
        *ret = pulls[i];
    }
    free(pulls);
    return is_there;
}

static void follow_weights(wait_graph *g, graph_wait w)
{
    open_pull pull;
    if (!graph_add_wait(g, &w) || !graph_speaking(g, w.to) || g->depth == GRAPH_DEPTH_MOST)
        return;
    g->depth++;
    bool waits = find_pull(g, &w, &pull), is_told = waits ? follow_floor(g, &w, &pull) : false;
    is_told = is_told || end_by_update(g, w.to);
    if (!is_told && !waits && has_passed(g, &w, EVENT_RECEIVED, WIRE_PULL))
        graph_add_end(g, w.to, -1, "has sent part %d for batch %lld" GRAPH_UNDERWAY, w.part, (long long)w.step);
    else if (!is_told)
        graph_add_end(g, w.to, -1, "has not sent part %d for batch %lld", w.part, (long long)w.step);
    g->depth--;
}

/* --- the master --- */

static void follow_measured(wait_graph *g, int master, const recorded_lease *l)
{
    const graph_wait w = {.kind = GRAPH_MEASURED, .from = master, .lane = -1, .to = l->task, .step = l->batch,
                          .part = -1, .slot = -1, .age_us = l->age_us};
    if (graph_add_wait(g, &w) && graph_speaking(g, w.to))
        follow_holder(g, &w, l->lane);
}

/* There is nothing more to lease before a checkpoint that was reached is written, or what others have is reported; all
 * lanes that wait wait for the same. */
static void follow_lease(wait_graph *g, const graph_wait *w)
{
    bool is_first = !graph_has_wait(g, GRAPH_LEASE, w->step);
    const recording *r = graph_add_wait(g, w) && is_first ? graph_speaking(g, w->to) : NULL;
    if (!r || graph_follow_holds(g, w->to, recording_steps_done(r)))
        return;
    for (size_t i = 0; i < g->n_leases; i++)
        follow_measured(g, w->to, &g->leases[i]);
    if (!g->n_leases)
        graph_add_end(g, w->to, -1, "leases no batch%s%s", r->head.text[0] ? ": " : "", r->head.text);
}

/* --- from everybody who waits --- */

static bool has_lease(const wait_graph *g, int at, int lane)
{
    for (size_t i = 0; i < g->n_leases; i++)
        if (g->leases[i].task == at && g->leases[i].lane == lane)
            return true;
    return false;
}

void graph_follow_leased_lanes(wait_graph *g, int at, const recording *r)
{
    for (uint32_t i = 0; i < r->head.n_in_progress; i++) {
        int32_t lane = r->in_progress[i].lane;
        lane_state s = recording_lane(r, lane);
        if (lane < 0 || s.slot != &r->in_progress[i])
            continue;
        if (s.slot->kind == EVENT_SLOT && s.wait)
            follow_lane(g, at, lane, &s);
        else if (s.slot->kind == EVENT_IDLE && has_lease(g, at, lane))
            (void)follow_idle(g, at, lane);
        else if (s.slot->kind == EVENT_IDLE)
            follow_lease(g, &(graph_wait){.kind = GRAPH_LEASE, .from = at, .lane = lane, .to = graph_master(g),
                                          .step = -1, .part = -1, .slot = -1,
                                          .age_us = recording_age(r, s.slot->at_us)});
    }
}

void graph_follow_leased_pulls(wait_graph *g, int at, const recording *r)
{
    size_t n;
    open_pull *pulls = recording_pulls(r, PULLS_OF_SERVER, &n);
    for (size_t i = 0; i < n; i++) {
        int from = graph_peer(g, r, pulls[i].peer);
        if (from >= 0 && !graph_recording(g, from))
            follow_weights(g, (graph_wait){.kind = GRAPH_WEIGHTS, .from = from, .lane = -1, .to = at,
                                           .step = pulls[i].version, .part = pulls[i].part, .slot = -1,
                                           .age_us = pulls[i].age_us});
    }
    free(pulls);
}

/* The lowest batch comes first, and two may have it. Some batch is always out: a master that was only asked does not
 * wait for it, unless a lane that finds none waits for the master. */
void graph_follow_leases(wait_graph *g, int at, const recording *r)
{
    bool waits = graph_speaking(g, at) && r->head.reason == RECORDING_WAIT;
    for (size_t i = 0; waits && i < g->n_leases && g->leases[i].batch == g->leases[0].batch; i++)
        follow_measured(g, at, &g->leases[i]);
}
