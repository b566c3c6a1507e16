/* Matrix products on our own tiles against sums in double of the factors as they lie. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/tile.h"
#include "backend/unary_math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

static float a[MOST], b[MOST], c[MOST], got[MOST], again[MOST];
static double want[MOST];

typedef struct matmul {
    tile_kind kind;
    bool trans_a, trans_b, wide;
    int64_t batches, m, n, k;
    int64_t shift, gap; /* elements in front of a matrix and between its rows */
    launch_type y_type;
    int64_t pieces;
} matmul;

static launch_type lies_as(tile_kind kind)
{
    return kind == TILE_BF16 ? LAUNCH_BF16 : kind == TILE_F16 ? LAUNCH_F16 : LAUNCH_F32;
}

static dtype dtype_of(launch_type t)
{
    return t == LAUNCH_BF16 ? DT_BF16 : t == LAUNCH_F16 ? DT_F16 : DT_F32;
}

/* To 10 bits of fraction, ties away from zero. */
static float tf32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x1000u) & ~0x1fffu;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Puts x [batches, rows, columns] onto the device as `p` lays matrices; rounds x as it is
 * multiplied. */
static tile_matrix matrix_on_device(const matmul *p, float *x, int64_t rows, int64_t columns,
                                    bool transposed)
{
    int64_t high = transposed ? columns : rows, pitch = (transposed ? rows : columns) + p->gap;
    int64_t each = high > 0 ? high * pitch - p->gap : 0, n = p->shift + p->batches * each;
    launch_type type = lies_as(p->kind);
    float *lying = malloc((size_t)(n + 1) * sizeof *lying);
    void *bytes = malloc((size_t)(n + 1) * 4);
    tile_matrix m = {
        .row = transposed ? 1 : pitch, .column = transposed ? pitch : 1, .batch = each};
    random_floats(lying, (size_t)n, 99);
    for (int64_t i = 0; i < p->batches * rows * columns; i++) {
        int64_t row = i / columns % rows, column = i % columns;
        lying[p->shift + i / (rows * columns) * each + row * m.row + column * m.column] = x[i];
    }
    to_stored(bytes, type, lying, (size_t)n);
    m.data = (char *)on_device(bytes, stored_bytes(type, (size_t)n)) +
             stored_bytes(type, (size_t)p->shift);
    if (type != LAUNCH_F32) {
        to_stored(bytes, type, x, (size_t)(p->batches * rows * columns));
        from_stored(x, type, bytes, (size_t)(p->batches * rows * columns));
    }
    for (int64_t i = 0; p->kind == TILE_TF32 && i < p->batches * rows * columns; i++)
        x[i] = tf32(x[i]);
    free(bytes);
    free(lying);
    return m;
}

static void multiply_on_host(const matmul *p)
{
    for (int64_t i = 0; i < p->batches * p->m * p->n; i++) {
        int64_t batch = i / (p->m * p->n), row = i / p->n % p->m, column = i % p->n;
        want[i] = 0;
        for (int64_t k = 0; k < p->k; k++)
            want[i] += (double)a[(batch * p->m + row) * p->k + k] *
                       (double)b[(batch * p->k + k) * p->n + column];
    }
}

static gemm_task task_of(const matmul *p)
{
    random_floats(a, (size_t)(p->batches * p->m * p->k), 1);
    random_floats(b, (size_t)(p->batches * p->k * p->n), 2);
    gemm_task t = {.kind = p->kind,
                   .batches = p->batches,
                   .m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .a = matrix_on_device(p, a, p->m, p->k, p->trans_a),
                   .b = matrix_on_device(p, b, p->k, p->n, p->trans_b),
                   .y_type = dtype_of(p->y_type),
                   .y_row = p->n,
                   .y_batch = p->m * p->n,
                   .end = {.alpha = 1.0f},
                   .cut = {.wide = p->wide, .pieces = p->pieces ? p->pieces : 1}};
    int64_t parts = tile_parts(t.cut.pieces, p->batches, p->m, p->n);
    t.cut.parts = parts ? device_alloc((size_t)parts * sizeof(float)) : NULL;
    t.y = device_alloc(stored_bytes(p->y_type, (size_t)(p->batches * p->m * p->n)) + 1);
    return t;
}

static void run(const matmul *p, const gemm_task *t, float *ret)
{
    static uint32_t bytes[MOST];
    size_t n = (size_t)(p->batches * p->m * p->n);
    launch_gemm(kernel_test_stream(), t);
    from_device(bytes, t->y, stored_bytes(p->y_type, n));
    from_stored(ret, p->y_type, bytes, n);
}

static void check(const matmul *p)
{
    const double rounding[] = {1e-6, 1.0 / 256, 1.0 / 2048};
    char what[160];
    gemm_task t = task_of(p);
    run(p, &t, got);
    multiply_on_host(p);
    snprintf(what, sizeof what, "kind %d%s%s%s %d x [%d,%d,%d] shift %d gap %d pieces %d", p->kind,
             p->trans_a ? " a'" : "", p->trans_b ? " b'" : "", p->wide ? " wide" : "",
             (int)p->batches, (int)p->m, (int)p->n, (int)p->k, (int)p->shift, (int)p->gap,
             (int)p->pieces);
    assert_floats_close(what, got, want, (size_t)(p->batches * p->m * p->n),
                        2e-7 * (double)p->k + 1e-7, rounding[p->y_type]);
}

/* m, n, k below, at and above every edge: of a chunk, a step of mma, a square, a tile. */
static const int64_t sizes[][3] = {
    {1, 1, 1},   {1, 64, 8},  {64, 64, 32}, {65, 63, 33}, {8, 65, 17},
    {66, 8, 70}, {3, 130, 4}, {63, 1, 16},  {16, 72, 40}, {5, 7, 0},
};

static void cross_every_edge(tile_kind kind)
{
    for (unsigned way = 0; way < 4; way++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check(&(matmul){.kind = kind,
                            .trans_a = way & 1,
                            .trans_b = way & 2,
                            .batches = 1,
                            .m = sizes[i][0],
                            .n = sizes[i][1],
                            .k = sizes[i][2]});
}

static void floats_cross_every_edge(void **state)
{
    (void)state;
    cross_every_edge(TILE_F32);
}

static void tf32_crosses_every_edge(void **state)
{
    (void)state;
    cross_every_edge(TILE_TF32);
}

static void bf16_crosses_every_edge(void **state)
{
    (void)state;
    cross_every_edge(TILE_BF16);
}

static void f16_crosses_every_edge(void **state)
{
    (void)state;
    cross_every_edge(TILE_F16);
}

static void wide_tiles_cross_every_edge(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 16; way++)
        check(&(matmul){.kind = (tile_kind)(way % 4),
                        .trans_a = way & 4,
                        .trans_b = way & 8,
                        .wide = true,
                        .batches = 1,
                        .m = way & 4 ? 136 : 129,
                        .n = way & 8 ? 131 : 128,
                        .k = 33 + way});
}

static void any_alignment_and_pitch_will_do(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 16; way++)
        for (int64_t gap = 0; gap < 9; gap += 4)
            check(&(matmul){.kind = (tile_kind)(way % 4),
                            .trans_a = way & 4,
                            .trans_b = way & 8,
                            .batches = 1,
                            .m = 24,
                            .n = 72,
                            .k = 40,
                            .shift = gap / 4,
                            .gap = gap});
}

/* Rows begin at 16 bytes, but do not end there: the last chunk is not all there. */
static void aligned_rows_end_anywhere(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 16; way++)
        check(&(matmul){.kind = (tile_kind)(way % 4),
                        .trans_a = way & 4,
                        .trans_b = way & 8,
                        .batches = 1,
                        .m = 21,
                        .n = 69,
                        .k = 37,
                        .gap = 3});
}

static void batches_are_apart(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 16; way++)
        check(&(matmul){.kind = (tile_kind)(way % 4),
                        .trans_a = way & 4,
                        .trans_b = way & 8,
                        .batches = 3,
                        .m = 17,
                        .n = 8,
                        .k = 24 + way / 8});
}

static void results_are_rounded_to_their_type(void **state)
{
    (void)state;
    for (int type = LAUNCH_F32; type <= LAUNCH_F16; type++)
        check(&(matmul){.kind = TILE_BF16,
                        .batches = 2,
                        .m = 9,
                        .n = 66,
                        .k = 48,
                        .y_type = (launch_type)type});
}

/* alpha, beta, c by row, by column, as a scalar and as y itself, in every type. */
static void the_end_is_as_gemm_says(void **state)
{
    (void)state;
    const int64_t strides[][3] = {{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, {12, 3, 0}, {630, 70, 1}};
    static uint32_t bytes[MOST];
    for (int i = 0; i < 15; i++) {
        matmul p = {.kind = TILE_F32, .batches = 2, .m = 9, .n = 70, .k = 11};
        launch_type type = (launch_type)(i / 5);
        gemm_task t = task_of(&p);
        const int64_t *s = strides[i % 5];
        random_floats(c, 1260, 3);
        to_stored(bytes, type, c, 1260);
        from_stored(c, type, bytes, 1260);
        void *on = on_device(bytes, stored_bytes(type, 1260));
        t.end = (tile_end){.alpha = -0.5f,
                           .beta = 2.0f,
                           .c = on,
                           .c_type = dtype_of(type),
                           .c_batch = s[0],
                           .c_row = s[1],
                           .c_column = s[2]};
        if (i == 4)
            t.y = on;
        run(&p, &t, got);
        multiply_on_host(&p);
        for (int64_t j = 0; j < 1260; j++)
            want[j] = -0.5 * want[j] +
                      2.0 * (double)c[j / 630 * s[0] + j / 70 % 9 * s[1] + j % 70 * s[2]];
        assert_floats_close("end", got, want, 1260, 4e-6, 1e-6);
    }
}

/* Of the function's operand and, for gradients, of what stands beside. */
static float applied(tile_function f, float x, float side)
{
    switch (f) {
    case TILE_RELU:
        return x < 0.0f ? 0.0f : x;
    case TILE_GELU:
        return x * vec_normal_cdf(x);
    case TILE_GELU_BY_TANH:
        return gelu_tanh(x);
    case TILE_RELU_BWD:
        return side > 0.0f ? x : 0.0f;
    case TILE_GELU_BWD:
        return x * gelu_erf_gradient(side);
    case TILE_GELU_BY_TANH_BWD:
        return x * gelu_tanh_gradient(side);
    default:
        return x;
    }
}

/* What the matmul makes without the function, to the bit; `again` is the side. */
static void expect_function(const matmul *p, tile_function f, launch_type side_type)
{
    static uint32_t bytes[MOST];
    size_t n = (size_t)(p->batches * p->m * p->n);
    gemm_task t = task_of(p);
    random_floats(c, n, 4);
    to_stored(bytes, side_type, c, n);
    from_stored(c, side_type, bytes, n);
    run(p, &t, again);
    t.end.side = on_device(bytes, stored_bytes(side_type, n));
    t.end.side_type = dtype_of(side_type);
    t.end.function = f;
    run(p, &t, got);
    for (size_t i = 0; i < n; i++)
        if (got[i] != applied(f, again[i], c[i]))
            fail_msg("function %d, [%d] is %g, not %g", f, (int)i, (double)got[i],
                     (double)applied(f, again[i], c[i]));
    from_device(bytes, t.end.side, stored_bytes(side_type, n));
    from_stored(c, side_type, bytes, n);
    to_stored(bytes, side_type, again, n);
    from_stored(again, side_type, bytes, n);
    if (!tile_is_gradient(f))
        assert_memory_equal(c, again, n * sizeof *c);
}

static void functions_are_of_whole_sums(void **state)
{
    (void)state;
    for (tile_function f = TILE_RELU; f <= TILE_GELU_BY_TANH_BWD; f++)
        for (int kind = TILE_F32; kind <= TILE_F16; kind++)
            expect_function(&(matmul){.kind = (tile_kind)kind,
                                      .wide = kind % 2,
                                      .batches = 2,
                                      .m = 9,
                                      .n = 70,
                                      .k = 40,
                                      .pieces = f % 3 + 1},
                            f, (launch_type)(kind % 3));
}

/* Nobody reads what a function is of. */
static void a_function_needs_no_side(void **state)
{
    (void)state;
    matmul p = {.kind = TILE_BF16, .batches = 1, .m = 5, .n = 7, .k = 3};
    gemm_task t = task_of(&p);
    run(&p, &t, again);
    t.end.function = TILE_GELU;
    run(&p, &t, got);
    for (int i = 0; i < 5 * 7; i++)
        assert_true(got[i] == applied(TILE_GELU, again[i], 0.0f));
}

static void a_nan_survives_the_relu(void **state)
{
    (void)state;
    matmul p = {.kind = TILE_F32, .batches = 1, .m = 2, .n = 2, .k = 1};
    gemm_task t = task_of(&p);
    const float nan_and_one[] = {NAN, 1.0f};
    t.a.data = on_device(nan_and_one, sizeof nan_and_one);
    t.end.function = TILE_RELU;
    run(&p, &t, got);
    assert_true(isnan(got[0]) && isnan(got[1]) && got[2] >= 0 && got[3] >= 0);
}

static void pieces_of_k_are_summed(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++)
        for (int64_t pieces = 2; pieces < 5; pieces++)
            check(&(matmul){.kind = (tile_kind)way,
                            .batches = 2,
                            .m = 66,
                            .n = 9,
                            .k = 65,
                            .y_type = pieces == 3 ? LAUNCH_BF16 : LAUNCH_F32,
                            .pieces = pieces});
}

/* A sum depends on its factors, k and pieces, not on how they lie or on who adds them up. */
static void layout_and_tiles_do_not_show(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        matmul p = {.kind = (tile_kind)kind, .batches = 1, .m = 70, .n = 136, .k = 104};
        gemm_task t = task_of(&p);
        run(&p, &t, got);
        for (unsigned way = 1; way < 8; way++) {
            p.trans_a = way & 1;
            p.trans_b = way & 2;
            p.wide = way & 4;
            p.shift = way % 3;
            t = task_of(&p);
            run(&p, &t, again);
            assert_memory_equal(got, again, 70 * 136 * sizeof(float));
        }
    }
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    gemm_task t = {.batches = 0, .m = 4, .n = 4, .k = 4, .cut = {.pieces = 1}};
    launch_gemm(kernel_test_stream(), &t);
    t.batches = 1;
    t.n = 0;
    launch_gemm(kernel_test_stream(), &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(floats_cross_every_edge),
        KERNEL_TEST(tf32_crosses_every_edge),
        KERNEL_TEST(bf16_crosses_every_edge),
        KERNEL_TEST(f16_crosses_every_edge),
        KERNEL_TEST(wide_tiles_cross_every_edge),
        KERNEL_TEST(any_alignment_and_pitch_will_do),
        KERNEL_TEST(aligned_rows_end_anywhere),
        KERNEL_TEST(batches_are_apart),
        KERNEL_TEST(results_are_rounded_to_their_type),
        KERNEL_TEST(the_end_is_as_gemm_says),
        KERNEL_TEST(functions_are_of_whole_sums),
        KERNEL_TEST(a_function_needs_no_side),
        KERNEL_TEST(a_nan_survives_the_relu),
        KERNEL_TEST(pieces_of_k_are_summed),
        KERNEL_TEST(layout_and_tiles_do_not_show),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
