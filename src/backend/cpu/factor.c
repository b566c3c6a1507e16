#include "backend/cpu/factor.h"

#include "backend/cpu/dnnl/shim.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "common/base/simd.h"

enum { ROUND_GRAIN = 16384 };

factor_form factor_form_of(dtype type)
{
    if (type != DT_BF16)
        return FACTOR_FLOAT;
    return shim_gains_by_bf16() ? FACTOR_BF16 : FACTOR_ROUNDED;
}

size_t factor_bytes(factor_form form)
{
    return form == FACTOR_BF16 ? sizeof(uint16_t) : sizeof(float);
}

/* In the upper half of the bits; the lower half of what it returns is to be ignored. */
static inline uint32_t rounded_bits(float x)
{
    uint32_t bits = vec_to_bits(x);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded;
}

SIMD_CLONES
static void round_to_bf16(uint16_t *y, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = (uint16_t)(rounded_bits(x[i]) >> 16);
}

SIMD_CLONES
static void round_in_float(float *y, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_from_bits(rounded_bits(x[i]) & 0xffff0000u);
}

void factor_round(void *y, const float *x, int64_t n, factor_form form)
{
    BUG_ON(form == FACTOR_FLOAT);
    if (form == FACTOR_BF16)
        round_to_bf16(y, x, n);
    else
        round_in_float(y, x, n);
}

typedef struct round_task {
    char *y;
    const float *x;
    factor_form form;
} round_task;

static void round_piece(int64_t begin, int64_t end, void *arg)
{
    const round_task *t = arg;
    factor_round(t->y + (size_t)begin * factor_bytes(t->form), t->x + begin, end - begin, t->form);
}

void factor_round_by_team(void *y, const float *x, int64_t n, factor_form form)
{
    team_for(n, ROUND_GRAIN, round_piece, &(round_task){.y = y, .x = x, .form = form});
}
