/*
 * Operands that broadcast: any shapes, alignments and pieces, against a walk by coordinates; and
 * what the arithmetic makes of wholes at the end of their range.
 */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/axes_of.h"
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/ternary.h"
#include "common/base/alloc.h"
#include "cuda_emu/kernels/walk_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static const struct {
    graph_shape y, operand[3];
} shapes[] = {
    {{1, {1}}, {{1, {1}}, {0, {0}}, {1, {1}}}},
    {{1, {1030}}, {{1, {1030}}, {1, {1030}}, {1, {1030}}}},
    {{1, {7}}, {{1, {7}}, {0, {0}}, {1, {7}}}},
    {{2, {3, 8}}, {{2, {3, 8}}, {1, {8}}, {2, {3, 1}}}},
    {{2, {3, 7}}, {{2, {3, 1}}, {1, {7}}, {2, {3, 7}}}},
    {{3, {2, 3, 12}}, {{3, {2, 3, 12}}, {2, {3, 1}}, {3, {2, 1, 12}}}},
    {{4, {5, 2, 3, 4}}, {{4, {5, 1, 3, 1}}, {3, {2, 1, 4}}, {4, {5, 2, 3, 4}}}},
    {{3, {4, 1, 300}}, {{3, {4, 1, 1}}, {3, {4, 1, 300}}, {1, {1}}}},
};

static axes axes_at(size_t i, int n)
{
    return axes_of_broadcast(&shapes[i].y,
                             (const graph_shape *const[]){&shapes[i].operand[0],
                                                          &shapes[i].operand[1],
                                                          &shapes[i].operand[2]},
                             n);
}

/* The place in operand k of element e of the result. */
static int64_t place(size_t i, int k, int64_t e)
{
    const graph_shape *y = &shapes[i].y, *x = &shapes[i].operand[k];
    int64_t at = 0, stride = 1;
    for (int d = y->rank - 1, j = x->rank - 1; d >= 0; d--, j--) {
        int64_t coordinate = e % y->dim[d];
        e /= y->dim[d];
        if (j < 0)
            continue;
        at += x->dim[j] == 1 ? 0 : coordinate * stride;
        stride *= x->dim[j];
    }
    return at;
}

static float host[3][MOST], got[MOST];

static void fill(void)
{
    for (uint32_t k = 0; k < 3; k++)
        random_floats(host[k], MOST, k + 1);
}

static float *operand(size_t i, int k, size_t shift)
{
    size_t n = (size_t)graph_shape_elements(&shapes[i].operand[k]);
    float *x = on_device(host[k], (n + shift) * sizeof *x);
    return x + shift;
}

/* One type for all, or half of them halves. */
static const launch_types mixtures[] = {
    {LAUNCH_F32, LAUNCH_F32, LAUNCH_F32, LAUNCH_F32},
    {LAUNCH_BF16, LAUNCH_BF16, LAUNCH_BF16, LAUNCH_BF16},
    {LAUNCH_F32, LAUNCH_F32, LAUNCH_BF16, LAUNCH_F32},
    {LAUNCH_F16, LAUNCH_F16, LAUNCH_F32, LAUNCH_F16},
};

/* Operand k of that type, `shift` elements behind where it would be aligned; as[k]: what it is
 * then. */
static const void *stored_operand(size_t i, int k, launch_type type, size_t shift,
                                  float as[3][MOST])
{
    memcpy(as[k], host[k], sizeof host[k]);
    size_t n = (size_t)graph_shape_elements(&shapes[i].operand[k]) + shift;
    return (const char *)stored_on_device(type, as[k], n) + stored_bytes(type, shift);
}

static void check_stored(const void *y, launch_type type, const float *want, size_t n)
{
    uint32_t bits[MOST], expected[MOST];
    from_device(bits, y, stored_bytes(type, n));
    to_stored(expected, type, want, n);
    assert_memory_equal(bits, expected, stored_bytes(type, n));
}

static void floats_broadcast(void **state)
{
    (void)state;
    static float as[3][MOST];
    fill();
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t shift = 0; shift < 4; shift++) { /* of y, of a, of b */
            launch_types t = mixtures[(i + shift) % COUNT_OF(mixtures)];
            size_t n = (size_t)graph_shape_elements(&shapes[i].y), of_a = shift == 2,
                   of_b = shift == 3;
            void *y = (char *)stored_alloc(t.y, n + 1) + stored_bytes(t.y, shift == 1);
            axes over = axes_at(i, 2);
            const void *a = stored_operand(i, 0, t.a, of_a, as);
            const void *b = stored_operand(i, 1, t.b, of_b, as);
            launch_binary(kernel_test_stream(), BINARY_sub, t, y, a, b, &over);
            for (size_t e = 0; e < n; e++)
                got[e] = as[0][place(i, 0, (int64_t)e) + (int64_t)of_a] -
                         as[1][place(i, 1, (int64_t)e) + (int64_t)of_b];
            check_stored(y, t.y, got, n);
        }
}

static void the_first_operand_may_be_overwritten(void **state)
{
    (void)state;
    fill();
    float *y = operand(3, 0, 0);
    axes over = axes_at(3, 2);
    launch_binary(kernel_test_stream(), BINARY_mul, mixtures[0], y, y, operand(3, 1, 0), &over);
    from_device(got, y, 24 * sizeof *got);
    for (int e = 0; e < 24; e++)
        assert_true(got[e] == host[0][e] * host[1][e % 8]);
}

static void gradients_follow_an_operand(void **state)
{
    (void)state;
    static float as[3][MOST];
    fill();
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        launch_types t = mixtures[i % COUNT_OF(mixtures)];
        size_t n = (size_t)graph_shape_elements(&shapes[i].y);
        void *y = stored_alloc(t.y, n);
        axes over = axes_at(i, 3);
        const void *a = stored_operand(i, 0, t.a, 0, as), *b = stored_operand(i, 1, t.b, 0, as);
        launch_choice(kernel_test_stream(), CHOICE_prelu_bwd, t, y, a, b,
                      stored_operand(i, 2, t.c, 0, as), &over);
        for (size_t e = 0; e < n; e++) {
            float dy = as[0][place(i, 0, (int64_t)e)], x = as[1][place(i, 1, (int64_t)e)];
            float slope = as[2][place(i, 2, (int64_t)e)];
            got[e] = x > 0.0f ? dy : dy * slope;
        }
        check_stored(y, t.y, got, n);
    }
}

/* Bytes tell what was chosen, whatever an element is. */
static void chosen_are_elements_of_any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8};
    static unsigned char bytes[3][MOST * 8], chosen[MOST * 8];
    for (int k = 0; k < 3; k++)
        for (size_t j = 0; j < sizeof bytes[k]; j++)
            bytes[k][j] = (unsigned char)(k == 0 ? j * 7 % 5 < 2 : (j * 31 + (size_t)k) % 251);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            size_t n = (size_t)graph_shape_elements(&shapes[i].y), element = sizes[s];
            const void *x[3];
            for (int k = 0; k < 3; k++)
                x[k] = on_device(bytes[k], (size_t)graph_shape_elements(&shapes[i].operand[k]) *
                                               (k == 0 ? 1 : element));
            void *y = device_alloc(n * element);
            axes over = axes_at(i, 3);
            launch_where(kernel_test_stream(), element, y, x[0], x[1], x[2], &over);
            from_device(chosen, y, n * element);
            for (size_t e = 0; e < n; e++) {
                int k = bytes[0][place(i, 0, (int64_t)e)] ? 1 : 2;
                assert_memory_equal(chosen + e * element,
                                    bytes[k] + (size_t)place(i, k, (int64_t)e) * element, element);
            }
        }
}

/* --- by pieces --- */

static void pieces_make_the_whole(void **state)
{
    (void)state;
    static const int64_t most[] = {1, 2, 5, 40, MOST};
    fill();
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t m = 0; m < COUNT_OF(most); m++) {
            size_t n = (size_t)graph_shape_elements(&shapes[i].y);
            float *y = device_alloc(n * sizeof *y);
            axes over = axes_at(i, 2);
            int pieces = scene_subtract(kernel_test_stream(), y, operand(i, 0, 0), operand(i, 1, 0),
                                        &over, most[m]);
            assert_true(pieces >= (int64_t)n / most[m] && (most[m] < MOST || pieces == 1));
            from_device(got, y, n * sizeof *got);
            for (size_t e = 0; e < n; e++)
                assert_true(got[e] ==
                            host[0][place(i, 0, (int64_t)e)] - host[1][place(i, 1, (int64_t)e)]);
        }
}

static void quotients_are_exact(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t by = (seed >> (i % 31)) & 0x7fffffffu, n = seed * 2654435761u >> 1;
        by += by == 0;
        assert_int_equal(scene_quotient(by, n), n / by);
        uint32_t edge = n / by * by; /* where the quotient changes */
        assert_int_equal(scene_quotient(by, edge), edge / by);
        if (edge > 0)
            assert_int_equal(scene_quotient(by, edge - 1), (edge - 1) / by);
    }
    assert_int_equal(scene_quotient(1, 0x7fffffffu), 0x7fffffffu);
    assert_int_equal(scene_quotient(0x40000000u, 0x7fffffffu), 1);
}

/* --- whole wholes --- */

static const int64_t wholes[] = {
    0,   1,   -1,   2,       -2,        3,         7,         -7,        100,
    255, 256, -128, 1000003, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
};
enum { WHOLES = COUNT_OF(wholes) };

static int64_t as_type(dtype t, int64_t x)
{
    return t == DT_I64 ? x : t == DT_I32 ? (int32_t)x : (uint8_t)x;
}

/* Exactly, before it is cut to the type. */
static __int128 exact(whole_function f, __int128 a, __int128 b)
{
    switch (f) {
    case WHOLE_add:
        return a + b;
    case WHOLE_sub:
        return a - b;
    case WHOLE_mul:
        return a * b;
    case WHOLE_div:
        return b == 0 ? 0 : a / b;
    case WHOLE_min:
        return a < b ? a : b;
    case WHOLE_max:
        return a < b ? b : a;
    case WHOLE_fmod:
        return b == 0 ? 0 : a % b;
    case WHOLE_bitwise_and:
        return a & b;
    case WHOLE_bitwise_or:
        return a | b;
    case WHOLE_bitwise_xor:
        return a ^ b;
    default:
        return b == 0 ? 0 : (a % b + b) % b;
    }
}

static void store(dtype t, void *to, int64_t i, int64_t x)
{
    if (t == DT_I64)
        ((int64_t *)to)[i] = x;
    else if (t == DT_I32)
        ((int32_t *)to)[i] = (int32_t)x;
    else
        ((uint8_t *)to)[i] = (uint8_t)x;
}

static int64_t load(dtype t, const void *from, int64_t i)
{
    return t == DT_I64   ? ((const int64_t *)from)[i]
           : t == DT_I32 ? ((const int32_t *)from)[i]
                         : ((const uint8_t *)from)[i];
}

static void whole_numbers_wrap_around(void **state)
{
    (void)state;
    static const dtype types[] = {DT_I64, DT_I32, DT_U8};
    int64_t a[WHOLES], y[WHOLES * WHOLES];
    graph_shape all = {2, {WHOLES, WHOLES}}, column = {2, {WHOLES, 1}}, row = {1, {WHOLES}};
    axes over = axes_of_broadcast(&all, (const graph_shape *const[]){&column, &row}, 2);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        size_t bytes = dtype_bytes(types[t]);
        for (int i = 0; i < WHOLES; i++)
            store(types[t], a, i, wholes[i]);
        void *x = on_device(a, WHOLES * bytes), *to = device_alloc(WHOLES * WHOLES * bytes);
        for (whole_function f = WHOLE_add; f <= WHOLE_fmod; f++) {
            launch_whole(kernel_test_stream(), f, types[t], to, x, x, &over);
            from_device(y, to, WHOLES * WHOLES * bytes);
            for (int e = 0; e < WHOLES * WHOLES; e++) {
                __int128 want = exact(f, as_type(types[t], wholes[e / WHOLES]),
                                      as_type(types[t], wholes[e % WHOLES]));
                assert_int_equal(load(types[t], y, e), as_type(types[t], (int64_t)want));
            }
        }
    }
}

/* --- comparisons, questions, casts --- */

static const float strange[] = {0.0f,      -0.0f, 1.5f,  -1.5f, NAN,    INFINITY,
                                -INFINITY, 3e9f,  -3e9f, 1e20f, -1e20f, 255.5f};
enum { STRANGE = COUNT_OF(strange) };

static void floats_compare_as_c_does(void **state)
{
    (void)state;
    uint8_t y[STRANGE * STRANGE];
    graph_shape all = {2, {STRANGE, STRANGE}}, column = {2, {STRANGE, 1}}, row = {1, {STRANGE}};
    axes over = axes_of_broadcast(&all, (const graph_shape *const[]){&column, &row}, 2);
    const float *x = on_device(strange, sizeof strange);
    uint8_t *to = device_alloc(sizeof y);
    for (compare_function f = COMPARE_equal; f <= COMPARE_greater_or_equal; f++) {
        launch_compare(kernel_test_stream(), f, DT_F32, to, x, x, &over);
        from_device(y, to, sizeof y);
        for (int e = 0; e < STRANGE * STRANGE; e++) {
            float a = strange[e / STRANGE], b = strange[e % STRANGE];
            bool want[] = {a == b, a<b, a <= b, a> b, a >= b};
            assert_int_equal(y[e], want[f - COMPARE_equal]);
        }
    }
}

static void questions_know_what_is_no_number(void **state)
{
    (void)state;
    uint8_t y[STRANGE];
    const float *x = on_device(strange, sizeof strange);
    uint8_t *to = device_alloc(sizeof y);
    for (question_function f = QUESTION_is_nan; f <= QUESTION_never; f++) {
        launch_question(kernel_test_stream(), f, to, x, STRANGE);
        from_device(y, to, sizeof y);
        for (int i = 0; i < STRANGE; i++) {
            bool plus = i == 5, minus = i == 6;
            bool want[] = {i == 4, plus || minus, plus, minus, false};
            assert_int_equal(y[i], want[f - QUESTION_is_nan]);
        }
    }
}

static void floats_are_cast_to_the_nearest_there_is(void **state)
{
    (void)state;
    static const int64_t want[][STRANGE] = {
        {0, 0, 1, -1, 0, INT64_MAX, INT64_MIN, 3000000000, -3000000000, INT64_MAX, INT64_MIN, 255},
        {0, 0, 1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 255},
        {0, 0, 1, 0, 0, 255, 0, 255, 0, 255, 0, 255},
        {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    };
    static const dtype types[] = {DT_I64, DT_I32, DT_U8, DT_BOOL};
    int64_t y[STRANGE];
    const float *x = on_device(strange, sizeof strange);
    void *to = device_alloc(sizeof y);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        launch_cast(kernel_test_stream(), DT_F32, types[t], to, x, STRANGE);
        from_device(y, to, STRANGE * dtype_bytes(types[t]));
        for (int i = 0; i < STRANGE; i++)
            assert_int_equal(load(types[t], y, i), want[t][i]);
    }
}

static void floats_are_rounded_to_half(void **state)
{
    (void)state;
    static const float x[] = {1.0f,     0x1.01p0f, 0x1.03p0f,   0x1.0101p0f,    -0x1.01p0f,
                              INFINITY, -0.0f,     0x1.ffp127f, 0x1.fffffep127f};
    static const uint16_t want[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xbf80,
                                    0x7f80, 0x8000, 0x7f80, 0x7f80};
    uint16_t y[COUNT_OF(x)];
    void *to = device_alloc(sizeof y);
    launch_round(kernel_test_stream(), (launch_types){.y = LAUNCH_BF16}, to, on_device(x, sizeof x),
                 COUNT_OF(x));
    from_device(y, to, sizeof y);
    for (size_t i = 0; i < COUNT_OF(x); i++)
        assert_int_equal(y[i], want[i]);
}

static void halves_are_widened(void **state)
{
    (void)state;
    enum { N = 11 };
    static const launch_type types[] = {LAUNCH_BF16, LAUNCH_F16};
    float x[N], y[N];
    uint16_t half[N];
    void *to = device_alloc(sizeof y);
    random_floats(x, N, 3);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        to_stored(half, types[t], x, N);
        from_stored(x, types[t], half, N);
        launch_round(kernel_test_stream(), (launch_types){.a = types[t]}, to,
                     on_device(half, sizeof half), N);
        from_device(y, to, sizeof y);
        assert_memory_equal(y, x, sizeof y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(floats_broadcast),
        KERNEL_TEST(the_first_operand_may_be_overwritten),
        KERNEL_TEST(gradients_follow_an_operand),
        KERNEL_TEST(chosen_are_elements_of_any_size),
        KERNEL_TEST(pieces_make_the_whole),
        KERNEL_TEST(quotients_are_exact),
        KERNEL_TEST(whole_numbers_wrap_around),
        KERNEL_TEST(floats_compare_as_c_does),
        KERNEL_TEST(questions_know_what_is_no_number),
        KERNEL_TEST(floats_are_cast_to_the_nearest_there_is),
        KERNEL_TEST(floats_are_rounded_to_half),
        KERNEL_TEST(halves_are_widened),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
