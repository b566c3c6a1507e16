#include "worker/lane_reducer.h"

#include "common/base/alloc.h"
#include "common/parts/block.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct part_sum {
    pthread_mutex_t lock;
    int64_t step;               /* of the reducer; -1: none */
    tree_reducer *reducer;
    block_pool pool;
} part_sum;

typedef struct step_plan {
    int64_t step;
    uint32_t n_slots;
    tree_node *target;          /* [max_slots] the node a slot's leaf goes into */
} step_plan;

struct lane_reducer {
    const flat *flat;
    step_plan plans[2];         /* [step & 1] */
    part_sum *parts;            /* [n_live_parts] */
};

status lane_reducer_create(const flat *f, uint32_t max_slots, part_store *store, lane_reducer **ret,
                           error *err)
{
    lane_reducer *g = xcalloc(1, sizeof *g);
    store = part_store_or_host(store);
    g->flat = f;
    g->parts = xcalloc((size_t)f->n_live_parts, sizeof *g->parts);
    for (int i = 0; i < 2; i++)
        g->plans[i] = (step_plan){.step = -1, .target = xcalloc(max_slots, sizeof(tree_node))};
    status st = OK;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        part_sum *s = &g->parts[p];
        s->step = -1;
        pthread_mutex_init(&s->lock, NULL);
        block_pool_init(&s->pool, (size_t)flat_part_elements(f, p), store);
        if (st == OK)
            st = tree_reducer_create(max_slots, &s->reducer, err);
    }
    if (st != OK)
        lane_reducer_destroy(&g);
    else
        *ret = g;
    return st;
}

void lane_reducer_destroy(lane_reducer **g)
{
    if (!g || !*g)
        return;
    for (int32_t p = 0; p < (*g)->flat->n_live_parts; p++) {
        part_sum *s = &(*g)->parts[p];
        tree_reducer_destroy(&s->reducer);
        block_pool_fini(&s->pool);
        pthread_mutex_destroy(&s->lock);
    }
    free((*g)->plans[0].target);
    free((*g)->plans[1].target);
    free((*g)->parts);
    free(*g);
    *g = NULL;
}

static void plan_run(step_plan *plan, uint32_t first, uint32_t end)
{
    tree_node nodes[64];
    size_t n = tree_cover(first, end, plan->n_slots, nodes);
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = tree_node_first(nodes[i]); s < tree_node_end(nodes[i], plan->n_slots); s++)
            plan->target[s] = nodes[i];
}

void lane_reducer_plan(lane_reducer *g, int64_t step, uint32_t n_slots, const uint32_t *slots, uint32_t n)
{
    step_plan *plan = &g->plans[step & 1];
    if (plan->step != step) {       /* else lanes may be reading it: only new slots are written */
        plan->step = step;
        plan->n_slots = n_slots;
    }
    for (uint32_t i = 0; i < n;) {
        uint32_t run = i + 1;
        while (run < n && slots[run] == slots[run - 1] + 1)
            run++;
        plan_run(plan, slots[i], slots[run - 1] + 1);
        i = run;
    }
}

void lane_reducer_forget(lane_reducer *g)
{
    g->plans[0].step = g->plans[1].step = -1;
    for (int32_t p = 0; p < g->flat->n_live_parts; p++) {
        tree_reducer_begin(g->parts[p].reducer, 1);
        g->parts[p].step = -1;
    }
}

static status leaf_of(part_sum *s, const float *grad, span *borrowed, span **ret, error *err)
{
    if (borrowed) {
        *ret = borrowed;
        return OK;
    }
    TRY(block_pool_take(&s->pool, ret, err));
    s->pool.store->memory->copy(s->pool.store, (*ret)->floats, grad, span_n(*ret));
    return OK;
}

static status add_locked(part_sum *s, const step_plan *plan, tree_node node, const float *grad,
                         span *borrowed, span **ret_sum, error *err)
{
    if (s->step != plan->step) {
        tree_reducer_begin(s->reducer, plan->n_slots);
        s->step = plan->step;
    }
    tree_node target = plan->target[tree_node_first(node)];
    span *leaf = NULL;
    TRY(leaf_of(s, grad, borrowed, &leaf, err));
    tree_reducer_pool pool = block_pool_for_reducer(&s->pool);
    tree_reduced result;
    status st = tree_reducer_add(s->reducer, node, leaf, target, &pool, &result, err);
    if (st != OK) {
        span_drop(leaf);
        return st;
    }
    *ret_sum = result == TREE_COMPLETE ? tree_reducer_take(s->reducer, target) : NULL;
    return OK;
}

status lane_reducer_add(lane_reducer *g, int32_t part, int64_t step, tree_node node, const float *grad,
                        span *borrowed, tree_node *ret_node, span **ret_sum, error *err)
{
    part_sum *s = &g->parts[part];
    part_store *store = s->pool.store;
    const step_plan *plan = &g->plans[step & 1];
    BUG_ON(plan->step != step);
    *ret_node = plan->target[tree_node_first(node)];
    pthread_mutex_lock(&s->lock);
    bool computes = !borrowed || (s->step == step && tree_reducer_held(s->reducer));
    status st = computes ? store->memory->take(store, part, err) : OK;
    if (st == OK)
        st = add_locked(s, plan, node, grad, borrowed, ret_sum, err);
    if (st == OK && computes)
        st = store->memory->give(store, part, err);
    pthread_mutex_unlock(&s->lock);
    return st;
}
