/*
 * Who multiplies, and how: what a matmul's sizes, its end and the chip alone decide
 * (backend/cuda/plan/matmul.h), with cuBLASLt as it is played.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/plan/matmul.h"
#include "common/base/alloc.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/planners/support_engine.h"

/* Of [64,32] and [32,16], in bfloat16. */
static const gemm_task small = {.kind = TILE_BF16,
                                .batches = 1,
                                .m = 64,
                                .n = 16,
                                .k = 32,
                                .a = {.row = 32, .column = 1},
                                .b = {.row = 16, .column = 1},
                                .y_row = 16,
                                .y_type = DT_BF16,
                                .end = {.alpha = 1.0f}};

static void expect_why(unsigned refusal, const char *wanted)
{
    backend b = {.arch = 90};
    backend_program p = {.backend = &b};
    cuda_matmul made;
    error err = ERROR_INIT;
    fake_lt_refuse(refusal);
    must(cuda_matmul_plan(&p, &small, 256, &made, &err), &err);
    fake_lt_refuse(API_SUCCESS);
    assert_null(made.lt);
    assert_string_equal(made.why, wanted);
    lt_close(&b);
}

static void test_whatever_the_library_refuses_has_its_reason(void **state)
{
    (void)state;
    expect_why(LT_NOT_SUPPORTED, "cuBLASLt has no algorithm for it");
    expect_why(LT_ARCH_MISMATCH, "cuBLASLt has no algorithm for it on this GPU");
    expect_why(LT_INVALID_VALUE, "cuBLASLt calls it invalid; CUBLASLT_LOG_LEVEL=1 tells why");
}

/* Elsewhere our kernel behind the matmul is faster. */
static void test_gelu_ends_a_matmul_on_chips_where_that_is_one_kernel(void **state)
{
    (void)state;
    static const struct {
        int arch;
        bool can;
    } chips[] = {{80, false}, {89, false}, {90, true}, {103, true}, {120, false}};
    gemm_task into_gelu = small;
    into_gelu.end.function = TILE_GELU_BY_TANH;
    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        backend b = {.arch = chips[i].arch};
        backend_program p = {.backend = &b};
        assert_int_equal(cuda_matmul_can_end(&p, &small, &into_gelu, 256), chips[i].can);
        lt_close(&b);
    }
}

/* From sizes alone: tiles of 128 where there are enough of them, else long sums in pieces. */
static void test_how_work_is_cut(void **state)
{
    (void)state;
    static const struct {
        int64_t batches, m, n, k;
        bool wide;
        int64_t pieces;
    } cuts[] = {
        {1, 1500, 1400, 2, true, 1},    {128, 65, 65, 8192, true, 1},
        {1, 64, 100000, 512, false, 1}, {1, 768, 768, 8192, false, 1},
        {1, 128, 64, 8192, false, 32},  {4, 64, 64, 511, false, 1},
        {4, 64, 64, 1024, false, 4},
    };
    backend b = {.arch = 90};
    backend_program p = {.backend = &b};
    fakes_hide(true);
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        int64_t m = cuts[i].m, n = cuts[i].n, pieces = cuts[i].pieces;
        gemm_task t = {.batches = cuts[i].batches, .m = m, .n = n, .k = cuts[i].k};
        cuda_matmul made;
        error err = ERROR_INIT;
        must(cuda_matmul_plan(&p, &t, 256, &made, &err), &err);
        assert_int_equal(made.task.cut.wide, cuts[i].wide);
        assert_int_equal(made.task.cut.pieces, pieces);
        assert_int_equal(made.scratch_bytes, pieces > 1 ? 4 * pieces * t.batches * m * n : 0);
    }
    fakes_hide(false);
}

static void test_what_no_kernel_takes_is_refused(void **state)
{
    (void)state;
    backend old = {.arch = 75};
    backend_program p = {.backend = &old};
    cuda_matmul made;
    error err = ERROR_INIT;
    tile_kind kind;
    assert_int_equal(cuda_matmul_kind(&p, DT_BF16, &kind, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "matmuls of bfloat16 need a GPU of compute capability 8.0, and "
                                  "this one has 7.5; use precision \"f16\" or \"f32\"");
    error_clear(&err);
    gemm_task t = {.batches = 3, .m = 1, .n = INT32_MAX, .k = 2};
    assert_int_equal(cuda_matmul_plan(&p, &t, 256, &made, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "a matmul of 3 times [1,2] and [2,2147483647] is too large");
    error_clear(&err);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_whatever_the_library_refuses_has_its_reason),
        KERNEL_TEST(test_gelu_ends_a_matmul_on_chips_where_that_is_one_kernel),
        KERNEL_TEST(test_how_work_is_cut),
        KERNEL_TEST(test_what_no_kernel_takes_is_refused),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
