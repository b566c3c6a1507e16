#include "cli/look/wait_graph.h"

#include "cli/look/recording_query.h"
#include "cli/look/wait_graph_internal.h"
#include "common/base/alloc.h"

#include <stdlib.h>

/* --- lanes --- */

static void follow_part(wait_graph *g, graph_wait w);

/* All that it has asked servers for; `part` -1: whichever. */
static bool follow_pulls(wait_graph *g, int at, int lane, int32_t part)
{
    const recording *r = graph_recording(g, at);
    size_t n;
    bool any = false;
    open_pull *pulls = recording_pulls(r, PULLS_OF_WORKER, &n);
    for (size_t i = 0; i < n; i++)
        if (part < 0 || pulls[i].part == part) {
            any = true;
            follow_part(g, (graph_wait){.kind = GRAPH_PART, .from = at, .lane = lane,
                                        .to = graph_peer(g, r, pulls[i].peer), .step = pulls[i].version,
                                        .part = pulls[i].part, .slot = -1, .age_us = pulls[i].age_us});
        }
    free(pulls);
    return any;
}

/* The lane is in a slot. */
static void follow_lane(wait_graph *g, int at, int lane, const lane_state *s)
{
    const recording *r = graph_recording(g, at);
    int64_t slot_age = recording_age(r, s->slot->at_us);
    if (!s->wait) {
        graph_add_end(g, at, slot_age, "computes slot %d of step %lld", s->slot->a, (long long)s->slot->step);
        return;
    }
    int64_t age = recording_age(r, s->wait->at_us);
    bool is_part = s->wait->kind == EVENT_WAIT_PART;
    if (s->wait->kind == EVENT_LOAD)
        graph_add_end(g, at, age, "waits for the examples of batch %lld, for slot %d of step %lld",
                      (long long)s->wait->c, s->slot->a, (long long)s->slot->step);
    else if (!follow_pulls(g, at, lane, is_part ? s->wait->a : -1))
        graph_add_end(g, at, age, "waits for %s of step %lld that it has not asked for",
                      is_part ? "a part" : "the loss scale", (long long)s->slot->step);
}

/* --- servers --- */

/* Whoever holds the version up to which all may run waits for the master's leave. */
static bool is_held_back(const recording *r, int64_t *ret_limit)
{
    const recorder_event *held = NULL, *told = recording_message(r, EVENT_RECEIVED, WIRE_ALIVE, -1, -1);
    for (uint32_t k = r->head.n_events; k-- > 0 && !held;)
        held = r->events[k].kind == EVENT_HELD ? &r->events[k] : NULL;
    const recorder_event *limit = recording_message(r, EVENT_RECEIVED, WIRE_LIMIT, -1, -1);
    if (limit && (!told || limit->at_us > told->at_us))
        told = limit;
    *ret_limit = told ? told->step : -1;
    return told && held && held->step >= told->step;
}

/* Of whom a slot is awaited. Whoever waits for leave is not the one. */
static void follow_owner(wait_graph *g, const graph_wait *w, int lane)
{
    const recording *r = graph_recording(g, w->to);
    lane_state s = recording_lane(r, lane);
    bool is_in_slot = s.slot && s.slot->kind == EVENT_SLOT;
    int64_t limit;
    if (is_in_slot && s.slot->step <= w->step)
        follow_lane(g, w->to, lane, &s);
    else if (recording_computed(r, lane, w->step, w->slot))
        graph_add_end(g, w->to, -1, "has computed slot %d of step %lld, and not sent all of it", w->slot,
                      (long long)w->step);
    else if (!follow_pulls(g, w->to, lane, -1) && !is_held_back(r, &limit))
        graph_add_end(g, w->to, -1, "has not begun slot %d of step %lld", w->slot, (long long)w->step);
}

/* A server waits for a slot's gradient. */
static void follow_slot(wait_graph *g, graph_wait w, int lane)
{
    const recording *r = graph_add_wait(g, &w) ? graph_speaking(g, w.to) : NULL;
    if (!r)
        return;
    bool *sent = xcalloc(g->of->n_slots, sizeof *sent);
    recording_slots(r, EVENT_SENT, w.part, w.step, (uint32_t)g->of->n_slots, sent);
    if (sent[w.slot])
        graph_add_end(g, w.to, -1, "has sent slot %d of step %lld" GRAPH_UNDERWAY, w.slot, (long long)w.step);
    else
        follow_owner(g, &w, lane);
    free(sent);
}

static void follow_slots(wait_graph *g, int at, int32_t part, int64_t step, int64_t age_us);

/* The master waits for the norm of a part, which a server sends once it has all gradients of it. */
static void follow_norm(wait_graph *g, graph_wait w)
{
    const recording *r = graph_add_wait(g, &w) ? graph_speaking(g, w.to) : NULL;
    if (r && recording_message(r, EVENT_SENT, WIRE_NORM, w.part, w.step))
        graph_add_end(g, w.to, -1, "has sent the norm of part %d of step %lld" GRAPH_UNDERWAY, w.part,
                      (long long)w.step);
    else if (r)
        follow_slots(g, w.to, w.part, w.step, w.age_us);
}

/* Parts of which the master has a norm of the step before, and none of this one. False: there are none. */
static bool follow_norms(wait_graph *g, int master, int64_t step, int64_t age_us)
{
    enum { PARTS_MOST = 1 << 15 };
    const recording *r = graph_recording(g, master);
    bool *has = xcalloc(PARTS_MOST, sizeof *has), any = false;
    for (int64_t of = step; of >= step - 1; of--)
        for (uint32_t k = 0; k < r->head.n_events; k++) {
            const recorder_event *e = &r->events[k];
            bool is_new = e->kind == EVENT_RECEIVED && e->a == WIRE_NORM && e->step == of && e->lane >= 0 &&
                          e->lane < PARTS_MOST && !has[e->lane];
            if (!is_new)
                continue;
            has[e->lane] = true;
            if (of == step)
                continue;
            any = true;
            follow_norm(g, (graph_wait){.kind = GRAPH_NORM, .from = master, .lane = -1,
                                        .to = graph_peer(g, r, (uint32_t)e->b), .step = step, .part = e->lane,
                                        .slot = -1, .age_us = age_us});
        }
    free(has);
    return any;
}

/* What the master lacks for the verdict is the same for all parts. */
static void follow_verdict(wait_graph *g, const graph_wait *w)
{
    bool is_first = !graph_has_wait(g, GRAPH_VERDICT, w->step);
    const recording *r = graph_add_wait(g, w) && is_first ? graph_speaking(g, w->to) : NULL;
    if (!r)
        return;
    if (recording_message(r, EVENT_SENT, WIRE_VERDICT, -1, w->step))
        graph_add_end(g, w->to, -1, "has said the verdict on step %lld" GRAPH_UNDERWAY, (long long)w->step);
    else if (!follow_norms(g, w->to, w->step, w->age_us))
        graph_add_end(g, w->to, -1, "has not said the verdict on step %lld", (long long)w->step);
}

static void follow_slots(wait_graph *g, int at, int32_t part, int64_t step, int64_t age_us)
{
    const recording *r = graph_recording(g, at);
    size_t told = recording_step_slots(r, step), all = g->of->n_slots, n = told && told < all ? told : all;
    size_t n_missing = 0;
    bool *has = xcalloc(n + 1, sizeof *has);
    recording_slots(r, EVENT_RECEIVED, part, step, (uint32_t)n, has);
    for (size_t i = 0; i < n; i++) {
        if (has[i])
            continue;
        n_missing++;
        const slot_owner *owner = &g->of->owners[i];
        follow_slot(g, (graph_wait){.kind = GRAPH_SLOT, .from = at, .lane = -1, .to = owner->task, .step = step,
                                    .part = part, .slot = (int32_t)i, .age_us = age_us},
                    owner->lane);
    }
    free(has);
    if (n_missing)
        return;
    if (recording_message(r, EVENT_SENT, WIRE_NORM, part, step))
        follow_verdict(g, &(graph_wait){.kind = GRAPH_VERDICT, .from = at, .lane = -1, .to = graph_master(g),
                                        .step = step, .part = part, .slot = -1, .age_us = age_us});
    else
        graph_add_end(g, at, -1, "has all gradients for version %lld of part %d, and has not made it",
                      (long long)step + 1, part);
}

/* A version is not answered before the standby has acknowledged the gradient that makes it. */
static bool follow_copy(wait_graph *g, int at, const recording *r, const graph_wait *w)
{
    const recorder_event *sent = NULL;
    for (uint32_t k = 0; k < r->head.n_events; k++) {
        const recorder_event *e = &r->events[k];
        bool is_of_it = e->lane == w->part && e->step == w->step - 1 && graph_peer(g, r, (uint32_t)e->b) != at;
        if (is_of_it && e->kind == EVENT_SENT && e->a == WIRE_PUSH)
            sent = sent ? sent : e;
        else if (is_of_it && e->kind == EVENT_RECEIVED && e->a == WIRE_PUSHED)
            sent = NULL;
    }
    if (!sent)
        return false;
    const graph_wait copy = {.kind = GRAPH_COPY, .from = at, .lane = -1, .to = graph_peer(g, r, (uint32_t)sent->b),
                             .step = w->step, .part = w->part, .slot = -1, .age_us = recording_age(r, sent->at_us)};
    if (graph_add_wait(g, &copy) && graph_speaking(g, copy.to))
        graph_add_end(g, copy.to, -1, "has not acknowledged version %lld of part %d, for which it stands by",
                      (long long)w->step, w->part);
    return true;
}

static void follow_part(wait_graph *g, graph_wait w)
{
    const recording *r = graph_add_wait(g, &w) ? graph_speaking(g, w.to) : NULL;
    if (!r || g->depth == GRAPH_DEPTH_MOST)
        return;
    g->depth++;
    int64_t version = recording_version(r, w.part);
    const recorder_event *update = recording_at(r, EVENT_UPDATE);
    if (!g->of->n_slots && !update)
        graph_add_end(g, w.to, -1, "has not sent part %d of version %lld", w.part, (long long)w.step);
    else if (version >= w.step && recording_message(r, EVENT_SENT, WIRE_PART, w.part, w.step))
        graph_add_end(g, w.to, -1, "has sent part %d of version %lld" GRAPH_UNDERWAY, w.part, (long long)w.step);
    else if (version >= w.step && !follow_copy(g, w.to, r, &w))
        graph_add_end(g, w.to, -1, "has part %d at version %lld, and has not sent it", w.part, (long long)version);
    else if (version < w.step && update)
        graph_add_end(g, w.to, recording_age(r, update->at_us), "updates part %d to version %lld", update->a,
                      (long long)update->step);
    else if (version < w.step)
        follow_slots(g, w.to, w.part, version >= 0 ? version : w.step - 1, w.age_us);
    g->depth--;
}

/* --- the master --- */

/* For what the master lets nobody go on behind a version is the same for all lanes. */
static void follow_limit(wait_graph *g, const graph_wait *w)
{
    bool is_first = !graph_has_wait(g, GRAPH_LIMIT, w->step);
    const recording *r = graph_add_wait(g, w) && is_first ? graph_speaking(g, w->to) : NULL;
    if (!r)
        return;
    if (!graph_follow_holds(g, w->to, INT64_MAX))
        graph_add_end(g, w->to, -1, "lets nobody go on behind version %lld%s%s", (long long)w->step,
                      r->head.text[0] ? ": " : "", r->head.text);
}

static bool has_report(const recording *r, int64_t step, uint32_t slot)
{
    for (uint32_t k = r->head.n_events; k-- > 0;) {
        const recorder_event *e = &r->events[k];
        if (e->kind == EVENT_RECEIVED && e->a == WIRE_REPORT && e->step == step &&
            recorder_unpack_passing(e).node.index == slot)
            return true;
    }
    return false;
}

/* What the master lacks of the step after those that are complete. */
static void follow_reports(wait_graph *g, int master, const recording *r)
{
    const recorder_event *done = NULL;
    for (uint32_t k = r->head.n_events; k-- > 0 && !done;)
        done = r->events[k].kind == EVENT_STEP_DONE ? &r->events[k] : NULL;
    for (size_t i = 0; done && i < g->of->n_slots; i++) {
        const slot_owner *owner = &g->of->owners[i];
        const graph_wait w = {.kind = GRAPH_REPORT, .from = master, .lane = -1, .to = owner->task, .step = done->step,
                              .part = -1, .slot = (int32_t)i, .age_us = recording_age(r, done->at_us)};
        if (!has_report(r, done->step, (uint32_t)i) && graph_add_wait(g, &w) && graph_speaking(g, w.to))
            follow_owner(g, &w, owner->lane);
    }
}

/* --- from everybody who waits --- */

static void follow_worker(wait_graph *g, int at, const recording *r)
{
    for (uint32_t i = 0; i < r->head.n_in_progress; i++) {
        int32_t lane = r->in_progress[i].lane;
        lane_state s = recording_lane(r, lane);
        int64_t limit;
        if (lane < 0 || s.slot != &r->in_progress[i])
            continue;
        if (s.slot->kind == EVENT_SLOT && s.wait)
            follow_lane(g, at, lane, &s);
        else if (s.slot->kind == EVENT_IDLE && is_held_back(r, &limit))
            follow_limit(g, &(graph_wait){.kind = GRAPH_LIMIT, .from = at, .lane = lane, .to = graph_master(g),
                                          .step = limit, .part = -1, .slot = -1,
                                          .age_us = recording_age(r, s.slot->at_us)});
        else if (s.slot->kind == EVENT_IDLE)
            (void)follow_pulls(g, at, lane, -1);
    }
}

/* What others ask of a server, who may have left nothing themselves. */
static void follow_server(wait_graph *g, int at, const recording *r)
{
    size_t n;
    open_pull *pulls = recording_pulls(r, PULLS_OF_SERVER, &n);
    for (size_t i = 0; i < n; i++) {
        int from = graph_peer(g, r, pulls[i].peer);
        if (from >= 0 && !graph_recording(g, from))
            follow_part(g, (graph_wait){.kind = GRAPH_PART, .from = from, .lane = -1, .to = at,
                                        .step = pulls[i].version, .part = pulls[i].part, .slot = -1,
                                        .age_us = pulls[i].age_us});
    }
    free(pulls);
}

/* Those from which waits lead to the task. */
static size_t count_waiters(const wait_graph *g, int at)
{
    bool *waits = xcalloc(g->of->n_tasks + 1, sizeof *waits), grows = true;
    size_t n = 0;
    waits[at] = true;
    while (grows) {
        grows = false;
        for (size_t i = 0; i < g->n_waits; i++) {
            const graph_wait *w = &g->waits[i];
            if (w->to < 0 || !waits[w->to] || waits[w->from])
                continue;
            waits[w->from] = grows = true;
            n++;
        }
    }
    free(waits);
    return n;
}

static int by_blame(const void *a, const void *b)
{
    const graph_end *x = a, *y = b;
    if (x->n_waiters != y->n_waiters)
        return (x->n_waiters < y->n_waiters) - (x->n_waiters > y->n_waiters);
    return (x->age_us < y->age_us) - (x->age_us > y->age_us);
}

/* From what a task has written itself. */
static void follow_task(wait_graph *g, int at)
{
    const recording *r = graph_recording(g, at);
    task lanes;
    if (!r)
        return;
    bool has_lanes = recording_task_of(r, ROLE_WORKER, &lanes) && recordings_find(g->of, lanes) == at;
    role is = g->of->tasks[at].task.role;
    if (has_lanes)
        (g->is_leased ? graph_follow_leased_lanes : follow_worker)(g, at, r);
    if (is == ROLE_PS)
        (g->is_leased ? graph_follow_leased_pulls : follow_server)(g, at, r);
    if (is == ROLE_MASTER)
        (g->is_leased ? graph_follow_leases : follow_reports)(g, at, r);
    (void)graph_speaking(g, at); /* of who ended */
}

void wait_graph_make(const recordings *of, const json_t *live, wait_graph *ret)
{
    wait_graph g = {.of = of, .awaits_evaluation = json_is_true(json_object_get(live, "awaits_evaluation")),
                    .is_leased = recordings_are_leased(of)};
    if (g.is_leased)
        g.leases = recorded_leases_find(of, &g.n_leases);
    g.waits = xcalloc(GRAPH_WAITS_MOST, sizeof *g.waits);
    for (size_t i = 0; i < of->n_tasks; i++)
        follow_task(&g, (int)i);
    for (size_t i = 0; i < g.n_ends; i++)
        g.ends[i].n_waiters = count_waiters(&g, g.ends[i].task);
    if (g.n_ends)
        qsort(g.ends, g.n_ends, sizeof *g.ends, by_blame);
    *ret = g;
}

void wait_graph_fini(wait_graph *g)
{
    free(g->waits);
    free(g->ends);
    free(g->leases);
    *g = (wait_graph){.of = NULL};
}
