/* OneHot: indices [outer, inner], y [outer, depth, inner]. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/fill.h"
#include "graph/axis_split.h"

#include <string.h>

enum { HOT_GRAIN = 16384 }; /* elements */

typedef struct one_hot_state {
    int64_t outer, depth, inner;
    dtype index;
    size_t element; /* bytes */
    uint8_t off[8], on[8];
} one_hot_state;

typedef struct one_hot_task {
    const one_hot_state *s;
    char *y;
    const void *indices;
} one_hot_task;

/* Where index i points, -1 for nowhere. */
static int64_t hot_at(const one_hot_state *s, const void *indices, int64_t i)
{
    int64_t at;
    if (s->index == DT_F32) {
        float x = ((const float *)indices)[i];
        if (!(x >= (float)-s->depth && x < (float)s->depth))
            return -1;
        at = (int64_t)x;
    } else {
        at = s->index == DT_I64 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    }
    if (at < -s->depth || at >= s->depth)
        return -1;
    return at < 0 ? at + s->depth : at;
}

static void one_hot_span(int64_t begin, int64_t end, void *arg)
{
    const one_hot_task *t = arg;
    const one_hot_state *s = t->s;
    int64_t block = s->depth * s->inner;
    fill_run(t->y + (size_t)(begin * block) * s->element, (end - begin) * block, s->off,
             s->element);
    for (int64_t o = begin; o < end; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t at = hot_at(s, t->indices, o * s->inner + i);
            if (at >= 0)
                memcpy(t->y + (size_t)(o * block + at * s->inner + i) * s->element, s->on,
                       s->element);
        }
}

static void run_one_hot(const cpu_node *n, const cpu_call *c)
{
    const one_hot_state *s = n->state;
    one_hot_task t = {.s = s, .y = c->out[0], .indices = c->in[0]};
    team_for(s->outer, HOT_GRAIN / (s->depth * s->inner + 1) + 1, one_hot_span, &t);
}

status cpu_plan_one_hot(cpu_node *n)
{
    const one_hot_attr *a = n->node->attr;
    const graph_value *x = node_in(n, 0);
    one_hot_state *s = node_runs(n, run_one_hot, sizeof *s);
    axis_split at = axis_split_of(&node_out(n, 0)->shape, a->axis);
    *s = (one_hot_state){
        .outer = at.outer, .depth = at.n, .inner = at.inner, .index = x->dtype};
    s->element = dtype_bytes(a->type);
    fill_value(a->type, a->off, s->off);
    fill_value(a->type, a->on, s->on);
    return OK;
}
