/* What transformers are made of: attention, turned positions, and factors rounded to halves. */
#include "common/base/rng.h"
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <stdlib.h>

/* 8 significant bits, subnormals of a float apart, or 11 of at least 2^-24; rint rounds ties to
 * even. */
void ref_to_half(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    (void)op, (void)n_in;
    bool is_f16 = ((const cast_attr *)attr)->to == DT_F16;
    for (int64_t i = 0; i < in[0].n; i++) {
        int exponent, unit;
        (void)frexp(in[0].x[i], &exponent);
        unit = exponent - (is_f16 ? 11 : 8);
        if (is_f16 && unit < -24)
            unit = -24;
        out[0].x[i] = ldexp(rint(ldexp(in[0].x[i], -unit)), unit);
        if (is_f16 && fabs(out[0].x[i]) > 65504)
            out[0].x[i] = copysign(INFINITY, out[0].x[i]);
    }
}

/* Queries, keys and values as [batch, head, position, number], whatever form they have. */
typedef struct heads {
    const double *x;
    int64_t heads, length, width; /* of one head */
    int64_t row, first;           /* rank 3: numbers of a position, and before these heads */
    bool by_head;
} heads;

static double at(const heads *h, int64_t b, int64_t head, int64_t position, int64_t i)
{
    if (h->by_head)
        return h->x[((b * h->heads + head) * h->length + position) * h->width + i];
    return h->x[(b * h->length + position) * h->row + h->first + head * h->width + i];
}

static heads heads_of(const ref_tensor *t, int64_t n_heads)
{
    const int64_t *d = t->shape.dim;
    if (t->shape.rank == 4)
        return (heads){t->x, d[1], d[2], d[3], 0, 0, true};
    return (heads){t->x, n_heads, d[1], d[2] / n_heads, d[2], 0, false};
}

static void find_heads(const ref_tensor *in, const attention_attr *a, heads *q, heads *k, heads *v)
{
    int64_t kv_heads = a->kv_heads;
    if (in[1].x) {
        *q = heads_of(&in[0], a->q_heads);
        *k = heads_of(&in[1], kv_heads);
        *v = heads_of(&in[2], kv_heads);
        return;
    }
    *q = heads_of(&in[0], a->q_heads + 2 * kv_heads);
    *k = *v = *q;
    q->heads = a->q_heads;
    k->heads = v->heads = kv_heads;
    k->first = a->q_heads * q->width;
    v->first = (a->q_heads + kv_heads) * q->width;
}

static double mask_at(const ref_tensor *mask, const int64_t *score, bool is_bool)
{
    if (!mask->x)
        return 0;
    int64_t i = 0;
    for (int32_t d = 0; d < mask->shape.rank; d++) {
        int64_t n = mask->shape.dim[d];
        i = i * n + (n == 1 ? 0 : score[4 - mask->shape.rank + d]);
    }
    return is_bool ? (mask->x[i] != 0 ? 0 : -INFINITY) : mask->x[i];
}

void ref_attention(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                   const void *attr)
{
    (void)op, (void)n_in;
    const attention_attr *a = attr;
    heads q, k, v;
    find_heads(in, a, &q, &k, &v);
    double factor = (double)a->scale;
    int64_t batches = in[0].shape.dim[0], group = q.heads / k.heads;
    heads y = {out[0].x, q.heads, q.length, v.width, q.heads * v.width, 0, q.by_head};
    rng bits =
        rng_make(a->seed, RNG_DROPOUT, rng_mix(a->stream, in[4].x ? (uint64_t)in[4].x[0] : 0));
    double *p = xcalloc((size_t)k.length, sizeof *p);
    for (int64_t row = 0; row < batches * q.heads * q.length; row++) {
        int64_t score[] = {row / q.length / q.heads, row / q.length % q.heads, row % q.length, 0};
        int64_t b = score[0], h = score[1], i = score[2];
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < k.length; j++) {
            score[3] = j;
            p[j] = mask_at(&in[3], score, in[3].type == DT_BOOL);
            for (int64_t e = 0; e < q.width; e++)
                p[j] += factor * at(&q, b, h, i, e) * at(&k, b, h / group, j, e);
            p[j] = a->causal && j > i + a->past ? -INFINITY : p[j];
            most = fmax(most, p[j]);
        }
        for (int64_t j = 0; j < k.length; j++)
            sum += p[j] = isinf(p[j]) ? 0 : exp(p[j] - most);
        if (out[1].x)
            out[1].x[row] = sum > 0 ? most + log(sum) : INFINITY;
        for (int64_t j = 0; j < k.length && a->ratio > 0; j++) {
            uint32_t word = rng_u32(&bits, (uint64_t)(row * k.length + j));
            p[j] = (double)word >= (double)a->ratio * 0x1p32 ? p[j] / (1 - (double)a->ratio) : 0;
        }
        for (int64_t e = 0; e < v.width; e++) {
            double total = 0;
            for (int64_t j = 0; j < k.length; j++)
                total += p[j] * at(&v, b, h / group, j, e);
            int64_t to =
                y.by_head ? row * v.width + e : (b * q.length + i) * y.row + h * v.width + e;
            out[0].x[to] = sum > 0 ? total / sum : 0;
        }
    }
    free(p);
}

void ref_rotary(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    (void)op, (void)n_in;
    const rotary_attr *a = attr;
    heads x = heads_of(&in[0], a->heads);
    int64_t half = (a->width ? a->width : x.width) / 2;
    for (int64_t i = 0; i < in[0].n; i++) {
        int64_t e = i % x.width, row = i / x.width;
        int64_t position =
            x.by_head ? row / x.length / x.heads * x.length + row % x.length : row / x.heads;
        out[0].x[i] = in[0].x[i];
        if (e >= 2 * half)
            continue;
        bool second = a->interleaved ? e % 2 : e >= half;
        int64_t pair = a->interleaved ? e / 2 : e % half, apart = a->interleaved ? 1 : half;
        double c = in[1].x[position * half + pair], s = in[2].x[position * half + pair];
        double other = in[0].x[second ? i - apart : i + apart];
        out[0].x[i] = c * in[0].x[i] + (second != a->inverse ? s : -s) * other;
    }
}

/* --- cases --- */

#define ROTARY(...)     .attr = ATTR(rotary_attr, __VA_ARGS__)
#define ATTENTION_(...) .attr = ATTR(attention_attr, __VA_ARGS__)
#define TO(type)        .attr = ATTR(cast_attr, .to = type)

static const op_case to_half_rows[] = {
    CASE(TO_HALF, "bfloat16, odd length", 1, IN(X(1003)), TO(DT_BF16)),
    CASE(TO_HALF, "bfloat16, rank 3", 1, IN(X(3, 50, 700)), TO(DT_BF16)),
    CASE(TO_HALF, "bfloat16, images", 1, IN(X(2, 17, 5, 3)), TO(DT_BF16)),
    CASE(TO_HALF, "float16, odd length", 1, IN(X(1003)), TO(DT_F16)),
    CASE(TO_HALF, "float16, images", 1, IN(X(2, 17, 50, 31)), TO(DT_F16)),
};
CASES(to_half);

static const op_case attention_rows[] = {
    CASE(ATTENTION, "side by side", 3, IN(X(2, 5, 12), X(2, 5, 12), X(2, 5, 12)),
         ATTENTION_(.q_heads = 3)),
    CASE(ATTENTION, "head by head, other lengths", 3,
         IN(X(2, 3, 7, 4), X(2, 3, 11, 4), X(2, 3, 11, 6)), ATTENTION_(.scale = 0.3f)),
    CASE(ATTENTION, "causal, odd", 3, IN(X(2, 13, 16), X(2, 13, 16), X(2, 13, 16)),
         ATTENTION_(.q_heads = 2, .causal = true)),
    CASE(ATTENTION, "causal, more queries than keys", 3,
         IN(X(1, 2, 9, 4), X(1, 2, 5, 4), X(1, 2, 5, 4)), ATTENTION_(.causal = true)),
    CASE(ATTENTION, "packed, causal", 1, IN(X(2, 9, 36)), ATTENTION_(.q_heads = 3, .causal = true)),
    CASE(ATTENTION, "packed, shared keys", 1, IN(X(2, 6, 32)),
         ATTENTION_(.q_heads = 4, .kv_heads = 2)),
    CASE(ATTENTION, "shared keys", 3, IN(X(2, 4, 6, 8), X(2, 2, 6, 8), X(2, 2, 6, 8)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "one head of keys for all", 3, IN(X(2, 6, 24), X(2, 5, 8), X(2, 5, 6)),
         ATTENTION_(.q_heads = 3, .kv_heads = 1)),
    CASE(ATTENTION, "mask of bools, of keys", 4,
         IN(X(2, 5, 12), X(2, 7, 12), X(2, 7, 12), BITS(2, 1, 1, 7)), ATTENTION_(.q_heads = 3)),
    CASE(ATTENTION, "mask of bools, causal: some rows see none", 4,
         IN(X(2, 5, 12), X(2, 5, 12), X(2, 5, 12), BITS(5, 5)),
         ATTENTION_(.q_heads = 3, .causal = true)),
    CASE(ATTENTION, "mask of floats, by head", 4,
         IN(X(2, 3, 6, 4), X(2, 3, 7, 4), X(2, 3, 7, 4), X(3, 6, 7)), ATTENTION_(.causal = false)),
    CASE(ATTENTION, "mask of floats, a column", 4,
         IN(X(1, 3, 6, 4), X(1, 3, 7, 4), X(1, 3, 7, 4), X(1, 3, 6, 1)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "mask of floats, one of each key", 4,
         IN(X(2, 9, 12), X(2, 7, 12), X(2, 7, 12), X(7)), ATTENTION_(.q_heads = 3)),
    CASE(ATTENTION, "mask of floats, of each batch, shared keys", 4,
         IN(X(2, 4, 9, 3), X(2, 2, 7, 3), X(2, 2, 7, 3), X(2, 1, 9, 7)), ATTENTION_(.scale = 0.4f)),
    CASE(ATTENTION, "mask of floats, of keys of each batch and head, dropout", 5,
         IN(X(2, 70, 12), X(2, 11, 12), X(2, 11, 12), X(2, 3, 1, 11), BATCH),
         ATTENTION_(.q_heads = 3, .ratio = 0.25f, .seed = 7, .stream = 3)),
    CASE(ATTENTION, "mask of floats, several tiles, causal, packed", 4,
         IN(X(1, 530, 12), ABSENT, ABSENT, X(1, 1, 530, 530)),
         ATTENTION_(.q_heads = 2, .causal = true)),
    CASE(ATTENTION, "causal, keys of the past", 3,
         IN(X(2, 5, 12), X(2, 13, 12), X(2, 13, 12)),
         ATTENTION_(.q_heads = 3, .causal = true, .past = 8)),
    CASE(ATTENTION, "causal, keys of the past, several tiles, masked", 4,
         IN(X(1, 2, 130, 2), X(1, 1, 600, 2), X(1, 1, 600, 3), X(2, 130, 600)),
         ATTENTION_(.causal = true, .past = 413)),
    CASE(ATTENTION, "several tiles", 3, IN(X(1, 70, 4), X(1, 1030, 4), X(1, 1030, 4)),
         ATTENTION_(.q_heads = 1)),
    CASE(ATTENTION, "several tiles, causal, masked", 4,
         IN(X(1, 1, 530, 2), X(1, 1, 530, 2), X(1, 1, 530, 3), BITS(530)),
         ATTENTION_(.causal = true)),
    CASE(ATTENTION, "dropout", 5, IN(X(2, 9, 12), X(2, 13, 12), X(2, 13, 12), ABSENT, BATCH),
         ATTENTION_(.q_heads = 3, .ratio = 0.25f, .seed = 7, .stream = 3)),
    CASE(ATTENTION, "packed, causal, dropout", 5, IN(X(2, 70, 12), ABSENT, ABSENT, ABSENT, BATCH),
         ATTENTION_(.q_heads = 2, .causal = true, .ratio = 0.5f, .seed = 8, .stream = 1)),
};
CASES(attention);

static const op_case rotary_rows[] = {
    CASE(ROTARY_EMBEDDING, "head by head", 3, IN(X(2, 3, 5, 8), X(2, 5, 4), X(2, 5, 4)),
         ROTARY(.heads = 0)),
    CASE(ROTARY_EMBEDDING, "side by side, neighbours", 3, IN(X(2, 5, 24), X(2, 5, 4), X(2, 5, 4)),
         ROTARY(.heads = 3, .interleaved = true)),
    CASE(ROTARY_EMBEDDING, "a part of each head", 3, IN(X(2, 7, 33), X(2, 7, 3), X(2, 7, 3)),
         ROTARY(.heads = 3, .width = 6)),
    CASE(ROTARY_EMBEDDING, "back, neighbours, a part", 3,
         IN(X(1, 2, 7, 70), X(1, 7, 33), X(1, 7, 33)),
         ROTARY(.width = 66, .interleaved = true, .inverse = true)),
};
CASES(rotary);
