/*
 * GridSample and its gradients. A position becomes a few weighted elements of a plane, the same for
 * all channels: positions are taken in blocks, whose elements and weights are found once. A block
 * is small, so they stay near. The gradient of x is summed in the order of the positions, one
 * thread a channel; that of the grid in the order of the channels.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/grid_of.h"

enum { BLOCK = 32 }; /* positions */

typedef struct grid_state {
    grid_plane plane;
    int64_t groups; /* of channels; gradient of x */
} grid_state;

typedef struct block_taps {
    int64_t at[BLOCK][GRID_LONGEST];
    float weight[BLOCK][GRID_LONGEST];
    float derivative[GRID_AXES][BLOCK][GRID_LONGEST]; /* of the weight, by coordinate of the grid */
} block_taps;

typedef struct grid_task {
    const grid_plane *s;
    int64_t groups;
    const float *x, *grid, *dy;
    float *y, *dx, *dgrid;
} grid_task;

/* Elements and weights of position p of the block; of derivatives too if they are asked for. */
static void find_position(const grid_plane *s, const float *g, block_taps *b, int64_t p,
                          bool derivatives)
{
    grid_axis axis[GRID_AXES];
    grid_find(s, g, axis);
    for (int k = 0; k < s->per_position; k++) {
        b->at[p][k] = grid_element(s, axis, k, &b->weight[p][k]);
        for (int e = 0; derivatives && e < s->axes; e++)
            b->derivative[e][p][k] = grid_derivative(s, axis, k, e);
    }
}

static void find_block(const grid_task *t, int64_t n, int64_t begin, int64_t end, block_taps *ret,
                       bool derivatives)
{
    const float *grid = t->grid + n * t->s->positions * t->s->axes;
    for (int64_t p = begin; p < end; p++)
        find_position(t->s, grid + p * t->s->axes, ret, p - begin, derivatives);
}

static float read_plane(const float *x, const int64_t *at, const float *weight, int64_t n)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < n; k++)
        sum += weight[k] * x[at[k]];
    return sum;
}

static int64_t n_blocks(const grid_plane *s)
{
    return (s->positions + BLOCK - 1) / BLOCK;
}

static int64_t block_end(const grid_plane *s, int64_t begin)
{
    return begin + BLOCK < s->positions ? begin + BLOCK : s->positions;
}

static void sample_blocks(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_plane *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / n_blocks(s), begin = i % n_blocks(s) * BLOCK, end = block_end(s, begin);
        find_block(t, n, begin, end, &b, false);
        for (int64_t c = n * s->channels; c < (n + 1) * s->channels; c++)
            for (int64_t p = begin; p < end; p++)
                t->y[c * s->positions + p] = read_plane(t->x + c * s->elements, b.at[p - begin],
                                                        b.weight[p - begin], s->per_position);
    }
}

/* Groups of channels of one example, all positions in their order. */
static void add_to_planes(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_plane *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / t->groups, group = i % t->groups, channels = s->channels;
        int64_t from = channels * group / t->groups, to = channels * (group + 1) / t->groups;
        for (int64_t begin = 0; begin < s->positions; begin += BLOCK) {
            int64_t end = block_end(s, begin);
            find_block(t, n, begin, end, &b, false);
            for (int64_t c = n * channels + from; c < n * channels + to; c++)
                for (int64_t p = begin; p < end; p++)
                    for (int64_t k = 0; k < s->per_position; k++)
                        t->dx[c * s->elements + b.at[p - begin][k]] +=
                            b.weight[p - begin][k] * t->dy[c * s->positions + p];
        }
    }
}

static void gradient_blocks(int64_t first, int64_t last, void *arg)
{
    const grid_task *t = arg;
    const grid_plane *s = t->s;
    block_taps b;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i / n_blocks(s), begin = i % n_blocks(s) * BLOCK, end = block_end(s, begin);
        find_block(t, n, begin, end, &b, true);
        for (int64_t p = begin; p < end; p++)
            for (int e = 0; e < s->axes; e++) {
                float sum = 0.0f;
                for (int64_t c = n * s->channels; c < (n + 1) * s->channels; c++)
                    sum += t->dy[c * s->positions + p] *
                           read_plane(t->x + c * s->elements, b.at[p - begin],
                                      b.derivative[e][p - begin], s->per_position);
                t->dgrid[(n * s->positions + p) * s->axes + s->axes - 1 - e] = sum;
            }
    }
}

static void run_grid_sample(const cpu_node *n, const cpu_call *c)
{
    const grid_plane *s = &((const grid_state *)n->state)->plane;
    grid_task t = {.s = s, .x = c->in[0], .grid = c->in[1], .y = c->out[0]};
    team_for(s->n * n_blocks(s), 1, sample_blocks, &t);
}

static void run_grid_sample_bwd(const cpu_node *n, const cpu_call *c)
{
    const grid_state *state = n->state;
    const grid_plane *s = &state->plane;
    grid_task t = {
        .s = s, .groups = state->groups, .dy = c->in[0], .x = c->in[1], .grid = c->in[2]};
    t.dx = c->out[0];
    t.dgrid = c->out[1];
    if (t.dx) {
        team_zero(t.dx, (size_t)(s->n * s->channels * s->elements) * sizeof *t.dx);
        team_for(s->n * t.groups, 1, add_to_planes, &t);
    }
    if (t.dgrid)
        team_for(s->n * n_blocks(s), 1, gradient_blocks, &t);
}

static void plan_any(cpu_node *n, const graph_shape *x, const graph_shape *grid)
{
    grid_state *s = node_alloc(n, sizeof *s);
    s->plane = grid_of(n->node->attr, x, grid);
    int64_t wanted = (n->program->backend->threads + s->plane.n - 1) / s->plane.n;
    s->groups = wanted < s->plane.channels ? wanted : s->plane.channels;
    n->state = s;
}

status cpu_plan_grid_sample(cpu_node *n)
{
    plan_any(n, &node_in(n, 0)->shape, &node_in(n, 1)->shape);
    n->kernel = run_grid_sample;
    return OK;
}

status cpu_plan_grid_sample_bwd(cpu_node *n)
{
    plan_any(n, &node_in(n, 1)->shape, &node_in(n, 2)->shape);
    n->kernel = run_grid_sample_bwd;
    return OK;
}
