/*
 * What the cuBLASLt that is installed understands of the matmuls it is asked for. Its heuristics
 * name no algorithm without a GPU, but before they say so the library has taken all descriptions,
 * with their sizes and types, and tells its log in words of its own what it was asked; it leaves
 * out what is as by default.
 *
 * No driver is played for it, as for cuDNN (driver.c): the CUDA runtime in it first makes sure that
 * it and the driver are valid (cudaErrorSoftwareValidityNotEstablished), and its licence lets
 * nobody get around such a thing.
 */
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/library/api.h"
#include "backend/cuda/library/lt.h"
#include "common/base/alloc.h"
#include "cuda/lt_matmuls.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LOG_CALLS = 16, NOT_INITIALIZED = 1, WORDS_MOST = 1024 };

typedef void log_fn(int level, const char *function, const char *text);

static char asked[WORDS_MOST]; /* of its heuristics, the last time */

static void hear(int level, const char *function, const char *text)
{
    (void)level;
    if (strcmp(function, "cublasLtMatmulAlgoGetHeuristic") == 0)
        snprintf(asked, sizeof asked, "%s", text);
}

/* --- what would need a GPU --- */

static unsigned create(lt_handle *ret)
{
    *ret = NULL;
    return API_SUCCESS;
}

void launch_round(cuda_stream stream, launch_types t, void *y, const void *x, int64_t n)
{
    (void)stream, (void)t, (void)y, (void)x, (void)n;
    BUG("nothing runs");
}

launch_type cuda_launch_type(dtype t)
{
    return t == DT_BF16 ? LAUNCH_BF16 : t == DT_F16 ? LAUNCH_F16 : LAUNCH_F32;
}

static status ask(const gemm_task *t, size_t align, const char **ret_why, error *err)
{
    backend b = {.arch = 90};
    backend_program p = {.backend = &b};
    lt_matmul *made = NULL;
    asked[0] = 0;
    return lt_plan(&p, t, align, &made, ret_why, err);
}

static void it_understands_every_matmul(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_lt_rows; i++) {
        const lt_row *r = &lt_rows[i];
        char wanted[WORDS_MOST];
        const char *why;
        error err = ERROR_INIT;
        snprintf(wanted, sizeof wanted,
                 "Adesc=[%s] Bdesc=[%s] Cdesc=[%s] Ddesc=[%s] preference=[maxWavesCount=0.0 "
                 "reductionSchemeMask=REDUCTION_SCHEME_%s maxWorkspaceSizeinBytes=33554432%s] "
                 "computeDesc=[computeType=%s]",
                 r->b, r->a, r->y, r->y, r->sums, r->aligned, r->how);
        print_message("%s\n", r->name);
        assert_int_equal(ask(&r->t, r->align, &why, &err), E_DEVICE);
        assert_string_equal(err.text, "cuBLASLt, its heuristics: the library was not initialized");
        assert_string_equal(asked, wanted);
        error_clear(&err);
    }
}

static void expect_unasked(gemm_task t, size_t align, const char *wanted)
{
    const char *why;
    error err = ERROR_INIT;
    assert_int_equal(ask(&t, align, &why, &err), OK);
    assert_string_equal(why, wanted);
    assert_string_equal(asked, "");
}

static const lt_row *row_of(const char *model)
{
    size_t i = 0;
    while (i < n_lt_rows && strncmp(lt_rows[i].name, model, strlen(model)) != 0)
        i++;
    BUG_ON(i == n_lt_rows);
    return &lt_rows[i];
}

static void what_it_cannot_be_asked_it_is_not(void **state)
{
    (void)state;
    static const char misaligned[] = "cuBLASLt adds only what begins at a multiple of 16 bytes";
    const lt_row *into_gelu = row_of("GPT-2"), *with_bias = row_of("BERT");
    gemm_task relu = into_gelu->t, column = with_bias->t;
    relu.end.function = TILE_RELU;
    column.end.c_column = 0;
    column.end.c_row = 1;
    expect_unasked(into_gelu->t, 8, misaligned);
    expect_unasked(with_bias->t, 4, misaligned);
    expect_unasked(relu, into_gelu->align,
                   "cuBLASLt is not asked for this function behind a matmul");
    expect_unasked(column, with_bias->align,
                   "cuBLASLt adds only what is a row or lies as the result does");
}

/* As the one that is played (tests/cuda_emu/fakes/lt.c). */
static void it_refuses_sizes_and_attributes_it_does_not_know(void **state)
{
    (void)state;
    enum { NO_ATTRIBUTE = 1000 };
    lt_layout l = NULL;
    int64_t batches = 1;
    size_t bytes = sizeof batches;
    assert_int_equal(api.cublasLtMatrixLayoutCreate(&l, LT_F32, 3, 4, 3), API_SUCCESS);
    assert_int_equal(
        api.cublasLtMatrixLayoutSetAttribute(l, LT_LAYOUT_BATCH_COUNT, &batches, bytes),
        LT_INVALID_VALUE);
    assert_int_equal(api.cublasLtMatrixLayoutSetAttribute(l, NO_ATTRIBUTE, &batches, bytes),
                     LT_INVALID_VALUE);
    assert_int_equal(api.cublasLtMatrixLayoutDestroy(l), API_SUCCESS);
}

static void its_words(void **state)
{
    (void)state;
    assert_string_equal(api.cublasLtGetStatusString(NOT_INITIALIZED),
                        "the library was not initialized");
    assert_string_equal(api.cublasLtGetStatusString(LT_INVALID_VALUE),
                        "an unsupported value or parameter was passed to the function");
    assert_string_equal(api.cublasLtGetStatusString(LT_NOT_SUPPORTED),
                        "the requested functionality is not supported");
}

/* --- its log --- */

static void *function_of(const char *name)
{
    void *library = dlopen(api_find(API_LT)->path, RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static bool listen(void)
{
    unsigned (*open_file)(const char *path), (*set_mask)(int mask), (*set_callback)(log_fn * f);
    *(void **)&open_file = function_of("cublasLtLoggerOpenFile");
    *(void **)&set_mask = function_of("cublasLtLoggerSetMask");
    *(void **)&set_callback = function_of("cublasLtLoggerSetCallback");
    return open_file && set_mask && set_callback && open_file("/dev/null") == API_SUCCESS &&
           set_callback(hear) == API_SUCCESS && set_mask(LOG_CALLS) == API_SUCCESS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_understands_every_matmul),
        cmocka_unit_test(what_it_cannot_be_asked_it_is_not),
        cmocka_unit_test(it_refuses_sizes_and_attributes_it_does_not_know),
        cmocka_unit_test(its_words),
    };
    error err = ERROR_INIT;
    if (api_open(API_LT, &err) != OK) {
        printf("SKIPPED: %s\n", err.text);
        return 77;
    }
    if (strncmp(api_find(API_LT)->version, "13.", 3) != 0 || !listen()) {
        printf("SKIPPED: cuBLASLt %s may have other words\n", api_find(API_LT)->version);
        return 77;
    }
    api.cublasLtCreate = create;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
