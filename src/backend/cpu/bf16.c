#include "backend/cpu/bf16.h"

#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "common/base/alloc.h"
#include "common/base/simd.h"

enum { ROUND_GRAIN = 16384 };

SIMD_CLONES
static void round_all(bf16 *y, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = vec_to_bits(x[i]);
        uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        uint32_t nan = bits >> 16 | 0x40u;
        y[i] = (bf16)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

void bf16_from(bf16 *y, const float *x, int64_t n)
{
    round_all(y, x, n);
}

typedef struct round_task {
    bf16 *y;
    const float *x;
} round_task;

static void round_piece(int64_t begin, int64_t end, void *arg)
{
    const round_task *t = arg;
    bf16_from(t->y + begin, t->x + begin, end - begin);
}

static status run_to_half(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const int64_t *elements = n->state;
    team_for(*elements, ROUND_GRAIN, round_piece, &(round_task){.y = c->out[0], .x = c->in[0]});
    return OK;
}

status plan_to_half(backend_program *p, cpu_node *n, error *err)
{
    if (!shim_has_bf16())
        return FAIL(err, E_UNSUPPORTED, "this processor does not multiply bfloat16");
    int64_t *elements = arena_alloc(p->arena, sizeof *elements);
    TRY(node_follow(p, n, 1, true, elements, err));
    n->body = run_to_half;
    n->state = elements;
    return OK;
}
