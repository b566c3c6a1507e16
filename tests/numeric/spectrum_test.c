/*
 * DFT, STFT and Col2Im as they are imported, against their definitions: sums over all pairs of
 * positions and frequencies, and over all elements of all blocks, in double.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/onnx_run.h"
#include "numeric/support_compare.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double TAU = 6.283185307179586;

static void fill(double *x, int64_t n, uint64_t stream)
{
    rng r = rng_make(3, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)rng_normal(&r, (uint64_t)i);
}

/* X_k of n numbers, those from `has` on being zero. */
static double complex frequency(const double complex *x, int64_t has, int64_t n, int64_t k,
                                bool inverse)
{
    double complex sum = 0;
    for (int64_t i = 0; i < has && i < n; i++)
        sum += x[i] * cexp((inverse ? 1 : -1) * I * TAU * (double)(i * k % n) / (double)n);
    return inverse ? sum / (double)n : sum;
}

/* --- DFT: x [2, a, b, parts] along axis 1 or 2 --- */

typedef struct dft_row {
    int64_t opset, a, b, parts, axis, length; /* length 0: not said */
    bool inverse, one_sided;
} dft_row;

static const dft_row dft_rows[] = {
    {17, 8, 3, 1, 1, 0, false, false},  {17, 8, 3, 2, 1, 0, false, false},
    {20, 3, 12, 1, 2, 0, false, true},  {20, 3, 13, 1, 2, 0, false, true},
    {20, 3, 12, 2, -2, 0, true, false}, {20, 3, 7, 2, -2, 0, true, false},
    {19, 9, 2, 1, 1, 5, false, true},   {20, 9, 2, 2, 1, 16, false, false},
    {20, 9, 2, 2, -3, 16, true, false}, {20, 1, 1, 1, 2, 0, false, false},
    {20, 1, 400, 1, 2, 0, false, true}, {20, 7, 2, 2, 1, 0, true, true},
    {20, 7, 2, 2, 1, 11, true, true},   {20, 7, 2, 2, 1, 20, true, true},
};

static file *dft_file(const dft_row *r)
{
    file *f = file_create(r->opset);
    file_input(f, "x", FILE_FLOAT, "");
    f->graph.input[0]->type->tensor_type->shape = NULL;
    Onnx__TensorProto *t = file_ints(f, "length", arena_printf(f->a, "%lld", (long long)r->length));
    t->n_dims = 0;
    t = file_ints(f, "axis", arena_printf(f->a, "%lld", (long long)r->axis));
    t->n_dims = 0;
    const char *inputs = r->opset < 20 ? r->length ? "x length" : "x"
                         : r->length   ? "x length axis"
                                       : "x - axis";
    Onnx__NodeProto *n = file_node(f, "DFT", inputs, "y");
    if (r->opset < 20)
        file_int(f, n, "axis", r->axis);
    file_int(f, n, "inverse", r->inverse);
    file_int(f, n, "onesided", r->one_sided);
    file_output(f, "y");
    return f;
}

/* The line of x at (i, j) along the axis; of half a spectrum the whole one. */
static int64_t take_line(const dft_row *r, const double *x, int64_t i, int64_t j, bool along_a,
                         int64_t length, double complex *ret)
{
    int64_t has = along_a ? r->a : r->b;
    for (int64_t k = 0; k < has; k++) {
        int64_t at = ((i * r->a + (along_a ? k : j)) * r->b + (along_a ? j : k)) * r->parts;
        ret[k] = x[at] + (r->parts == 2 ? I * x[at + 1] : 0);
    }
    if (!(r->inverse && r->one_sided))
        return has;
    for (int64_t k = has; k < length; k++)
        ret[k] = 0;
    for (int64_t k = length / 2 + 1; k < length; k++)
        ret[k] = conj(ret[length - k]);
    ret[0] = creal(ret[0]);
    if (length % 2 == 0)
        ret[length / 2] = creal(ret[length / 2]);
    return length;
}

static void check_dft(const dft_row *r)
{
    static double x[RUN_MOST_ELEMENTS], want[RUN_MOST_ELEMENTS];
    double complex line[512];
    bool along_a = r->axis == 1 || r->axis == -3, halves = r->inverse && r->one_sided;
    int64_t has = along_a ? r->a : r->b, other = along_a ? r->b : r->a;
    int64_t length = r->length ? r->length : halves ? 2 * (has - 1) : has;
    int64_t n_out = r->one_sided && !r->inverse ? length / 2 + 1 : length, parts = halves ? 1 : 2;
    fill(x, 2 * r->a * r->b * r->parts, 1);
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < other; j++) {
            int64_t n = take_line(r, x, i, j, along_a, length, line);
            for (int64_t k = 0; k < n_out; k++) {
                double complex y = frequency(line, n, length, k, r->inverse);
                int64_t at = along_a ? ((i * n_out + k) * other + j) : ((i * other + j) * n_out + k);
                want[at * parts] = creal(y);
                if (parts == 2)
                    want[at * parts + 1] = cimag(y);
            }
        }
    file *f = dft_file(r);
    const run_input in[] = {{"x", DT_F32, {4, {2, r->a, r->b, r->parts}}, x, false}};
    run_result *y = run_file(f, in, 1, 0);
    char what[96];
    snprintf(what, sizeof what, "DFT %lld [%lld,%lld,%lld] axis %lld", (long long)r->opset,
             (long long)r->a, (long long)r->b, (long long)r->parts, (long long)r->axis);
    assert_int_equal(graph_shape_elements(&y->shape[0]), 2 * other * n_out * parts);
    if (!is_close(what, y->y[0], want, 2 * other * n_out * parts, 2e-6))
        fail_msg("%s", what);
    free(y);
    file_destroy(&f);
}

static void transforms_are_their_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dft_rows); i++)
        check_dft(&dft_rows[i]);
}

/* --- STFT --- */

static void check_stft(int64_t samples, int64_t length, int64_t step, bool windowed, bool one_sided,
                       int64_t parts)
{
    static double x[RUN_MOST_ELEMENTS], window[256], want[RUN_MOST_ELEMENTS];
    double complex line[256];
    int64_t frames = 1 + (samples - length) / step, n_out = one_sided ? length / 2 + 1 : length;
    fill(x, 2 * samples * parts, 1);
    fill(window, length, 2);
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, arena_printf(f->a, "2,%d,%d", (int)samples, (int)parts));
    file_input(f, "window", FILE_FLOAT, arena_printf(f->a, "%d", (int)length));
    Onnx__TensorProto *t = file_ints(f, "step", arena_printf(f->a, "%d", (int)step));
    t->n_dims = 0;
    t = file_ints(f, "length", arena_printf(f->a, "%d", (int)length));
    t->n_dims = 0;
    Onnx__NodeProto *n =
        file_node(f, "STFT", windowed ? "x step window" : "x step - length", "y");
    file_int(f, n, "onesided", one_sided);
    file_output(f, "y");
    int64_t at = 0;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < frames; i++) {
            for (int64_t k = 0; k < length; k++) {
                const double *sample = x + (b * samples + i * step + k) * parts;
                line[k] = (sample[0] + (parts == 2 ? I * sample[1] : 0)) *
                          (windowed ? window[k] : 1);
            }
            for (int64_t k = 0; k < n_out; k++) {
                double complex y = frequency(line, length, length, k, false);
                want[at++] = creal(y);
                want[at++] = cimag(y);
            }
        }
    const run_input in[] = {{"x", DT_F32, {3, {2, samples, parts}}, x, false},
                            {"window", DT_F32, {1, {length}}, window, false}};
    run_result *r = run_file(f, in, windowed ? 2 : 1, 0);
    assert_int_equal(graph_shape_elements(&r->shape[0]), at);
    assert_int_equal(r->shape[0].rank, 4);
    if (!is_close("STFT", r->y[0], want, at, 2e-6))
        fail_msg("%lld by %lld", (long long)length, (long long)step);
    free(r);
    file_destroy(&f);
}

static void frames_are_transformed(void **state)
{
    (void)state;
    check_stft(40, 8, 4, true, true, 1);
    check_stft(41, 9, 3, false, true, 1);
    check_stft(40, 8, 16, true, false, 2);
    check_stft(240, 100, 40, true, true, 1);
}

/* A matrix of cosines is not rounded for a precision that rounds the factors of products. */
static void transforms_are_exact_in_any_precision(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    for (graph_precision p = PRECISION_F32; p <= PRECISION_BF16; p++) {
        graph *g = NULL;
        graph_val in[2], y;
        must(graph_create(&g, &err), &err);
        must(graph_input(g, "a", DT_F32, (graph_shape){2, {2, 3}}, &in[0], &err), &err);
        must(graph_input(g, "b", DT_F32, (graph_shape){2, {3, 4}}, &in[1], &err), &err);
        must(graph_add_1(g, OP_MATMUL, "exact", in, 2, &(matmul_attr){.exact = true}, &y, &err),
             &err);
        must(graph_set_precision(g, p, &err), &err);
        assert_int_equal(graph_n_nodes(g), 1);
        graph_destroy(&g);
    }
}

/* --- Col2Im: 2 examples of 3 channels --- */

typedef struct fold_row {
    int axes;
    int64_t image[3], block[3], strides[3], dilations[3], pads[6];
} fold_row;

static const fold_row fold_rows[] = {
    {2, {5, 5}, {1, 5}, {1, 1}, {1, 1}, {0}},       {2, {8, 6}, {2, 3}, {2, 3}, {1, 1}, {0}},
    {2, {8, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}, {2, {9, 8}, {2, 3}, {3, 1}, {2, 2}, {0, 1, 2, 0}},
    {1, {11}, {4}, {3}, {1}, {0}},                  {3, {4, 3, 5}, {2, 2, 2}, {1, 1, 2}, {1, 1, 1}, {0}},
};

static const char *list(file *f, const int64_t *x, int n)
{
    buf text = BUF_INIT;
    for (int i = 0; i < n; i++)
        buf_addf(&text, "%s%lld", i ? "," : "", (long long)x[i]);
    const char *copy = arena_strdup(f->a, text.data);
    buf_fini(&text);
    return copy;
}

/* Adds element `b` of the block at position `l` to its plane, if it is on it. */
static void add_element(const fold_row *r, const int64_t *positions, int64_t b, int64_t l, double x,
                        double *plane)
{
    int64_t at = 0, block[3], position[3];
    for (int i = r->axes; i-- > 0;) {
        block[i] = b % r->block[i];
        b /= r->block[i];
        position[i] = l % positions[i];
        l /= positions[i];
    }
    for (int i = 0; i < r->axes; i++) {
        int64_t k = position[i] * r->strides[i] + block[i] * r->dilations[i] - r->pads[i];
        if (k < 0 || k >= r->image[i])
            return;
        at = at * r->image[i] + k;
    }
    plane[at] += x;
}

static void check_fold(const fold_row *r)
{
    static double x[RUN_MOST_ELEMENTS], want[RUN_MOST_ELEMENTS];
    int64_t positions[3], n_block = 1, n_positions = 1, n_image = 1;
    for (int i = 0; i < r->axes; i++) {
        positions[i] = (r->image[i] + r->pads[i] + r->pads[r->axes + i] -
                        r->dilations[i] * (r->block[i] - 1) - 1) /
                           r->strides[i] +
                       1;
        n_block *= r->block[i];
        n_positions *= positions[i];
        n_image *= r->image[i];
    }
    fill(x, 6 * n_block * n_positions, 1);
    memset(want, 0, sizeof want);
    for (int64_t p = 0; p < 6; p++)
        for (int64_t b = 0; b < n_block; b++)
            for (int64_t l = 0; l < n_positions; l++)
                add_element(r, positions, b, l, x[(p * n_block + b) * n_positions + l],
                            want + p * n_image);
    file *f = file_create(18);
    file_input(f, "x", FILE_FLOAT,
               arena_printf(f->a, "2,%d,%d", (int)(3 * n_block), (int)n_positions));
    file_ints(f, "image", list(f, r->image, r->axes));
    file_ints(f, "block", list(f, r->block, r->axes));
    Onnx__NodeProto *n = file_node(f, "Col2Im", "x image block", "y");
    file_list(f, n, "strides", list(f, r->strides, r->axes));
    file_list(f, n, "dilations", list(f, r->dilations, r->axes));
    file_list(f, n, "pads", list(f, r->pads, 2 * r->axes));
    file_output(f, "y");
    const run_input in[] = {{"x", DT_F32, {3, {2, 3 * n_block, n_positions}}, x, false}};
    run_result *y = run_file(f, in, 1, 0);
    assert_int_equal(y->shape[0].rank, 2 + r->axes);
    if (!is_close("Col2Im", y->y[0], want, 6 * n_image, 1e-6))
        fail_msg("an image of %s", list(f, r->image, r->axes));
    free(y);
    file_destroy(&f);
}

static void blocks_are_summed_where_they_lie(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fold_rows); i++)
        check_fold(&fold_rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_their_sums),
        cmocka_unit_test(frames_are_transformed),
        cmocka_unit_test(transforms_are_exact_in_any_precision),
        cmocka_unit_test(blocks_are_summed_where_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
