/*
 * Operators that put where indices say: the gradient of Gather, ScatterElements, ScatterND. Indices
 * become row numbers, the row numbers are sorted, and then every row takes what is its own, in the order of
 * backend/pick_order.h, as on the CPU, so the bits are the CPU's.
 */
#include "backend/cuda/kernels/index.h"
#include "backend/cuda/kernels/sort.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

typedef struct index_state {
    index_positions at;
    launch_reduction reduction;
    dtype type;
    int picks; /* which input they are */
    int bits;  /* of a row number */
} index_state;

/* In the scratch memory: rows, sorted, their order, workspace for sorting; and that of the sums. */
static size_t sort_bytes(const index_state *s)
{
    size_t bytes =
        3 * (size_t)s->at.count * sizeof(uint32_t) + launch_sort_workspace_bytes(s->at.count);
    return size_round_up(bytes, sizeof(uint64_t));
}

static status run_put(const cuda_node *n, const cuda_call *c, error *err)
{
    const index_state *s = n->state;
    uint32_t *rows = c->scratch, *sorted = rows + s->at.count, *order = sorted + s->at.count;
    TRY(cuda_begin_sum(n, c, err));
    launch_index(c->stream, &s->at, (launch_fault){c->fault, n->fault_node}, rows, c->in[1]);
    launch_sort(c->stream, &(launch_sort_call){.n = s->at.count,
                                               .bits = s->bits,
                                               .keys = rows,
                                               .sorted = sorted,
                                               .order = order,
                                               .workspace = order + s->at.count});
    launch_put(c->stream, &s->at, s->reduction, s->type, c->out[0], c->in[s->picks], sorted, order,
               (char *)c->scratch + sort_bytes(s));
    return OK;
}

static status plan_put(cuda_node *n, index_state s, error *err)
{
    s.at = index_positions_of(n->program->g, n->node);
    s.type = cuda_out(n, 0)->dtype;
    s.bits = sort_bits(s.at.rows);
    if (s.bits > 32 || s.at.count > UINT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "more than 2^32 positions or indices");
    index_state *kept = cuda_node_alloc(n, sizeof *kept);
    *kept = s;
    cuda_node_checks_indices(n, 1, &kept->at);
    n->body = run_put;
    n->state = kept;
    n->scratch_bytes = sort_bytes(kept) + launch_put_workspace_bytes(&s.at, s.type);
    n->takes_inplace = graph_node_inplace(n->node) != GRAPH_NONE;
    return OK;
}

status cuda_plan_gather_bwd(cuda_node *n)
{
    return plan_put(n, (index_state){.reduction = LAUNCH_ADD, .picks = 0}, n->err);
}

status cuda_plan_scatter(cuda_node *n)
{
    static const launch_reduction reductions[] = {
        [SCATTER_SET] = LAUNCH_SET, [SCATTER_ADD] = LAUNCH_ADD, [SCATTER_MUL] = LAUNCH_MUL,
        [SCATTER_MAX] = LAUNCH_MAX, [SCATTER_MIN] = LAUNCH_MIN,
    };
    scatter_reduction r = ((const index_attr *)n->node->attr)->reduction;
    dtype t = cuda_in(n, 0)->dtype;
    if (r != SCATTER_SET && t != DT_F32 && t != DT_I32 && t != DT_I64)
        return FAIL(n->err, E_UNSUPPORTED, "a reduction in %s, known are float32, int32 and int64",
                    dtype_name(t));
    return plan_put(n, (index_state){.reduction = reductions[r], .picks = 2}, n->err);
}
