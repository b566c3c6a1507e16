/* The reference of operators that look at rows: normalisation, attention. */
#include "numeric/support_reference_ops.h"

#include "common/base/rng.h"

#include <math.h>
#include <stdlib.h>

static void row_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr,
                     bool centred)
{
    const row_norm_attr *a = attr;
    int64_t n = in[1].n, rows = out[1].n;
    double epsilon = (double)a->epsilon;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].x + r * n;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i];
        double mean = centred ? sum / (double)n : 0;
        for (int64_t i = 0; i < n; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        double inverse = 1 / sqrt(squares / (double)n + epsilon);
        for (int64_t i = 0; i < n; i++)
            out[0].x[r * n + i] =
                (x[i] - mean) * inverse * in[1].x[i] + (n_in > 2 && in[2].x ? in[2].x[i] : 0);
        if (centred && out[1].x)
            out[1].x[r] = mean;
        if (out[centred ? 2 : 1].x)
            out[centred ? 2 : 1].x[r] = inverse;
    }
}

void ref_layer_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    row_norm(in, n_in, out, attr, true);
}

void ref_rms_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    row_norm(in, n_in, out, attr, false);
}

/* 8 significant bits, subnormals of a float apart, or 11 of at least 2^-24; rint rounds ties to
 * even. */
void ref_to_half(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
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
    int64_t kv_heads = a->kv_heads ? a->kv_heads : a->q_heads;
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

void ref_attention(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const attention_attr *a = attr;
    heads q, k, v;
    find_heads(in, a, &q, &k, &v);
    double factor = a->scale != 0 ? (double)a->scale : 1 / sqrt((double)q.width);
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

void ref_rotary(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
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
