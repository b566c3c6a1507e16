#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sliding window of up to three spatial axes; absent ones are of size 1. */
typedef struct window {
    int64_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    int64_t stride[SPATIAL], dilation[SPATIAL], before[SPATIAL], after[SPATIAL];
    int64_t n_in, n_out, n_kernel;
} window;

static window window_of(const graph_shape *x, const graph_shape *y, const int64_t *kernel,
                        const int64_t *strides, const int64_t *pads, const int64_t *dilations)
{
    window w = {.n_in = 1, .n_out = 1, .n_kernel = 1};
    int32_t rank = x->rank - 2;
    for (int32_t d = 0; d < SPATIAL; d++) {
        bool has = d < rank;
        w.in[d] = has ? x->dim[2 + d] : 1;
        w.out[d] = has ? y->dim[2 + d] : 1;
        w.kernel[d] = has ? kernel[d] : 1;
        w.stride[d] = has && strides[d] ? strides[d] : 1;
        w.dilation[d] = has && dilations[d] ? dilations[d] : 1;
        w.before[d] = has ? pads[d] : 0;
        w.after[d] = has ? pads[rank + d] : 0;
        w.n_in *= w.in[d];
        w.n_out *= w.out[d];
        w.n_kernel *= w.kernel[d];
    }
    return w;
}

typedef enum where { INSIDE, PADDING, BEYOND } where;

/* Where tap k of the window at output o falls; *ret_at is the input element when INSIDE. */
static where tap(const window *w, int64_t o, int64_t k, int64_t *ret_at)
{
    int64_t at[SPATIAL];
    where found = INSIDE;
    for (int32_t d = SPATIAL - 1; d >= 0; d--) {
        int64_t out = o % w->out[d], kernel = k % w->kernel[d];
        o /= w->out[d];
        k /= w->kernel[d];
        at[d] = out * w->stride[d] + kernel * w->dilation[d] - w->before[d];
        if (at[d] >= w->in[d] + w->after[d])
            found = BEYOND;
        else if ((at[d] < 0 || at[d] >= w->in[d]) && found == INSIDE)
            found = PADDING;
    }
    *ret_at = (at[0] * w->in[1] + at[1]) * w->in[2] + at[2];
    return found;
}

/* One output of a map: at[k] is where the kernel's element k finds its number in a channel of x, or
 * below 0. */
static double conv_at(const window *w, const int64_t *at, const double *x, const double *weights,
                      int64_t depth, double bias)
{
    double sum = bias;
    for (int64_t c = 0; c < depth; c++)
        for (int64_t k = 0; k < w->n_kernel; k++)
            if (at[k] >= 0)
                sum += x[c * w->n_in + at[k]] * weights[c * w->n_kernel + k];
    return sum;
}

void ref_conv(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    const conv_attr *a = attr;
    window w = window_of(&in[0].shape, &out->shape, &in[1].shape.dim[2], a->strides, a->pads,
                         a->dilations);
    int64_t group = a->group ? a->group : 1;
    int64_t batch = in[0].shape.dim[0], channels = in[0].shape.dim[1];
    int64_t maps = in[1].shape.dim[0], depth = in[1].shape.dim[1];
    int64_t *at = xcalloc((size_t)w.n_kernel, sizeof *at);
    for (int64_t o = 0; o < w.n_out; o++) {
        for (int64_t k = 0, found; k < w.n_kernel; k++)
            at[k] = tap(&w, o, k, &found) == INSIDE ? found : -1;
        for (int64_t nm = 0; nm < batch * maps; nm++) {
            int64_t n = nm / maps, m = nm % maps, first = m / (maps / group) * depth;
            out->x[nm * w.n_out + o] =
                conv_at(&w, at, in[0].x + (n * channels + first) * w.n_in,
                        in[1].x + m * depth * w.n_kernel, depth, n_in > 2 && in[2].x ? in[2].x[m] : 0);
        }
    }
    free(at);
}

static window pool_window(const ref_tensor *in, const ref_tensor *out, const pool_attr *a)
{
    return window_of(&in->shape, &out->shape, a->kernel, a->strides, a->pads, a->dilations);
}

/* Element `at` of a plane when its first axis runs fastest. */
static int64_t by_columns(const window *w, int64_t at)
{
    int64_t i = at / (w->in[1] * w->in[2]), j = at / w->in[2] % w->in[1], k = at % w->in[2];
    return (k * w->in[1] + j) * w->in[0] + i;
}

void ref_max_pool(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const pool_attr *a = attr;
    window w = pool_window(in, out, attr);
    for (int64_t plane = 0; plane < in->n / w.n_in; plane++) {
        for (int64_t o = 0; o < w.n_out; o++) {
            double most = -INFINITY;
            int64_t best = 0;
            for (int64_t k = 0, at; k < w.n_kernel; k++)
                if (tap(&w, o, k, &at) == INSIDE && in->x[plane * w.n_in + at] > most) {
                    most = in->x[plane * w.n_in + at];
                    best = at;
                }
            out->x[plane * w.n_out + o] = most;
            if (a->indices)
                out[2].x[plane * w.n_out + o] =
                    (double)(plane * w.n_in + (a->column_major ? by_columns(&w, best) : best));
        }
    }
}

/* Padding counts if asked for; what ceil_mode adds beyond the padding never does. */
void ref_average_pool(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const pool_attr *a = attr;
    window w = pool_window(in, out, a);
    for (int64_t plane = 0; plane < in->n / w.n_in; plane++) {
        for (int64_t o = 0; o < w.n_out; o++) {
            double sum = 0, count = 0;
            for (int64_t k = 0, at; k < w.n_kernel; k++) {
                where found = tap(&w, o, k, &at);
                sum += found == INSIDE ? in->x[plane * w.n_in + at] : 0;
                count += found == INSIDE || (found == PADDING && a->count_include_pad);
            }
            out->x[plane * w.n_out + o] = sum / count;
        }
    }
}

void ref_lp_pool(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const pool_attr *a = attr;
    double p = a->p ? (double)a->p : 2;
    window w = pool_window(in, out, a);
    for (int64_t i = 0; i < out->n; i++) {
        double sum = 0;
        for (int64_t k = 0, at; k < w.n_kernel; k++)
            if (tap(&w, i % w.n_out, k, &at) == INSIDE)
                sum += pow(fabs(in->x[i / w.n_out * w.n_in + at]), p);
        out->x[i] = pow(sum, 1 / p);
    }
}

void ref_global_average_pool(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                             const void *attr)
{
    (void)n_in, (void)attr;
    int64_t plane = in->n / out->n;
    for (int64_t i = 0; i < out->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < plane; k++)
            sum += in->x[i * plane + k];
        out->x[i] = sum / (double)plane;
    }
}

static void log_softmax(const ref_tensor *in, const ref_tensor *out, int32_t axis)
{
    ref_axis a = ref_split(&in->shape, axis);
    for (int64_t row = 0; row < a.outer * a.inner; row++) {
        int64_t first = row / a.inner * a.n * a.inner + row % a.inner;
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < a.n; k++)
            most = fmax(most, in->x[first + k * a.inner]);
        for (int64_t k = 0; k < a.n; k++)
            sum += exp(in->x[first + k * a.inner] - most);
        for (int64_t k = 0; k < a.n; k++)
            out->x[first + k * a.inner] = in->x[first + k * a.inner] - most - log(sum);
    }
}

void ref_log_softmax(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    log_softmax(in, out, ((const axis_attr *)attr)->axis);
}

void ref_softmax(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    ref_log_softmax(in, n_in, out, attr);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = exp(out->x[i]);
}

void ref_cross_entropy(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    const sce_attr *a = attr;
    double *log_prob = xcalloc((size_t)in[0].n, sizeof *log_prob);
    ref_tensor log_probs = {.shape = in[0].shape, .n = in[0].n, .x = log_prob};
    if (a->log_probs)
        memcpy(log_prob, in[0].x, (size_t)in[0].n * sizeof *log_prob);
    else
        log_softmax(&in[0], &log_probs, 1);
    ref_axis axis = ref_split(&in[0].shape, 1);
    double sum = 0, weight_sum = 0;
    for (int64_t row = 0; row < in[1].n; row++) {
        int64_t label = (int64_t)in[1].x[row];
        bool ignored = a->has_ignore_index && label == a->ignore_index;
        double weight = ignored ? 0 : n_in > 2 && in[2].x ? in[2].x[label] : 1;
        int64_t first = row / axis.inner * axis.n * axis.inner + row % axis.inner;
        double loss = ignored ? 0 : -weight * log_prob[first + label * axis.inner];
        sum += loss;
        weight_sum += weight;
        if (a->reduction == SCE_NONE)
            out[0].x[row] = loss;
    }
    if (a->reduction != SCE_NONE)
        out[0].x[0] = a->reduction == SCE_MEAN ? sum / weight_sum : sum;
    free(log_prob);
}

/* A label is right if no class before its own scores as much and none behind it more. */
static bool is_right(const ref_tensor *scores, int64_t row, int64_t label)
{
    ref_axis axis = ref_split(&scores->shape, 1);
    const double *x = scores->x + row / axis.inner * axis.n * axis.inner + row % axis.inner;
    if (axis.n == 1)
        return (x[0] > 0) == (label == 1);
    for (int64_t k = 0; k < axis.n; k++) {
        double other = x[k * axis.inner], own = x[label * axis.inner];
        if (k < label ? other >= own : other > own)
            return false;
    }
    return true;
}

void ref_accuracy(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const accuracy_attr *a = attr;
    double right = 0, counted = 0;
    for (int64_t row = 0; row < in[1].n; row++) {
        int64_t label = (int64_t)in[1].x[row];
        if (a->has_ignore_index && label == a->ignore_index)
            continue;
        counted++;
        right += is_right(&in[0], row, label);
    }
    out[0].x[0] = right;
    out[1].x[0] = counted;
}

/* Mean and variance (of the whole batch, so divided by its count) of channel c. */
static void channel_moments(const ref_tensor *x, int64_t c, double *ret_mean, double *ret_var)
{
    ref_axis a = ref_split(&x->shape, 1);
    double sum = 0, squares = 0, count = (double)(a.outer * a.inner);
    for (int64_t i = 0; i < a.outer * a.inner; i++)
        sum += x->x[(i / a.inner * a.n + c) * a.inner + i % a.inner];
    double mean = sum / count;
    for (int64_t i = 0; i < a.outer * a.inner; i++) {
        double off = x->x[(i / a.inner * a.n + c) * a.inner + i % a.inner] - mean;
        squares += off * off;
    }
    *ret_mean = mean;
    *ret_var = squares / count;
}

void ref_batch_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const batch_norm_attr *a = attr;
    double epsilon = (double)a->epsilon;
    ref_axis axis = ref_split(&in[0].shape, 1);
    for (int64_t c = 0; c < axis.n; c++) {
        double mean = in[3].x[c], var = in[4].x[c];
        if (a->training)
            channel_moments(&in[0], c, &mean, &var);
        for (int64_t i = 0; i < axis.outer * axis.inner; i++) {
            int64_t at = (i / axis.inner * axis.n + c) * axis.inner + i % axis.inner;
            out[0].x[at] = (in[0].x[at] - mean) / sqrt(var + epsilon) * in[1].x[c] + in[2].x[c];
        }
        if (out[1].x)
            out[1].x[c] = mean;
        if (out[2].x)
            out[2].x[c] = var;
    }
}

void ref_dropout(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const dropout_attr *a = attr;
    rng stream = rng_make(a->seed, RNG_DROPOUT, rng_mix(a->stream, (uint64_t)in[1].x[0]));
    for (int64_t i = 0; i < in[0].n; i++) {
        bool stays = (double)rng_u32(&stream, (uint64_t)i) >= (double)a->ratio * 0x1p32;
        out[0].x[i] = stays ? in[0].x[i] / (1 - (double)a->ratio) : 0;
        if (out[1].x)
            out[1].x[i] = stays;
    }
}

void ref_random(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const random_attr *a = attr;
    rng stream = rng_make(a->seed, RNG_NODE, rng_mix(a->stream, (uint64_t)in[0].x[0]));
    for (int64_t i = 0; i < out[0].n; i++) {
        float drawn = a->kind == RANDOM_NORMAL ? rng_normal(&stream, (uint64_t)i)
                                               : rng_uniform(&stream, (uint64_t)i);
        out[0].x[i] = (double)a->shift + (double)a->scale * (double)drawn;
    }
}
