/*
 * GridSample and its gradients. A place becomes a few weighted elements of a plane, the same for
 * all channels: places are taken in blocks, whose elements and weights are found once. A block is
 * small, so they stay near. The gradient of x is summed in the order of the places, one thread a
 * channel; that of the grid in the order of the channels.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

enum {
    BLOCK = 32,   /* places */
    LONGEST = 64, /* elements a place: cubic, three axes */
    PER_AXIS = 4,
    FURTHEST = 1 << 24, /* a place further away counts as nowhere */
};

typedef struct grid_state {
    grid_attr attr;
    int axes;
    int64_t size[SPATIAL], stride[SPATIAL]; /* of the spatial axes of x */
    int64_t n, channels, plane, places;     /* plane: elements of x, places: of y */
    int64_t per_axis, per_place, groups;    /* of channels; gradient of x */
} grid_state;

/* What a coordinate means along its axis. */
typedef struct axis_taps {
    int64_t at[PER_AXIS]; /* -1: nothing */
    float weight[PER_AXIS], slope[PER_AXIS];
} axis_taps;

typedef struct block_taps {
    int64_t at[BLOCK][LONGEST];
    float weight[BLOCK][LONGEST];
    float slope[SPATIAL][BLOCK][LONGEST]; /* of the weight, by coordinate of the grid */
} block_taps;

typedef struct grid_task {
    const grid_state *s;
    const float *x, *grid, *dy;
    float *y, *dx, *dgrid;
} grid_task;

static float floor_of(float x)
{
    float whole = (float)(int32_t)x;
    return whole > x ? whole - 1.0f : whole;
}

/* x folded back into low .. high; *slope changes its sign with every fold. */
static float reflected(float x, float low, float high, float *slope)
{
    float range = high - low, over = x < low ? low - x : x - high;
    if (range <= 0.0f || over <= 0.0f)
        return range <= 0.0f ? low : x;
    float folds = floor_of(over / range), rest = over - folds * range;
    bool even = folds == 2.0f * floor_of(folds / 2.0f);
    if (even)
        *slope = -*slope;
    return (x < low) == even ? low + rest : high - rest;
}

/* Keys' cubic and its derivative at distance d, of either sign. */
static float cubic(float d, float *ret_slope)
{
    const float a = -0.75f;
    float t = d < 0 ? -d : d, sign = d < 0 ? -1.0f : 1.0f;
    if (t <= 1.0f) {
        *ret_slope = sign * (3 * (a + 2) * t - 2 * (a + 3)) * t;
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    }
    *ret_slope = t < 2.0f ? sign * a * ((3 * t - 10) * t + 8) : 0.0f;
    return t < 2.0f ? a * (((t - 5) * t + 8) * t - 4) : 0.0f;
}

/* The element that index i means, -1 for none. */
static int64_t padded_index(const grid_attr *a, int64_t i, int64_t size)
{
    float ignored = 1.0f, edge = a->align_corners ? 0.0f : 0.5f;
    if (i >= 0 && i < size)
        return i;
    if (a->padding == GRID_ZEROS)
        return -1;
    if (a->padding == GRID_REFLECTION)
        i = (int64_t)reflected((float)i, -edge, (float)(size - 1) + edge, &ignored);
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* The place on the axis that coordinate g names, and its slope. */
static float unfold(const grid_attr *a, float g, int64_t size, float *slope)
{
    float n = (float)size, edge = a->align_corners ? 0.0f : 0.5f;
    float at = a->align_corners ? (g + 1) * 0.5f * (n - 1) : ((g + 1) * n - 1) * 0.5f;
    *slope = a->align_corners ? 0.5f * (n - 1) : 0.5f * n;
    if (!(at > -FURTHEST && at < FURTHEST))
        return FURTHEST;
    if (a->mode == GRID_NEAREST)
        at = __builtin_rintf(at);
    if (at >= -edge && at <= n - 1 + edge)
        return at;
    if (a->padding == GRID_REFLECTION)
        return reflected(at, -edge, n - 1 + edge, slope);
    if (a->padding == GRID_BORDER) {
        *slope = 0.0f;
        return at < 0 ? 0.0f : n - 1;
    }
    return at;
}

static void find_axis(const grid_attr *a, float g, int64_t size, axis_taps *ret)
{
    float slope, at = unfold(a, g, size, &slope);
    bool nowhere = at >= FURTHEST;
    int64_t low = (int64_t)floor_of(at), first = a->mode == GRID_CUBIC ? low - 1 : low;
    int n = a->mode == GRID_NEAREST ? 1 : a->mode == GRID_LINEAR ? 2 : 4;
    for (int k = 0; k < n; k++) {
        float d = at - (float)(first + k);
        ret->at[k] = nowhere ? -1 : padded_index(a, first + k, size);
        ret->weight[k] = 1.0f;
        ret->slope[k] = 0.0f;
        if (a->mode == GRID_LINEAR) {
            ret->weight[k] = k ? d + 1 : 1 - d;
            ret->slope[k] = k ? slope : -slope;
        } else if (a->mode == GRID_CUBIC) {
            ret->weight[k] = cubic(d, &ret->slope[k]);
            ret->slope[k] *= slope;
        }
    }
}

/* Elements and weights of place p of the block; of slopes too if they are asked for. */
static void find_place(const grid_state *s, const float *g, block_taps *b, int64_t p, bool slopes)
{
    axis_taps axis[SPATIAL];
    for (int d = 0; d < s->axes; d++)
        find_axis(&s->attr, g[s->axes - 1 - d], s->size[d], &axis[d]);
    for (int64_t k = 0; k < s->per_place; k++) {
        int64_t at = 0, rest = k, which[SPATIAL];
        float weight = 1.0f;
        for (int d = s->axes - 1; d >= 0; d--) {
            which[d] = rest % s->per_axis;
            rest /= s->per_axis;
            weight *= axis[d].weight[which[d]];
            int64_t i = axis[d].at[which[d]];
            at = at < 0 || i < 0 ? -1 : at + i * s->stride[d];
        }
        b->at[p][k] = at < 0 ? 0 : at;
        b->weight[p][k] = at < 0 ? 0.0f : weight;
        for (int e = 0; slopes && e < s->axes; e++) {
            float slope = at < 0 ? 0.0f : 1.0f;
            for (int d = 0; d < s->axes; d++)
                slope *= d == e ? axis[d].slope[which[d]] : axis[d].weight[which[d]];
            b->slope[e][p][k] = slope;
        }
    }
}

static void find_block(const grid_task *t, int64_t n, int64_t begin, int64_t end, block_taps *ret,
                       bool slopes)
{
    const float *grid = t->grid + n * t->s->places * t->s->axes;
    for (int64_t p = begin; p < end; p++)
        find_place(t->s, grid + p * t->s->axes, ret, p - begin, slopes);
}

static float read_plane(const float *x, const int64_t *at, const float *weight, int64_t n)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < n; k++)
        sum += weight[k] * x[at[k]];
    return sum;
}

static int64_t n_blocks(const grid_state *s)
{
    return (s->places + BLOCK - 1) / BLOCK;
}

static int64_t block_end(const grid_state *s, int64_t begin)
{
    return begin + BLOCK < s->places ? begin + BLOCK : s->places;
}

static void sample_blocks(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_state *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / n_blocks(s), begin = i % n_blocks(s) * BLOCK, end = block_end(s, begin);
        find_block(t, n, begin, end, &b, false);
        for (int64_t c = n * s->channels; c < (n + 1) * s->channels; c++)
            for (int64_t p = begin; p < end; p++)
                t->y[c * s->places + p] = read_plane(t->x + c * s->plane, b.at[p - begin],
                                                     b.weight[p - begin], s->per_place);
    }
}

/* Groups of channels of one example, all places in their order. */
static void add_to_planes(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_state *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / s->groups, group = i % s->groups, channels = s->channels;
        int64_t from = channels * group / s->groups, to = channels * (group + 1) / s->groups;
        for (int64_t begin = 0; begin < s->places; begin += BLOCK) {
            int64_t end = block_end(s, begin);
            find_block(t, n, begin, end, &b, false);
            for (int64_t c = n * channels + from; c < n * channels + to; c++)
                for (int64_t p = begin; p < end; p++)
                    for (int64_t k = 0; k < s->per_place; k++)
                        t->dx[c * s->plane + b.at[p - begin][k]] +=
                            b.weight[p - begin][k] * t->dy[c * s->places + p];
        }
    }
}

static void slope_blocks(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_state *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / n_blocks(s), begin = i % n_blocks(s) * BLOCK, end = block_end(s, begin);
        find_block(t, n, begin, end, &b, true);
        for (int64_t p = begin; p < end; p++)
            for (int e = 0; e < s->axes; e++) {
                float sum = 0.0f;
                for (int64_t c = n * s->channels; c < (n + 1) * s->channels; c++)
                    sum +=
                        t->dy[c * s->places + p] * read_plane(t->x + c * s->plane, b.at[p - begin],
                                                              b.slope[e][p - begin], s->per_place);
                t->dgrid[(n * s->places + p) * s->axes + s->axes - 1 - e] = sum;
            }
    }
}

static status run_grid_sample(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const grid_state *s = n->state;
    grid_task t = {.s = s, .x = c->in[0], .grid = c->in[1], .y = c->out[0]};
    team_for(s->n * n_blocks(s), 1, sample_blocks, &t);
    return OK;
}

static status run_grid_sample_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const grid_state *s = n->state;
    grid_task t = {.s = s, .dy = c->in[0], .x = c->in[1], .grid = c->in[2]};
    t.dx = c->out[0];
    t.dgrid = c->out[1];
    if (t.dx) {
        team_zero(t.dx, (size_t)(s->n * s->channels * s->plane) * sizeof *t.dx);
        team_for(s->n * s->groups, 1, add_to_planes, &t);
    }
    if (t.dgrid)
        team_for(s->n * n_blocks(s), 1, slope_blocks, &t);
    return OK;
}

static void plan_any(backend_program *p, cpu_node *n, const graph_shape *x, const graph_shape *grid)
{
    grid_state *s = arena_alloc(p->arena, sizeof *s);
    *s = (grid_state){.attr = *(const grid_attr *)n->node->attr, .axes = x->rank - 2};
    s->n = x->dim[0];
    s->channels = x->dim[1];
    s->plane = s->places = s->per_place = 1;
    s->per_axis = s->attr.mode == GRID_NEAREST ? 1 : s->attr.mode == GRID_LINEAR ? 2 : PER_AXIS;
    for (int d = s->axes - 1; d >= 0; d--) {
        s->size[d] = x->dim[2 + d];
        s->stride[d] = s->plane;
        s->plane *= x->dim[2 + d];
        s->places *= grid->dim[1 + d];
        s->per_place *= s->per_axis;
    }
    int64_t wanted = (p->backend->threads + s->n - 1) / s->n;
    s->groups = wanted < s->channels ? wanted : s->channels;
    n->state = s;
}

status plan_grid_sample(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    plan_any(p, n, &node_in(n, 0)->shape, &node_in(n, 1)->shape);
    n->body = run_grid_sample;
    return OK;
}

status plan_grid_sample_bwd(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    plan_any(p, n, &node_in(n, 1)->shape, &node_in(n, 2)->shape);
    n->body = run_grid_sample_bwd;
    return OK;
}
