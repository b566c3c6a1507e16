/* Operators along one axis: ArgMax, ArgMin, Hardmax, CumSum, TopK. The tensor is [outer, axis,
 * inner]. */
#include "backend/cuda/kernels/along.h"
#include "backend/cuda/kernels/sort.h"
#include "backend/cuda/kernels/top_k.h"
#include "backend/cuda/plan/plan.h"
#include "graph/axis_split.h"

/* Lines of at least so many elements that lie together in memory, about, get a block. */
enum { LONG = 128, APART = 32 };

static launch_along_call along_axis(const graph_value *x, int32_t axis)
{
    axis_split at = axis_split_of(&x->shape, axis);
    launch_along_call c = {
        .outer = at.outer, .axis = at.n, .inner = at.inner, .type = x->dtype};
    c.by_block = c.axis >= LONG && c.inner < APART;
    return c;
}

static void run_arg(const cuda_node *n, const cuda_call *c)
{
    launch_arg(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_hardmax(const cuda_node *n, const cuda_call *c)
{
    launch_hardmax(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_cum_sum(const cuda_node *n, const cuda_call *c)
{
    launch_cum_sum(c->stream, n->state, c->out[0], c->in[0]);
}

static launch_along_call choose_along(cuda_node *n, const graph_value *x)
{
    if (n->node->op == OP_CUM_SUM) {
        const cum_sum_attr *a = n->node->attr;
        launch_along_call c = along_axis(x, a->axis);
        c.exclusive = a->exclusive;
        c.reverse = a->reverse;
        n->launch = run_cum_sum;
        return c;
    }
    if (n->node->op == OP_HARDMAX) {
        n->launch = run_hardmax;
        return along_axis(x, ((const axis_attr *)n->node->attr)->axis);
    }
    const arg_attr *a = n->node->attr;
    launch_along_call c = along_axis(x, a->axis);
    c.last = a->last;
    c.smallest = n->node->op == OP_ARG_MIN;
    n->launch = run_arg;
    return c;
}

status cuda_plan_along(cuda_node *n)
{
    const graph_value *x = cuda_in(n, 0);
    if (x->dtype != DT_F32 && x->dtype != DT_I64 && x->dtype != DT_I32)
        return FAIL(n->err, E_UNSUPPORTED, "%s along an axis", dtype_name(x->dtype));
    launch_along_call *s = cuda_node_alloc(n, sizeof *s);
    *s = choose_along(n, x);
    n->state = s;
    return OK;
}

/* --- the first k --- */

typedef struct top_k_state {
    launch_top_k_call call;
    int64_t n;     /* elements */
    int word_bits; /* of a word of a key */
    int line_bits; /* of the number of a line; 0: there is one */
} top_k_state;

static void run_short(const cuda_node *n, const cuda_call *c)
{
    const top_k_state *s = n->state;
    launch_top_k(c->stream, &s->call, c->out[0], c->out[1], c->in[0]);
}

/* In the scratch memory: keys, sorted keys, two orders, workspace for sorting. */
typedef struct top_k_sort {
    uint32_t *keys, *sorted, *from, *to;
    void *workspace;
} top_k_sort;

/* What is in the order `from` comes into the order of a word of its keys. */
static void sort_by(const top_k_state *s, const cuda_call *c, top_k_sort *t, launch_top_k_word word,
                    bool is_first)
{
    uint32_t *from = is_first ? NULL : t->from;
    launch_top_k_keys(c->stream, &s->call, word, t->keys, from, c->in[0]);
    launch_sort(c->stream,
                &(launch_sort_call){.n = s->n,
                                    .bits = word == TOP_K_LINE ? s->line_bits : s->word_bits,
                                    .keys = t->keys,
                                    .from = from,
                                    .sorted = t->sorted,
                                    .order = t->to,
                                    .workspace = t->workspace});
    uint32_t *made = t->to;
    t->to = t->from;
    t->from = made;
}

static void run_long(const cuda_node *n, const cuda_call *c)
{
    const top_k_state *s = n->state;
    uint32_t *scratch = c->scratch;
    top_k_sort t = {scratch, scratch + s->n, scratch + 2 * s->n, scratch + 3 * s->n,
                    scratch + 4 * s->n};
    sort_by(s, c, &t, TOP_K_LOW, true);
    if (s->call.type == DT_I64)
        sort_by(s, c, &t, TOP_K_HIGH, false);
    if (s->line_bits > 0)
        sort_by(s, c, &t, TOP_K_LINE, false);
    launch_top_k_sorted(c->stream, &s->call, c->out[0], c->out[1], c->in[0], t.from);
}

static status check_top_k(const top_k_state *s, error *err)
{
    dtype t = s->call.type;
    if (t != DT_F32 && t != DT_I64 && t != DT_I32 && t != DT_U8)
        return FAIL(err, E_UNSUPPORTED, "an order of %s, known are float32, int64, int32 and uint8",
                    dtype_name(t));
    if (s->n > UINT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "an order of more than 2^32 elements");
    if (s->call.outer * s->call.inner > INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "orders of more than 2^31 lines");
    return OK;
}

status cuda_plan_top_k(cuda_node *n)
{
    const top_k_attr *a = n->node->attr;
    const graph_value *x = cuda_in(n, 0);
    launch_along_call along = along_axis(x, a->axis);
    bool is_long = along.axis > LAUNCH_TOP_K_SHORT;
    top_k_state *s = cuda_node_runs(n, is_long ? run_long : run_short, sizeof *s);
    s->call = (launch_top_k_call){.outer = along.outer,
                                  .size = along.axis,
                                  .inner = along.inner,
                                  .k = a->k,
                                  .type = x->dtype,
                                  .smallest = a->smallest};
    s->n = graph_shape_elements(&x->shape);
    s->word_bits = x->dtype == DT_U8 ? 8 : 32;
    while (s->line_bits < 32 && along.outer * along.inner > (int64_t)1 << s->line_bits)
        s->line_bits++;
    TRY(check_top_k(s, n->err));
    if (is_long)
        n->scratch_bytes = 4 * (size_t)s->n * sizeof(uint32_t) + launch_sort_workspace_bytes(s->n);
    return OK;
}
