/*
 * Pooling on oneDNN, in the layout its input has. MaxPool's second output is oneDNN's own memory of
 * where the maxima were: opaque bytes, as many as the primitive says.
 *
 * An average that counts padding divides by the elements of image and padding under the window.
 * What ceil_mode lets the last window hang over beyond them never counts, but is padding to oneDNN:
 * there the primitive runs on plain layouts and a factor per output element puts its divisor right.
 *
 * MaxPool's indices, where asked for, are found by a pass of our own over the plain input.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/cpu/window.h"
#include "common/base/alloc.h"

typedef struct hanging_pool {
    shim_primitive *pool;
    const float *factor; /* [n_out]: elements of the window / those that count */
    int64_t n_out;       /* of one plane */
    int64_t n_planes;
    size_t scaled_at; /* backward: where in the scratch the scaled gradient lies */
} hanging_pool;

static shim_pooling kind_of(const cpu_node *n)
{
    if (n->node->op == OP_MAX_POOL || n->node->op == OP_MAX_POOL_BWD)
        return SHIM_POOL_MAX;
    if (n->node->op == OP_GLOBAL_AVERAGE_POOL)
        return SHIM_POOL_MEAN;
    return ((const pool_attr *)n->node->attr)->count_include_pad ? SHIM_POOL_MEAN_PADDED
                                                                 : SHIM_POOL_MEAN;
}

static status run_pool(const cpu_node *n, const cpu_call *c, error *err)
{
    shim_primitive *pool = (shim_primitive *)(uintptr_t)n->state;
    TRY(shim_set(pool, SHIM_SRC, c->in[0], err));
    TRY(shim_set(pool, SHIM_DST, c->out[0], err));
    TRY(shim_set(pool, SHIM_WORKSPACE, c->out[1], err));
    return node_execute(pool, c->scratch, err);
}

typedef struct index_pool {
    shim_primitive *pool;
    window window;
    int64_t n_in, n_out; /* elements of a plane */
    int64_t n_planes;
    bool column_major;
} index_pool;

typedef struct index_task {
    const index_pool *s;
    const float *x;
    int64_t *indices;
} index_task;

/* The first of the largest elements; NaN counts as larger than all. */
static int64_t find_largest(const float *x, const window_taps *t)
{
    int64_t best = t->first;
    for (int64_t a = 0; a < t->count[0]; a++)
        for (int64_t b = 0; b < t->count[1]; b++)
            for (int64_t c = 0; c < t->count[2]; c++) {
                int64_t at = t->first + a * t->step[0] + b * t->step[1] + c * t->step[2];
                if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best]))
                    best = at;
            }
    return best;
}

/* Element `at` of a plane, counted with its first axis running fastest. */
static int64_t by_columns(const window *w, int64_t at)
{
    int64_t ret = 0, elements = window_volume(w->in);
    for (int i = SPATIAL - 1; i >= 0; i--) {
        elements /= w->in[i];
        ret += at % w->in[i] * elements;
        at /= w->in[i];
    }
    return ret;
}

static void index_planes(int64_t begin, int64_t end, void *arg)
{
    const index_task *t = arg;
    const index_pool *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t o = 0; o < s->n_out; o++) {
            window_taps taps = window_taps_at(&s->window, o);
            int64_t at = find_largest(t->x + i * s->n_in, &taps);
            t->indices[i * s->n_out + o] =
                i * s->n_in + (s->column_major ? by_columns(&s->window, at) : at);
        }
    }
}

static status run_index_pool(const cpu_node *n, const cpu_call *c, error *err)
{
    const index_pool *s = n->state;
    index_task t = {.s = s, .x = c->in[0], .indices = c->out[2]};
    TRY(shim_set(s->pool, SHIM_SRC, c->in[0], err));
    TRY(shim_set(s->pool, SHIM_DST, c->out[0], err));
    TRY(shim_set(s->pool, SHIM_WORKSPACE, c->out[1], err));
    TRY(node_execute(s->pool, c->scratch, err));
    team_for(s->n_planes, 1, index_planes, &t);
    return OK;
}

/* How many elements of the window at position `o` of axis i lie in image or padding. */
static int64_t count_axis(const window *w, int i, int64_t o)
{
    int64_t end = w->in[i] + w->begin[i] + w->end[i], count = 0;
    for (int64_t k = 0; k < w->kernel[i]; k++)
        count += o * w->stride[i] + k * w->dilation[i] < end;
    return count;
}

/* NULL: every window counts whole. */
static hanging_pool *find_overhang(const cpu_node *n, const window *w)
{
    bool hangs = w->overhang[0] > 0 || w->overhang[1] > 0 || w->overhang[2] > 0;
    if (kind_of(n) != SHIM_POOL_MEAN_PADDED || !hangs)
        return NULL;
    hanging_pool *h = node_alloc(n, sizeof *h);
    int64_t whole = window_volume(w->kernel), n_out = window_volume(w->out);
    float *factor = node_alloc(n, (size_t)n_out * sizeof *factor);
    for (int64_t o = 0; o < n_out; o++) {
        int64_t counted = 1, rest = o;
        for (int i = SPATIAL - 1; i >= 0; i--) {
            counted *= count_axis(w, i, rest % w->out[i]);
            rest /= w->out[i];
        }
        factor[o] = (float)whole / (float)counted;
    }
    *h = (hanging_pool){.factor = factor, .n_out = n_out, .n_planes = w->y.dim[0] * w->y.dim[1]};
    return h;
}

static void scale_planes(const hanging_pool *h, const float *from, float *to)
{
    for (int64_t plane = 0; plane < h->n_planes; plane++)
        for (int64_t o = 0; o < h->n_out; o++)
            to[plane * h->n_out + o] = from[plane * h->n_out + o] * h->factor[o];
}

static status run_hanging_pool(const cpu_node *n, const cpu_call *c, error *err)
{
    const hanging_pool *h = n->state;
    TRY(shim_set(h->pool, SHIM_SRC, c->in[0], err));
    TRY(shim_set(h->pool, SHIM_DST, c->out[0], err));
    TRY(node_execute(h->pool, c->scratch, err));
    scale_planes(h, c->out[0], c->out[0]);
    return OK;
}

static status plan_hanging_pool(cpu_node *n, const shim_window *w,
                                hanging_pool *h, error *err)
{
    TRY(layout_plain(n->program, &node_in(n, 0)->shape, &n->in[0].want, err));
    TRY(layout_plain(n->program, &node_out(n, 0)->shape, &n->out[0].want, err));
    TRY(shim_pool(n->program->shim, SHIM_POOL_MEAN_PADDED, w, n->in[0].want, n->out[0].want, false, &h->pool,
                  err));
    n->body = run_hanging_pool;
    n->state = h;
    n->scratch_bytes = shim_bytes_of(h->pool, SHIM_SCRATCH);
    return OK;
}

static status plan_forward(cpu_node *n, error *err)
{
    window moves = window_of(n->program->g, n->node);
    shim_window w = window_shim(&moves);
    hanging_pool *hanging = find_overhang(n, &moves);
    if (hanging)
        return plan_hanging_pool(n, &w, hanging, err);
    const shim_layout *src = n->program->layout[n->node->in[0]], *dst;
    bool training = n->node->op == OP_MAX_POOL && node_out(n, 1);
    bool indices = n->node->op == OP_MAX_POOL && node_out(n, 2);
    if (indices)
        TRY(layout_plain(n->program, &moves.x, &src, err));
    TRY(layout_any(n->program, &moves.y, &dst, err));
    shim_primitive *pool;
    TRY(shim_pool(n->program->shim, kind_of(n), &w, src, dst, training, &pool, err));
    n->body = run_pool;
    n->state = pool;
    n->scratch_bytes = shim_bytes_of(pool, SHIM_SCRATCH);
    n->in[0].want = shim_layout_of(pool, SHIM_SRC);
    n->out[0].want = shim_layout_of(pool, SHIM_DST);
    if (indices) {
        index_pool *s = node_alloc(n, sizeof *s);
        *s = (index_pool){.pool = pool,
                          .window = moves,
                          .n_in = window_volume(moves.in),
                          .n_out = window_volume(moves.out),
                          .n_planes = moves.x.dim[0] * moves.x.dim[1],
                          .column_major = ((const pool_attr *)n->node->attr)->column_major};
        n->body = run_index_pool;
        n->state = s;
    }
    if (training)
        n->program->bytes[n->node->out[1]] = shim_bytes_of(pool, SHIM_WORKSPACE);
    return OK;
}

static status run_pool_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    shim_primitive *pool = (shim_primitive *)(uintptr_t)n->state;
    TRY(shim_set(pool, SHIM_DIFF_DST, c->in[0], err));
    TRY(shim_set(pool, SHIM_WORKSPACE, c->in[1], err));
    TRY(shim_set(pool, SHIM_DIFF_SRC, c->out[0], err));
    return node_execute(pool, c->scratch, err);
}

static status run_hanging_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const hanging_pool *h = n->state;
    float *scaled = (float *)((char *)c->scratch + h->scaled_at);
    scale_planes(h, c->in[0], scaled);
    TRY(shim_set(h->pool, SHIM_DIFF_DST, scaled, err));
    TRY(shim_set(h->pool, SHIM_DIFF_SRC, c->out[0], err));
    return node_execute(h->pool, c->scratch, err);
}

static status plan_hanging_bwd(cpu_node *n, const shim_window *w,
                               hanging_pool *h, error *err)
{
    TRY(layout_plain(n->program, &node_in(n, 0)->shape, &n->in[0].want, err));
    TRY(layout_plain(n->program, &node_out(n, 0)->shape, &n->out[0].want, err));
    TRY(shim_mean_pool_bwd(n->program->shim, SHIM_POOL_MEAN_PADDED, w, n->out[0].want, n->in[0].want,
                           &h->pool, err));
    n->body = run_hanging_bwd;
    n->state = h;
    h->scaled_at = size_round_up(shim_bytes_of(h->pool, SHIM_SCRATCH), MEM_ALIGN);
    n->scratch_bytes = h->scaled_at + shim_layout_bytes(n->in[0].want);
    return OK;
}

static status plan_max_bwd(cpu_node *n, const shim_window *w,
                           shim_primitive **ret, error *err)
{
    const graph_value *workspace = node_in(n, 1);
    if (workspace->def == GRAPH_NONE || n->program->nodes[workspace->def].node->op != OP_MAX_POOL)
        return FAIL(err, E_UNSUPPORTED, "its workspace '%s' is not a MaxPool's second output",
                    workspace->name);
    const cpu_node *pool = &n->program->nodes[workspace->def];
    if (!pool->state)
        return FAIL(err, E_UNSUPPORTED, "the MaxPool that fills '%s' has no kernel",
                    workspace->name);
    const shim_primitive *forward =
        node_out(pool, 2) ? ((const index_pool *)pool->state)->pool : pool->state;
    return shim_max_pool_bwd(n->program->shim, w, forward, ret, err);
}

static status plan_mean_bwd(cpu_node *n, const shim_window *w,
                            shim_primitive **ret, error *err)
{
    const graph_value *dx = node_out(n, 0), *dy = node_in(n, 0);
    const shim_layout *src = node_wished_layout(n->program, n->node->out[0]);
    if (!src)
        TRY(layout_plain(n->program, &dx->shape, &src, err));
    const shim_layout *dst;
    TRY(layout_any(n->program, &dy->shape, &dst, err));
    return shim_mean_pool_bwd(n->program->shim, kind_of(n), w, src, dst, ret, err);
}

static status plan_backward(cpu_node *n, error *err)
{
    window moves = window_of(n->program->g, n->node);
    shim_window w = window_shim(&moves);
    hanging_pool *hanging = find_overhang(n, &moves);
    if (hanging)
        return plan_hanging_bwd(n, &w, hanging, err);
    shim_primitive *pool;
    if (n->node->op == OP_MAX_POOL_BWD)
        TRY(plan_max_bwd(n, &w, &pool, err));
    else
        TRY(plan_mean_bwd(n, &w, &pool, err));
    n->body = run_pool_bwd;
    n->state = pool;
    n->scratch_bytes = shim_bytes_of(pool, SHIM_SCRATCH);
    n->in[0].want = shim_layout_of(pool, SHIM_DIFF_DST);
    n->out[0].want = shim_layout_of(pool, SHIM_DIFF_SRC);
    return OK;
}

status cpu_plan_pool(cpu_node *n)
{
    bool backward = graph_op_of(n->node->op)->traits & OP_BACKWARD;
    return backward ? plan_backward(n, n->err) : plan_forward(n, n->err);
}
