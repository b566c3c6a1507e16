#include "cli/look/wait_graph_internal.h"

#include "cli/look/recording_query.h"

#include <string.h>

static void follow_shard(wait_graph *g, int master, int at, int64_t step, int64_t age_us)
{
    const graph_wait w = {.kind = GRAPH_SHARD, .from = master, .lane = -1, .to = at, .step = step, .part = -1,
                          .slot = -1, .age_us = age_us};
    const recording *r = graph_add_wait(g, &w) ? graph_speaking(g, at) : NULL;
    if (!r)
        return;
    const recorder_event *writes = recording_at(r, EVENT_WRITE_SHARD);
    if (writes)
        graph_add_end(g, at, recording_age(r, writes->at_us), "writes its shard of the checkpoint of step %lld",
                      (long long)writes->step);
    else
        graph_add_end(g, at, -1, "has not written its shard of the checkpoint of step %lld", (long long)step);
}

/* Cuts that were asked for, at that step at the latest, and have not come. */
static bool follow_cuts(wait_graph *g, int master, const recording *r, int64_t until)
{
    bool any = false;
    for (size_t i = 0; i < g->of->n_tasks; i++) {
        const recorder_event *asked = NULL;
        for (uint32_t k = 0; k < r->head.n_events && g->of->tasks[i].task.role == ROLE_PS; k++) {
            const recorder_event *e = &r->events[k];
            bool asks = e->kind == EVENT_SENT && e->a == WIRE_CUT && e->step <= until;
            bool is_end = e->kind == EVENT_RECEIVED && e->a == WIRE_CUT_DONE && asked && asked->step <= e->step;
            if ((!asks && !is_end) || graph_peer(g, r, (uint32_t)e->b) != (int)i)
                continue;
            if (is_end)
                asked = NULL;
            else if (!asked || asked->step != e->step)
                asked = e;
        }
        if (asked)
            follow_shard(g, master, (int)i, asked->step, recording_age(r, asked->at_us));
        any = any || asked;
    }
    return any;
}

static void follow_evaluation(wait_graph *g, int master)
{
    int at = recordings_find(g->of, (task){ROLE_EVALUATOR, 0});
    const graph_wait w = {.kind = GRAPH_EVALUATION, .from = master, .lane = -1, .to = at, .step = -1, .part = -1,
                          .slot = -1, .age_us = 0};
    const recording *r = graph_add_wait(g, &w) ? graph_speaking(g, at) : NULL;
    if (!r)
        return;
    const recorder_event *e = recording_at(r, EVENT_EVALUATE);
    if (e)
        graph_add_end(g, at, recording_age(r, e->at_us), "evaluates step %lld", (long long)e->step);
    else
        graph_add_end(g, at, -1, "evaluates nothing, and an evaluation is awaited");
}

bool graph_follow_holds(wait_graph *g, int master, int64_t until)
{
    const recording *r = graph_recording(g, master);
    if (follow_cuts(g, master, r, until))
        return true;
    bool is_for = strstr(r->head.text, "for=evaluation") != NULL;
    if (is_for || g->awaits_evaluation)
        follow_evaluation(g, master);
    return is_for || g->awaits_evaluation;
}
