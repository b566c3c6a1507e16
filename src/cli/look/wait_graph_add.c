#include "cli/look/wait_graph_internal.h"

#include "common/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const recording *graph_recording(const wait_graph *g, int at)
{
    const recording_file *file = at < 0 ? NULL : g->of->tasks[at].file;
    return file ? &file->r : NULL;
}

int graph_master(const wait_graph *g)
{
    return recordings_find(g->of, (task){ROLE_MASTER, 0});
}

int graph_peer(const wait_graph *g, const recording *r, uint32_t peer)
{
    task who;
    return recording_peer_of(r, peer, &who) ? recordings_find(g->of, who) : -1;
}

/* --- what is found --- */

bool graph_add_wait(wait_graph *g, const graph_wait *w)
{
    for (size_t i = 0; i < g->n_waits; i++) {
        const graph_wait *o = &g->waits[i];
        if (o->kind == w->kind && o->from == w->from && o->lane == w->lane && o->to == w->to && o->step == w->step &&
            o->part == w->part && o->slot == w->slot)
            return false;
    }
    if (g->n_waits == GRAPH_WAITS_MOST)
        return false;
    g->waits[g->n_waits++] = *w;
    return true;
}

bool graph_has_wait(const wait_graph *g, graph_wait_kind kind, int64_t step)
{
    for (size_t i = 0; i < g->n_waits; i++)
        if (g->waits[i].kind == kind && g->waits[i].step == step)
            return true;
    return false;
}

void graph_add_end(wait_graph *g, int at, int64_t age_us, const char *format, ...)
{
    char words[GRAPH_WORDS];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    for (size_t i = 0; i < g->n_ends; i++)
        if (g->ends[i].task == at && strcmp(g->ends[i].words, words) == 0)
            return;
    g->ends = xrealloc(g->ends, (g->n_ends + 1) * sizeof *g->ends);
    graph_end *end = &g->ends[g->n_ends++];
    *end = (graph_end){.task = at, .age_us = age_us};
    memcpy(end->words, words, sizeof words);
}

/* --- ends --- */

const recording *graph_speaking(wait_graph *g, int at)
{
    static const char *const silent[] = {
        "has written nothing: it hangs or is stopped, was killed, its host is gone, or what it wrote is elsewhere",
        "has written nothing when the others did, only long before"};
    const recording *r = graph_recording(g, at);
    if (at < 0)
        return NULL;
    if (!r)
        graph_add_end(g, at, -1, "%s", silent[g->of->tasks[at].is_old]);
    else if (r->head.reason == RECORDING_DEATH)
        graph_add_end(g, at, -1, "died of signal %d (%s)", r->head.signal, strsignal(r->head.signal));
    else if (r->head.reason == RECORDING_FAILURE)
        graph_add_end(g, at, -1, "gave up: %s", r->head.text);
    else
        return r;
    return NULL;
}
