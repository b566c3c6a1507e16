/* Reductions of whole numbers: counts, positions, lengths. Short, so element by element. */
#include "backend/cpu/reduce.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

typedef struct whole_state {
    reduce_space space;
    graph_op op;
    bool wide; /* int64 */
} whole_state;

typedef struct whole_task {
    const whole_state *s;
    void *y;
    const void *x;
} whole_task;

static int64_t load(const whole_task *t, int64_t at)
{
    return t->s->wide ? ((const int64_t *)t->x)[at] : ((const int32_t *)t->x)[at];
}

static int64_t join(graph_op op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_REDUCE_MAX:
        return a > b ? a : b;
    case OP_REDUCE_MIN:
        return a < b ? a : b;
    case OP_REDUCE_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static void reduce_positions(int64_t begin, int64_t end, void *arg)
{
    const whole_task *t = arg;
    const reduce_space *s = &t->s->space;
    int64_t depth = reduce_depth(s);
    for (int64_t i = begin; i < end; i++) {
        int64_t all = load(t, reduce_element(s, i, 0));
        for (int64_t k = 1; k < depth; k++)
            all = join(t->s->op, all, load(t, reduce_element(s, i, k)));
        if (t->s->wide)
            ((int64_t *)t->y)[i] = all;
        else
            ((int32_t *)t->y)[i] = (int32_t)all;
    }
}

static void run_whole(const cpu_node *n, const cpu_call *c)
{
    const whole_state *s = n->state;
    whole_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(reduce_width(&s->space), REDUCE_GRAIN / (reduce_depth(&s->space) + 1) + 1,
             reduce_positions, &t);
}

status reduce_plan_whole(cpu_node *n)
{
    graph_op op = n->node->op;
    if (op != OP_REDUCE_SUM && op != OP_REDUCE_MAX && op != OP_REDUCE_MIN && op != OP_REDUCE_PROD)
        return FAIL(n->err, E_UNSUPPORTED, "of whole numbers there are sum, product and extremes");
    whole_state *s = node_runs(n, run_whole, sizeof *s);
    reduce_space_of(n->node, &node_in(n, 0)->shape, &node_out(n, 0)->shape, &s->space);
    s->op = op;
    s->wide = node_in(n, 0)->dtype == DT_I64;
    return OK;
}
