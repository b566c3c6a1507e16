/*
 * Dropout: element e in row-major order lives or dies by bit e of its mask (drop_mask.h), which is
 * kept for backward.
 */
#include "backend/cpu/drop_mask.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/simd.h"

enum { PIECE = 1024, DROPOUT_GRAIN = 4 * PIECE };

typedef struct dropout_state {
    int64_t elements;
    const dropout_attr *attr;
} dropout_state;

typedef struct dropout_task {
    drop_mask bits;
    float *y;
    const float *x;
    uint8_t *made;       /* forward; NULL where nobody asks */
    const uint8_t *mask; /* backward */
} dropout_task;

SIMD_CLONES
static void apply_mask(float *y, const float *x, const uint8_t *mask, float scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = mask[i] ? x[i] * scale : 0.0f;
}

static void forward_piece(int64_t begin, int64_t end, void *arg)
{
    const dropout_task *t = arg;
    for (int64_t at = begin; at < end; at += PIECE) {
        uint8_t here[PIECE], *mask = t->made ? t->made + at : here;
        int64_t n = end - at < PIECE ? end - at : PIECE;
        drop_mask_fill(&t->bits, (uint64_t)at, n, mask);
        apply_mask(t->y + at, t->x + at, mask, t->bits.scale, n);
    }
}

static void backward_piece(int64_t begin, int64_t end, void *arg)
{
    const dropout_task *t = arg;
    apply_mask(t->y + begin, t->x + begin, t->mask + begin, t->bits.scale, end - begin);
}

static drop_mask bits_of(const dropout_attr *a, int64_t batch)
{
    return drop_mask_make(a->ratio, a->seed, a->stream, batch);
}

static void run_dropout(const cpu_node *n, const cpu_call *c)
{
    const dropout_state *s = n->state;
    dropout_task t = {
        .bits = bits_of(s->attr, *(const int64_t *)c->in[1]),
        .y = c->out[0],
        .x = c->in[0],
        .made = c->out[1],
    };
    team_for(s->elements, DROPOUT_GRAIN, forward_piece, &t);
}

static void run_dropout_bwd(const cpu_node *n, const cpu_call *c)
{
    const dropout_state *s = n->state;
    dropout_task t = {.bits = bits_of(s->attr, 0), .y = c->out[0], .x = c->in[0], .mask = c->in[1]};
    team_for(s->elements, DROPOUT_GRAIN, backward_piece, &t);
}

static dropout_state *state_new(const cpu_node *n)
{
    dropout_state *s = node_alloc(n, sizeof *s);
    s->elements = graph_shape_elements(&node_in(n, 0)->shape);
    s->attr = n->node->attr;
    return s;
}

status cpu_plan_dropout(cpu_node *n)
{
    bool backward = n->node->op == OP_DROPOUT_BWD;
    if (!backward && node_in(n, 1)->dtype != DT_I64)
        return FAIL(n->err, E_UNSUPPORTED, "a batch id in %s, known is int64",
                    dtype_name(node_in(n, 1)->dtype));
    n->kernel = backward ? run_dropout_bwd : run_dropout;
    n->state = state_new(n);
    return OK;
}
