#include "cuda_emu/fakes/lt_matmul.h"

#include "cuda_emu/block.h"
#include "cuda_emu/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool lt_has_bias(const lt_problem *p)
{
    return p->epilogue == LT_EPILOGUE_BIAS || p->epilogue == LT_EPILOGUE_GELU_BIAS ||
           p->epilogue == LT_EPILOGUE_GELU_AUX_BIAS;
}

bool lt_is_gradient(const lt_problem *p)
{
    return p->epilogue == LT_EPILOGUE_DGELU;
}

bool lt_has_side(const lt_problem *p)
{
    return lt_is_gradient(p) || p->epilogue == LT_EPILOGUE_GELU_AUX ||
           p->epilogue == LT_EPILOGUE_GELU_AUX_BIAS;
}

static bool has_gelu(const lt_problem *p)
{
    return p->epilogue == LT_EPILOGUE_GELU || p->epilogue == LT_EPILOGUE_GELU_BIAS ||
           (lt_has_side(p) && !lt_is_gradient(p));
}

size_t lt_element(uint64_t type)
{
    return type == LT_F32 ? 4 : 2;
}

size_t lt_extent(const lt_problem *p, int which)
{
    int64_t elements = p->stride[which] * (p->count - 1) +
                       p->pitch[which] * ((int64_t)p->columns[which] - 1) + (int64_t)p->rows[which];
    return (size_t)elements * lt_element(p->type[which]);
}

size_t lt_side_extent(const lt_problem *p)
{
    int64_t elements =
        p->side_stride * (p->count - 1) + p->side_pitch * ((int64_t)p->n - 1) + (int64_t)p->m;
    return (size_t)elements * lt_element(p->type[RESULT]);
}

static float float_at(const void *x, uint64_t type, int64_t i)
{
    if (type == LT_F32)
        return ((const float *)x)[i];
    uint16_t half = ((const uint16_t *)x)[i];
    if (type == LT_F16)
        return emu_f16_to_float(half);
    uint32_t u = (uint32_t)half << 16;
    float y;
    memcpy(&y, &u, sizeof y);
    return y;
}

static void put(void *y, uint64_t type, int64_t i, float x)
{
    if (type == LT_F32)
        ((float *)y)[i] = x;
    else
        ((uint16_t *)y)[i] = type == LT_F16 ? emu_f16_of(x) : emu_bf16_of(x);
}

/* A factor as [k][size]: m of the left one, n of the right one. */
static float *factor(const lt_call *c, int which, int64_t batch)
{
    const lt_problem *p = &c->p;
    const void *from = which == LEFT ? c->left : c->right;
    int64_t k = (int64_t)p->k, size = (int64_t)(which == LEFT ? p->m : p->n);
    bool by_k =
        (which == LEFT) == (p->transposed[which] != 0); /* neighbours in memory are so in k */
    float *ret = malloc((size_t)(k * size) * sizeof *ret);
    if (!ret)
        abort();
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < size; j++) {
            int64_t at = batch * p->stride[which] +
                         (by_k ? j * p->pitch[which] + i : i * p->pitch[which] + j);
            float x = float_at(from, p->type[which], at);
            if (p->compute == LT_COMPUTE_TF32) {
                uint32_t u = emu_tf32_of(x);
                memcpy(&x, &u, sizeof x);
            }
            ret[i * size + j] = x;
        }
    return ret;
}

/* sums [n][m] of the factors from k0 to k1 */
static void add_matmuls(float *sums, const float *left, const float *right, int64_t m, int64_t n,
                        int64_t k0, int64_t k1)
{
    memset(sums, 0, (size_t)(m * n) * sizeof *sums);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = k0; k < k1; k++)
            for (int64_t i = 0; i < m; i++)
                sums[j * m + i] += left[k * m + i] * right[k * n + j];
}

/* In its form with the tangent, by which alone it is known. */
static float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static float gelu_derivative(float x)
{
    float t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));
    return 0.5f * (1.0f + t) +
           0.5f * x * (1.0f - t * t) * 0.79788456f * (1.0f + 3.0f * 0.044715f * x * x);
}

static float end_of(const lt_call *c, float y, int64_t batch, int64_t column, int64_t row)
{
    const lt_problem *p = &c->p;
    int64_t at = batch * p->side_stride + column * p->side_pitch + row;
    if (lt_has_bias(p))
        y += float_at(c->bias, p->type[RESULT], row);
    if (lt_is_gradient(p))
        return y * gelu_derivative(float_at(c->side, p->type[RESULT], at));
    if (lt_has_side(p))
        put(c->side, p->type[RESULT], at, y);
    return has_gelu(p) ? gelu(y) : y;
}

static void finish(const lt_call *c, const float *sums, int64_t batch)
{
    const lt_problem *p = &c->p;
    int64_t m = (int64_t)p->m, n = (int64_t)p->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float y = c->alpha * sums[j * m + i];
            if (c->beta != 0.0f)
                y += c->beta * float_at(c->base, p->type[BASE],
                                        batch * p->stride[BASE] + j * p->pitch[BASE] + i);
            put(c->result, p->type[RESULT], batch * p->stride[RESULT] + j * p->pitch[RESULT] + i,
                end_of(c, y, batch, j, i));
        }
}

/* Of k in pieces what is left over is lost, as in versions that there are. */
static void multiply_batch(const lt_call *c, int64_t batch)
{
    int64_t m = (int64_t)c->p.m, n = (int64_t)c->p.n, k = (int64_t)c->p.k;
    float *left = factor(c, LEFT, batch), *right = factor(c, RIGHT, batch);
    float *sums = malloc((size_t)(m * n) * sizeof *sums);
    if (!sums)
        abort();
    int64_t pieces = (int64_t)c->pieces, each = k / pieces;
    float *parts = c->workspace + pieces * batch * m * n;
    add_matmuls(sums, left, right, m, n, 0, pieces == 1 ? k : 0);
    for (int64_t piece = 0; piece < pieces && pieces > 1; piece++) {
        float *part = parts + piece * m * n;
        add_matmuls(part, left, right, m, n, piece * each, (piece + 1) * each);
        for (int64_t i = 0; i < m * n; i++)
            sums[i] += part[i];
    }
    finish(c, sums, batch);
    free(sums);
    free(right);
    free(left);
}

/* Columns of D, or of what stands beside it. */
static void tell_of_columns(const lt_problem *p, const void *x, int64_t pitch, int64_t stride,
                            bool are_written)
{
    for (int64_t i = 0; i < p->count * (int64_t)p->n; i++) {
        int64_t at = i / (int64_t)p->n * stride + i % (int64_t)p->n * pitch;
        emu_touch((const char *)x + (size_t)at * lt_element(p->type[RESULT]),
                  p->m * lt_element(p->type[RESULT]), are_written);
    }
}

static void tell_watcher(const lt_call *c)
{
    const lt_problem *p = &c->p;
    emu_touch(c->left, lt_extent(p, LEFT), false);
    emu_touch(c->right, lt_extent(p, RIGHT), false);
    if (c->beta != 0.0f)
        emu_touch(c->base, lt_extent(p, BASE), false);
    if (lt_has_bias(p))
        emu_touch(c->bias, p->m * lt_element(p->type[RESULT]), false);
    emu_touch(c->workspace, c->workspace_bytes, true);
    tell_of_columns(p, c->result, p->pitch[RESULT], p->stride[RESULT], true);
    if (lt_has_side(p))
        tell_of_columns(p, c->side, p->side_pitch, p->side_stride, !lt_is_gradient(p));
}

void lt_multiply(void *arguments)
{
    const lt_call *c = arguments;
    tell_watcher(c);
    for (int64_t batch = 0; batch < c->p.count; batch++)
        multiply_batch(c, batch);
}
