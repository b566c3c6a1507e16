/* The door to oneDNN: what counts as plain, products against loops, refusals. */
#include "backend/cpu/dnnl/shim.h"

#include "common/base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static int open_shim(void **state)
{
    error err = ERROR_INIT;
    shim *s = NULL;
    status st = shim_create(&s, &err);
    *state = s;
    return st == OK ? 0 : -1;
}

static int close_shim(void **state)
{
    shim *s = *state;
    shim_destroy(&s);
    shim_destroy(&s); /* twice is fine */
    return 0;
}

static void test_version_and_instruction_set(void **state)
{
    (void)state;
    char version[32];
    int major, minor, patch;
    shim_version(version, sizeof version);
    assert_int_equal(sscanf(version, "%d.%d.%d", &major, &minor, &patch), 3);
    /* oneDNN gives numbers of x86's sets to Arm's, and knows the names of x86's alone */
    const char *isa = shim_isa();
#ifdef __aarch64__
    assert_true(strcmp(isa, "asimd") == 0 || strncmp(isa, "sve_", 4) == 0);
    assert_false(shim_gains_by_bf16());
#else
    assert_true(strcmp(isa, "sse41") == 0 || strncmp(isa, "avx", 3) == 0);
#endif
}

static void test_plain_layouts(void **state)
{
    error err = ERROR_INIT;
    const shim_layout *a, *b, *c;
    assert_int_equal(shim_plain(*state, 2, (int64_t[]){3, 5}, &a, &err), OK);
    assert_int_equal(shim_plain(*state, 2, (int64_t[]){3, 5}, &b, &err), OK);
    assert_int_equal(shim_plain(*state, 1, (int64_t[]){15}, &c, &err), OK);
    assert_true(shim_layout_is_plain(a) && shim_layout_is_plain(c));
    assert_false(shim_layout_is_padded(a));
    assert_true(shim_layout_same(a, b));
    assert_true(shim_layout_same(a, c)); /* the same bytes under another shape */
    assert_int_equal(shim_layout_bytes(a), 60);
}

static shim_primitive *pointwise(shim *s, int64_t channels, int64_t size)
{
    error err = ERROR_INIT;
    const shim_layout *x, *w;
    shim_primitive *conv;
    shim_window window = {.rank = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    assert_int_equal(shim_any(s, 4, (int64_t[]){2, channels, size, size}, &x, &err), OK);
    assert_int_equal(shim_any(s, 4, (int64_t[]){channels, channels, 1, 1}, &w, &err), OK);
    assert_int_equal(shim_conv(s, &window, x, w, NULL, x, &conv, &err), OK);
    return conv;
}

/* Whatever order the library likes, plain must mean row-major bytes. */
static void test_plain_in_disguise(void **state)
{
    error err = ERROR_INIT;
    for (int64_t channels = 8; channels <= 40; channels += 8) {
        for (int64_t size = 1; size <= 3; size++) {
            shim_primitive *conv = pointwise(*state, channels, size), *reorder;
            const shim_layout *l = shim_layout_of(conv, SHIM_SRC), *plain;
            int64_t dims[] = {2, channels, size, size};
            assert_int_equal(shim_plain(*state, 4, dims, &plain, &err), OK);
            assert_int_equal(shim_reorder(*state, plain, l, &reorder, &err), OK);
            enum { MOST = 2 * 48 * 9 };
            static _Alignas(64) float from[MOST], to[MOST], scratch[MOST];
            for (int i = 0; i < MOST; i++)
                from[i] = (float)i;
            assert_true(shim_layout_bytes(l) <= sizeof to);
            assert_int_equal(shim_set(reorder, SHIM_SRC, from, &err), OK);
            assert_int_equal(shim_set(reorder, SHIM_DST, to, &err), OK);
            assert_int_equal(shim_set(reorder, SHIM_SCRATCH, scratch, &err), OK);
            assert_int_equal(shim_execute(reorder, &err), OK);
            bool same = memcmp(from, to, shim_layout_bytes(plain)) == 0 &&
                        shim_layout_bytes(l) == shim_layout_bytes(plain);
            assert_int_equal(shim_layout_is_plain(l), same);
            assert_int_equal(shim_layout_same(l, plain), same);
        }
    }
}

static double term(shim_matrix m, int64_t row, int64_t column)
{
    const float *x = m.data;
    return (double)(m.transposed ? x[column * m.stride + row] : x[row * m.stride + column]);
}

static void test_sgemm_against_loops(void **state)
{
    (void)state;
    enum { MOST = 70 * 70, GAP = 5, WIDEST = 70 + GAP };
    static float a[MOST], b[MOST], c[70 * WIDEST];
    rng r = rng_make(3, RNG_TEST, 0);
    for (uint64_t i = 0; i < MOST; i++) {
        a[i] = rng_uniform(&r, 2 * i) - 0.5f;
        b[i] = rng_uniform(&r, 2 * i + 1) - 0.5f;
    }
    for (uint64_t i = 0; i < 60; i++) {
        error err = ERROR_INIT;
        int64_t m = 1 + (int64_t)rng_below(&r, 10000 + 3 * i, 70);
        int64_t n = 1 + (int64_t)rng_below(&r, 10001 + 3 * i, 70);
        int64_t k = 1 + (int64_t)rng_below(&r, 10002 + 3 * i, 70);
        bool ta = i & 1, tb = i & 2;
        float alpha = i & 4 ? 1.0f : -0.5f;
        shim_matrix x = {.data = a, .stride = ta ? m : k, .transposed = ta};
        shim_matrix y = {.data = b, .stride = tb ? k : n, .transposed = tb};
        float beta = i & 8 ? 2.0f : 0.0f;
        for (int j = 0; j < 70 * WIDEST; j++)
            c[j] = beta != 0.0f ? 1.0f : NAN; /* times 0 it does not count */
        assert_int_equal(shim_gemm(m, n, k, alpha, x, y, beta, c, n + GAP, &err), OK);
        for (int64_t row = 0; row < m; row++)
            for (int64_t column = 0; column < n; column++) {
                double sum = 0.0, got = (double)c[row * (n + GAP) + column];
                for (int64_t j = 0; j < k; j++)
                    sum += term(x, row, j) * term(y, j, column);
                assert_true(fabs(got - ((double)alpha * sum + (double)beta)) < 1e-5);
            }
    }
}

static void test_impossible_shapes_are_refused(void **state)
{
    error err = ERROR_INIT;
    const shim_layout *x, *w;
    shim_primitive *conv = NULL;
    shim_window window = {.rank = 2, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}};
    assert_int_equal(shim_any(*state, 4, (int64_t[]){1, 8, 4, 4}, &x, &err), OK);
    assert_int_equal(shim_any(*state, 4, (int64_t[]){8, 8, 3, 3}, &w, &err), OK);
    /* without padding a 3x3 window makes 2x2 of 4x4 */
    assert_int_equal(shim_conv(*state, &window, x, w, NULL, x, &conv, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "oneDNN refuses the shapes of this convolution");
    assert_null(conv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version_and_instruction_set, open_shim, close_shim),
        cmocka_unit_test_setup_teardown(test_plain_layouts, open_shim, close_shim),
        cmocka_unit_test_setup_teardown(test_plain_in_disguise, open_shim, close_shim),
        cmocka_unit_test_setup_teardown(test_sgemm_against_loops, open_shim, close_shim),
        cmocka_unit_test_setup_teardown(test_impossible_shapes_are_refused, open_shim, close_shim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
