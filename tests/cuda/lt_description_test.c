/*
 * What the cuBLASLt that is installed understands of the products it is asked for. Its heuristics
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

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ALIGN = 256, LOG_CALLS = 16, NOT_INITIALIZED = 1, WORDS_MOST = 1024 };

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

/* --- products --- */

#define ROWS(pitch, ...)                                                                           \
    {                                                                                              \
        .row = pitch, .column = 1, __VA_ARGS__                                                     \
    }
#define COLUMNS(pitch, ...)                                                                        \
    {                                                                                              \
        .row = 1, .column = pitch, __VA_ARGS__                                                     \
    }
#define BIAS .beta = 1.0f, .c = asked, .c_column = 1

/* What it calls a and b is ours turned round, as is y. */
typedef struct row {
    const char *name;
    gemm_task t;
    size_t align;
    const char *b, *a, *y, *sums, *aligned, *how;
} row;

static const row rows[] = {
    {"GPT-2, into Gelu, whose input is kept",
     {.kind = TILE_BF16,
      .batches = 1,
      .m = 16384,
      .n = 3072,
      .k = 768,
      .a = ROWS(768),
      .b = ROWS(3072),
      .y_row = 3072,
      .y_type = DT_BF16,
      .end = {BIAS, .c_type = DT_F32, .function = TILE_GELU_BY_TANH, .side = asked,
              .side_type = DT_BF16}},
     ALIGN,
     "type=R_16BF rows=3072 cols=768 ld=3072",
     "type=R_16BF rows=768 cols=16384 ld=768",
     "type=R_16BF rows=3072 cols=16384 ld=3072",
     "COMPUTE_TYPE",
     "",
     "COMPUTE_32F scaleType=R_32F epilogue=EPILOGUE_GELU_AUX_BIAS biasPointer=0x100 "
     "epilogueAuxPointer=0x100 epilogueAuxLd=3072"},
    {"GPT-2, the gradient of that Gelu",
     {.kind = TILE_BF16,
      .batches = 1,
      .m = 16384,
      .n = 3072,
      .k = 768,
      .a = ROWS(768),
      .b = COLUMNS(768),
      .y_row = 3072,
      .y_type = DT_BF16,
      .end = {.function = TILE_GELU_BY_TANH_BWD, .side = asked, .side_type = DT_BF16}},
     ALIGN,
     "type=R_16BF rows=768 cols=3072 ld=768",
     "type=R_16BF rows=768 cols=16384 ld=768",
     "type=R_16BF rows=3072 cols=16384 ld=3072",
     "COMPUTE_TYPE",
     "",
     "COMPUTE_32F scaleType=R_32F transa=OP_T epilogue=EPILOGUE_DGELU epilogueAuxPointer=0x100 "
     "epilogueAuxLd=3072"},
    {"GPT-2, the gradient of weights, in float32",
     {.kind = TILE_BF16,
      .batches = 1,
      .m = 768,
      .n = 3072,
      .k = 16384,
      .a = COLUMNS(768),
      .b = ROWS(3072),
      .y_row = 3072,
      .y_type = DT_F32},
     ALIGN,
     "type=R_16BF rows=3072 cols=16384 ld=3072",
     "type=R_16BF rows=768 cols=16384 ld=768",
     "type=R_32F rows=3072 cols=768 ld=3072",
     "COMPUTE_TYPE",
     "",
     "COMPUTE_32F scaleType=R_32F transb=OP_T"},
    {"GPT-2, scores in rows that are longer than the vocabulary",
     {.kind = TILE_F16,
      .batches = 1,
      .m = 16384,
      .n = 50257,
      .k = 768,
      .a = ROWS(768),
      .b = COLUMNS(768),
      .y_row = 50304,
      .y_type = DT_F16},
     ALIGN,
     "type=R_16F rows=768 cols=50257 ld=768",
     "type=R_16F rows=768 cols=16384 ld=768",
     "type=R_16F rows=50257 cols=16384 ld=50304",
     "COMPUTE_TYPE",
     "",
     "COMPUTE_32F scaleType=R_32F transa=OP_T"},
    {"scores of attention, whose keys are shared",
     {.kind = TILE_TF32,
      .batches = 12,
      .m = 384,
      .n = 384,
      .k = 64,
      .a = ROWS(64, .batch = 384 * 64),
      .b = COLUMNS(64),
      .y_row = 384,
      .y_batch = 384 * 384,
      .y_type = DT_F32,
      .end = {.alpha = 0.125f}},
     ALIGN,
     "type=R_32F rows=64 cols=384 ld=64 batchCount=12",
     "type=R_32F rows=64 cols=384 ld=64 batchCount=12 stridedBatchOffset=24576",
     "type=R_32F rows=384 cols=384 ld=384 batchCount=12 stridedBatchOffset=147456",
     "NONE",
     "",
     "COMPUTE_32F_FAST_TF32 scaleType=R_32F transa=OP_T"},
    {"batches into Gelu, whose input is kept",
     {.kind = TILE_F16,
      .batches = 3,
      .m = 10,
      .n = 24,
      .k = 16,
      .a = ROWS(16, .batch = 160),
      .b = ROWS(24, .batch = 384),
      .y_row = 24,
      .y_batch = 240,
      .y_type = DT_F16,
      .end = {.function = TILE_GELU_BY_TANH, .side = asked, .side_type = DT_F16}},
     16,
     "type=R_16F rows=24 cols=16 ld=24 batchCount=3 stridedBatchOffset=384",
     "type=R_16F rows=16 cols=10 ld=16 batchCount=3 stridedBatchOffset=160",
     "type=R_16F rows=24 cols=10 ld=24 batchCount=3 stridedBatchOffset=240",
     "NONE",
     " minBytesAlignmentA=16 minBytesAlignmentB=16 minBytesAlignmentC=16 minBytesAlignmentD=16",
     "COMPUTE_32F scaleType=R_32F epilogue=EPILOGUE_GELU_AUX epilogueAuxPointer=0x10 "
     "epilogueAuxLd=24 epilogueAuxBatchStride=240"},
    {"BERT, a layer with its bias",
     {.kind = TILE_F32,
      .batches = 1,
      .m = 6144,
      .n = 768,
      .k = 768,
      .a = ROWS(768),
      .b = ROWS(768),
      .y_row = 768,
      .y_type = DT_F32,
      .end = {BIAS, .c_type = DT_F32}},
     ALIGN,
     "type=R_32F rows=768 cols=768 ld=768",
     "type=R_32F rows=768 cols=6144 ld=768",
     "type=R_32F rows=768 cols=6144 ld=768",
     "COMPUTE_TYPE",
     "",
     "COMPUTE_32F scaleType=R_32F epilogue=EPILOGUE_BIAS biasPointer=0x100"},
    {"ResNet-50, a convolution with a kernel of one place, of images with channels last",
     {.kind = TILE_BF16,
      .batches = 1,
      .m = 64 * 56 * 56,
      .n = 256,
      .k = 64,
      .a = ROWS(64),
      .b = COLUMNS(64),
      .y_row = 256,
      .y_type = DT_BF16},
     ALIGN,
     "type=R_16BF rows=64 cols=256 ld=64",
     "type=R_16BF rows=64 cols=200704 ld=64",
     "type=R_16BF rows=256 cols=200704 ld=256",
     "NONE",
     "",
     "COMPUTE_32F scaleType=R_32F transa=OP_T"},
    {"a vector, added to what is there",
     {.kind = TILE_F32,
      .batches = 1,
      .m = 1,
      .n = 1,
      .k = 5,
      .a = ROWS(5),
      .b = ROWS(1),
      .y_row = 1,
      .y_type = DT_F32,
      .end = {.beta = 1.0f, .c = asked, .c_type = DT_F32, .c_row = 1, .c_column = 1}},
     4,
     "type=R_32F rows=1 cols=5 ld=1",
     "type=R_32F rows=5 cols=1 ld=5",
     "type=R_32F rows=1 cols=1 ld=1",
     "NONE",
     " minBytesAlignmentA=4 minBytesAlignmentB=4 minBytesAlignmentC=4 minBytesAlignmentD=4",
     "COMPUTE_32F scaleType=R_32F"},
};

static status ask(const gemm_task *t, size_t align, const char **ret_why, error *err)
{
    backend b = {.arch = 90};
    backend_program p = {.backend = &b};
    lt_product *made = NULL;
    asked[0] = 0;
    return lt_plan(&p, t, align, &made, ret_why, err);
}

static void it_understands_every_product(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const row *r = &rows[i];
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

static void what_it_cannot_be_asked_it_is_not(void **state)
{
    (void)state;
    gemm_task relu = rows[0].t, column = rows[6].t;
    relu.end.function = TILE_RELU;
    column.end.c_column = 0;
    column.end.c_row = 1;
    expect_unasked(rows[0].t, 8, "cuBLASLt adds only what begins at a multiple of 16 bytes");
    expect_unasked(rows[6].t, 4, "cuBLASLt adds only what begins at a multiple of 16 bytes");
    expect_unasked(relu, ALIGN, "cuBLASLt is not asked for this function behind a product");
    expect_unasked(column, ALIGN, "cuBLASLt adds only what is a row or lies as the result does");
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
        cmocka_unit_test(it_understands_every_product),
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
