#include "graph/recompute.h"

#include "common/base/alloc.h"
#include "graph/recompute_walk.h"

#include <stdlib.h>

enum {
    SHARE = 8,      /* of what could be dropped, one in so many is at a time, before gains are measured anew */
    SMALL = 8192,   /* what has less than this part of the bytes is not worth a node */
    HALVINGS = 10,  /* of the range in which the least is looked for */
};

typedef struct gain {
    graph_val v;
    double a_cost;  /* excess less, for each cost more */
} gain;

typedef struct search {
    recompute_walk walk;
    size_t target;
    graph_val *values; /* what may be dropped and is worth it */
    int32_t n;
    gain *gains;
} search;

static void search_init(search *s, const graph *g, const recompute_options *o, size_t target)
{
    *s = (search){.target = target};
    recompute_walk *w = &s->walk;
    recompute_walk_init(w, g, o);
    size_t all = 0;
    for (graph_val v = 0; v < w->n_values; v++)
        all += w->can_drop[v] && w->is_needed[v] ? w->bytes[v] : 0;
    s->values = xcalloc((size_t)w->n_values + 1, sizeof *s->values);
    s->gains = xcalloc((size_t)w->n_values + 1, sizeof *s->gains);
    for (graph_val v = 0; v < w->n_values; v++)
        if (w->can_drop[v] && w->is_needed[v] && w->shows[v] == v && w->bytes[v] > all / SMALL)
            s->values[s->n++] = v;
    recompute_walk_take(w, target);
}

static void search_fini(search *s)
{
    recompute_walk_fini(&s->walk);
    free(s->values);
    free(s->gains);
}

static void drop(search *s, graph_val v, bool dropped)
{
    s->walk.dropped[v] = dropped;
    recompute_walk_take(&s->walk, s->target);
}

static int best_first(const void *left, const void *right)
{
    const gain *a = left, *b = right;
    if (a->a_cost != b->a_cost)
        return a->a_cost > b->a_cost ? -1 : 1;
    return (a->v > b->v) - (a->v < b->v);
}

/* What each alone would gain, the best first. */
static int32_t measure_gains(search *s)
{
    const double excess = s->walk.excess, cost = s->walk.cost;
    int32_t n = 0;
    for (int32_t i = 0; i < s->n; i++) {
        if (s->walk.dropped[s->values[i]])
            continue;
        drop(s, s->values[i], true);
        if (s->walk.excess < excess)
            s->gains[n++] = (gain){s->values[i], (excess - s->walk.excess) / (s->walk.cost - cost + 1)};
        s->walk.dropped[s->values[i]] = false;
    }
    recompute_walk_take(&s->walk, s->target);
    qsort(s->gains, (size_t)n, sizeof *s->gains, best_first);
    return n;
}

/* Drops of the best while that still gains; false: nothing does. */
static bool drop_best(search *s)
{
    int32_t n = measure_gains(s), taken = 0;
    for (int32_t i = 0; i < n && taken <= n / SHARE && s->walk.excess > 0; i++) {
        double excess = s->walk.excess;
        drop(s, s->gains[i].v, true);
        if (s->walk.excess < excess)
            taken++;
        else
            drop(s, s->gains[i].v, false);
    }
    return taken > 0;
}

/* What can be kept after all, from the end of forward on. */
static void keep_again(search *s)
{
    recompute_walk *w = &s->walk;
    for (graph_val v = w->n_values - 1; v >= 0; v--) {
        const graph_value *value = graph_value_at(w->g, v);
        if (!w->dropped[v] || !w->can_drop[v] || w->shows[v] != v || !w->again[value->def])
            continue;
        double excess = w->excess, cost = w->cost;
        drop(s, v, false);
        if (w->excess > excess || w->cost >= cost)
            drop(s, v, true);
    }
}

static void search_run(search *s)
{
    while (s->walk.excess > 0 && drop_best(s))
        ;
    keep_again(s);
}

static recompute_cost cost_of(const recompute_walk *w)
{
    recompute_cost cost = {.temp = w->most};
    for (int32_t i = 0; i < w->n_forward; i++) {
        double flops = graph_node_flops(w->g, i);
        cost.forward_flops += flops;
        cost.forward_moved += w->moved[i];
        cost.n_nodes += w->again[i] && w->moved[i] > 0;
        cost.flops += w->again[i] ? flops : 0;
        cost.moved += w->again[i] ? w->moved[i] : 0;
    }
    return cost;
}

status graph_recompute(const graph *g, const recompute_options *o, graph **ret, recompute_cost *ret_cost, error *err)
{
    search s;
    search_init(&s, g, o, o->temp);
    search_run(&s);
    status st = recompute_graph(&s.walk, ret, err);
    if (st == OK)
        *ret_cost = cost_of(&s.walk);
    search_fini(&s);
    return st;
}

/* A target that cannot be met leads somewhere else than one that can: so the least is looked for between. */
size_t graph_recompute_least(const graph *g, const recompute_options *o)
{
    size_t low = 0, least = SIZE_MAX, best = 0;
    for (int i = 0; i < HALVINGS; i++) {
        size_t target = least == SIZE_MAX ? 0 : low + (least - low) / 2;
        search s;
        search_init(&s, g, o, target);
        search_run(&s);
        if (s.walk.most > target)
            low = target;
        if (s.walk.most < least) {
            least = s.walk.most;
            best = target;
        }
        search_fini(&s);
    }
    return best;
}
