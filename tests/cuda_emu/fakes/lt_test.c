/* What is played of cuBLASLt: that who breaks a rule hears of it. What it computes planners/matmuls_test.c sees. */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"

#include <stdlib.h>
#include <string.h>

enum { M = 3, N = 4, K = 5 };

/* A matmul with everything in it, that tests spoil at one place. */
typedef struct scene {
    lt_handle handle;
    lt_desc desc;
    lt_layout a, b, d;
    lt_preference preference;
    lt_found found[2];
    int n_found;
    float *on_a, *on_b, *on_d, *bias;
    float alpha, beta;
} scene;

static scene begin(unsigned epilogue, int64_t pitch)
{
    static const float ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    scene s = {.alpha = 1.0f,
               .on_a = on_device(ones, M * K * sizeof(float)),
               .on_b = on_device(ones, K * N * sizeof(float)),
               .on_d = device_alloc(M * N * sizeof(float)),
               .bias = on_device(ones, M * sizeof(float))};
    assert_true(api_find(API_LT)->path != NULL);
    api.cublasLtCreate(&s.handle);
    api.cublasLtMatmulDescCreate(&s.desc, LT_COMPUTE_F32, LT_F32);
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_BIAS_POINTER, &s.bias, sizeof s.bias);
    api.cublasLtMatrixLayoutCreate(&s.a, LT_F32, M, K, pitch);
    api.cublasLtMatrixLayoutCreate(&s.b, LT_F32, K, N, K);
    api.cublasLtMatrixLayoutCreate(&s.d, LT_F32, M, N, M);
    api.cublasLtMatmulPreferenceCreate(&s.preference);
    return s;
}

static unsigned choose(scene *s)
{
    return api.cublasLtMatmulAlgoGetHeuristic(s->handle, s->desc, s->a, s->b, s->d, s->d,
                                              s->preference, 2, s->found, &s->n_found);
}

static unsigned multiply(scene *s)
{
    return api.cublasLtMatmul(s->handle, s->desc, &s->alpha, s->on_a, s->a, s->on_b, s->b, &s->beta,
                              s->on_d, s->d, s->on_d, s->d, &s->found[1].algo, NULL, 0,
                              kernel_test_stream());
}

static void end(scene *s)
{
    assert_int_equal(api.cublasLtMatmulPreferenceDestroy(s->preference), API_SUCCESS);
    assert_int_equal(api.cublasLtMatrixLayoutDestroy(s->d), API_SUCCESS);
    assert_int_equal(api.cublasLtMatrixLayoutDestroy(s->b), API_SUCCESS);
    assert_int_equal(api.cublasLtMatrixLayoutDestroy(s->a), API_SUCCESS);
    assert_int_equal(api.cublasLtMatmulDescDestroy(s->desc), API_SUCCESS);
    assert_int_equal(api.cublasLtDestroy(s->handle), API_SUCCESS);
}

/* One fault, of this text, from now on; then it is mended. */
static void expect_fault(const char *text)
{
    assert_int_equal(emu_faults(), 1);
    assert_string_equal(emu_fault_text(), text);
    emu_faults_forget();
}

static void what_stands_beside_is_told_whole(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_GELU_AUX, M);
    const int64_t below = M, fine = 8;
    assert_int_not_equal(choose(&s), API_SUCCESS);
    expect_fault("cuBLASLt: nothing beside, or nothing whose address is a multiple of 16");
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_AUX_POINTER, &s.bias, sizeof s.bias);
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_AUX_PITCH, &below, sizeof below);
    assert_int_not_equal(choose(&s), API_SUCCESS);
    expect_fault(
        "cuBLASLt: a pitch of what stands beside that is no multiple of 8, or below its rows");
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_AUX_PITCH, &fine, sizeof fine);
    assert_int_equal(choose(&s), LT_NOT_SUPPORTED); /* of floats */
    end(&s);
}

static void a_bias_is_aligned(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_BIAS, M);
    const float *next = s.bias + 1;
    assert_int_equal(choose(&s), API_SUCCESS);
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_BIAS_POINTER, &next, sizeof next);
    assert_int_not_equal(choose(&s), API_SUCCESS);
    expect_fault("cuBLASLt: no bias, or not one whose address is a multiple of 16");
    end(&s);
}

static void a_pitch_is_at_least_a_column(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M - 1);
    assert_int_not_equal(choose(&s), API_SUCCESS);
    expect_fault("cuBLASLt: matrix a has a pitch below its rows");
    end(&s);
}

static void factors_must_multiply(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M);
    const unsigned transposed = LT_TRANSPOSED;
    api.cublasLtMatmulDescSetAttribute(s.desc, LT_DESC_TRANSB, &transposed, sizeof transposed);
    assert_int_not_equal(choose(&s), API_SUCCESS);
    expect_fault("cuBLASLt: factors that do not multiply");
    end(&s);
}

static void an_attribute_has_its_size(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M);
    const int64_t batches = 1;
    assert_int_not_equal(
        api.cublasLtMatrixLayoutSetAttribute(s.a, LT_LAYOUT_BATCH_COUNT, &batches, sizeof batches),
        API_SUCCESS);
    expect_fault("cuBLASLt: attribute 5 of a layout has 4 bytes, not 8");
    end(&s);
}

static void an_algorithm_is_for_one_matmul(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M), other = begin(LT_EPILOGUE_BIAS, M);
    assert_int_equal(choose(&s), API_SUCCESS);
    assert_int_equal(choose(&other), API_SUCCESS);
    other.found[1] = s.found[1];
    assert_int_not_equal(multiply(&other), API_SUCCESS);
    expect_fault("cuBLASLt: the algorithm is not for this matmul");
    end(&other);
    end(&s);
}

static void alignment_is_kept_as_promised(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M);
    assert_int_equal(choose(&s), API_SUCCESS);
    s.on_a = (float *)device_alloc(64 * sizeof(float)) + 4;
    assert_int_not_equal(multiply(&s), API_SUCCESS);
    assert_ptr_not_equal(strstr(emu_fault_text(), "is not aligned to the 256 bytes"), NULL);
    emu_faults_forget();
    end(&s);
}

static void operands_lie_in_memory_and_apart(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M);
    assert_int_equal(choose(&s), API_SUCCESS);
    float *b = s.on_b;
    s.on_b = device_alloc((K * N - 1) * sizeof(float));
    assert_int_not_equal(multiply(&s), API_SUCCESS);
    assert_ptr_not_equal(strstr(emu_fault_text(), "b: no allocation holds 80 bytes"), NULL);
    emu_faults_forget();
    s.on_b = b;
    s.on_d = s.on_a;
    assert_int_not_equal(multiply(&s), API_SUCCESS);
    expect_fault("cuBLASLt: a lies in d");
    end(&s);
}

static void everything_is_destroyed_in_the_end(void **state)
{
    (void)state;
    scene s = begin(LT_EPILOGUE_NONE, M);
    lt_handle second;
    api.cublasLtDestroy(s.handle);
    expect_fault("cuBLASLt: the last handle goes, and 5 objects were not destroyed");
    api.cublasLtCreate(&second);
    s.handle = second;
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(what_stands_beside_is_told_whole),
        KERNEL_TEST(a_bias_is_aligned),
        KERNEL_TEST(a_pitch_is_at_least_a_column),
        KERNEL_TEST(factors_must_multiply),
        KERNEL_TEST(an_attribute_has_its_size),
        KERNEL_TEST(an_algorithm_is_for_one_matmul),
        KERNEL_TEST(alignment_is_kept_as_promised),
        KERNEL_TEST(operands_lie_in_memory_and_apart),
        KERNEL_TEST(everything_is_destroyed_in_the_end),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
