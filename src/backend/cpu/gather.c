/*
 * Operators that pick or put by index: Gather and its gradient, GatherElements, GatherND,
 * ScatterElements, ScatterND. Indices become row numbers first, in the workspace; a row is what one
 * of them names: the axes behind the named ones, or a single element for the Elements forms.
 */
#include "backend/cpu/picks.h"
#include "backend/cpu/positions.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"

typedef struct gather_state {
    index_positions positions;
    picks picks;
    picks_rule rule; /* those that put */
} gather_state;

/* Row numbers go to the scratch memory. */
static gather_state *begin_state(cpu_node *n)
{
    gather_state *s = node_alloc(n, sizeof *s);
    const index_positions *at = &s->positions;
    s->positions = index_positions_of(n->program->g, n->node);
    s->picks = picks_make(at->outer, at->rows, at->count, at->inner,
                          dtype_bytes(node_out(n, 0)->dtype), n->program->backend->threads);
    n->state = s;
    n->scratch_bytes = (size_t)graph_shape_elements(&node_in(n, 1)->shape) * sizeof(int64_t);
    return s;
}

static status run_pick(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(positions_find(&s->positions, c->in[1], c->scratch, err));
    picks_take(&s->picks, c->out[0], c->in[0], c->scratch);
    return OK;
}

status cpu_plan_gather(cpu_node *n)
{
    begin_state(n);
    n->body = run_pick;
    return OK;
}

/* What picks are put by, and behind the row numbers what that needs. */
static status plan_put(cpu_node *n, gather_state *s, scatter_reduction r, cpu_body body)
{
    dtype t = node_out(n, 0)->dtype;
    s->rule = picks_rule_of(r, t);
    if (!s->rule.combine)
        return FAIL(n->err, E_UNSUPPORTED, "a reduction in %s, known are float32, int32 and int64",
                    dtype_name(t));
    if (s->picks.n > UINT32_MAX)
        return FAIL(n->err, E_UNSUPPORTED, "more than 2^32 positions");
    n->body = body;
    n->scratch_bytes += picks_workspace_bytes(&s->picks, &s->rule);
    return OK;
}

static void *behind_rows(const cpu_node *n, const cpu_call *c)
{
    return (int64_t *)c->scratch + graph_shape_elements(&node_in(n, 1)->shape);
}

static status run_gather_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(positions_find(&s->positions, c->in[1], c->scratch, err));
    if (!node_begin_sum(n, c))
        team_zero(c->out[0], n->program->bytes[n->node->out[0]]);
    picks_combine(&s->picks, &s->rule, c->out[0], c->in[0], c->scratch, behind_rows(n, c));
    return OK;
}

status cpu_plan_gather_bwd(cpu_node *n)
{
    return plan_put(n, begin_state(n), SCATTER_ADD, run_gather_bwd);
}

static status run_put(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(positions_find(&s->positions, c->in[1], c->scratch, err));
    node_copy_apart(n, c);
    picks_combine(&s->picks, &s->rule, c->out[0], c->in[2], c->scratch, behind_rows(n, c));
    return OK;
}

status cpu_plan_scatter(cpu_node *n)
{
    return plan_put(n, begin_state(n), ((const index_attr *)n->node->attr)->reduction, run_put);
}
