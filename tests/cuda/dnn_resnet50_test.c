/*
 * The convolutions of ResNet-50 as the installed cuDNN plans them for an H200, in bfloat16, 128 images:
 * engine, knobs and workspace of each are printed. Gradients of weights that are made in bfloat16
 * (trainer.half_weight_gradients) are sums over pieces where the result is small: one block a tile would leave
 * most of the GPU idle. Kernels of one position in steps of two have no pieces in what cuDNN 9.19 plans.
 */
#include "support_dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_conv.h"
#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 128, TEXT_MOST = 16 << 20, SMALL = 9 * 128 * 128 /* weights: nine tiles */ };

/* But for kernels of one position in steps of one, which are products. */
static const struct shape {
    int64_t channels, maps;
    int32_t size, kernel, stride, pad;
} shapes[] = {
    {3, 64, 224, 7, 2, 3},   {64, 64, 56, 3, 1, 1},    {128, 128, 56, 3, 2, 1},
    {256, 512, 56, 1, 2, 0}, {128, 128, 28, 3, 1, 1},  {256, 256, 28, 3, 2, 1},
    {512, 1024, 28, 1, 2, 0}, {256, 256, 14, 3, 1, 1}, {512, 512, 14, 3, 2, 1},
    {1024, 2048, 14, 1, 2, 0}, {512, 512, 7, 3, 1, 1},
};

static unsigned (*real_get)(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n,
                            void *ret);
static char text[TEXT_MOST];

/* Keeps what the library writes down of a plan whose workspace is asked for. */
static unsigned get(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n, void *ret)
{
    int64_t n = 0;
    if (name == DNN_PLAN_WORKSPACE)
        assert_int_equal(real_get(d, DNN_PLAN_JSON, DNN_IS_CHAR, TEXT_MOST, &n, text), API_SUCCESS);
    return real_get(d, name, type, wanted, ret_n, ret);
}

static conv_operand operand(int64_t channels, int64_t positions)
{
    return (conv_operand){.type = DT_BF16, .at = {channels * positions, 1, channels}};
}

static conv_task task_of(const struct shape *s)
{
    int32_t out = (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
    return (conv_task){.kind = TILE_BF16,
                       .batch = IMAGES,
                       .groups = 1,
                       .channels = s->channels,
                       .maps = s->maps,
                       .in = {1, s->size, s->size},
                       .out = {1, out, out},
                       .kernel = {1, s->kernel, s->kernel},
                       .stride = {1, s->stride, s->stride},
                       .dilation = {1, 1, 1},
                       .pad = {0, s->pad, s->pad},
                       .x = operand(s->channels, (int64_t)s->size * s->size),
                       .w = operand(s->channels, (int64_t)s->kernel * s->kernel),
                       .y = operand(s->maps, (int64_t)out * out)};
}

/* The engine and its knobs, as the library's text has them. */
static const char *engine_of(void)
{
    char *engine = strstr(text, "\"engine\":");
    assert_non_null(engine);
    char *end = strstr(engine, "}}");
    if (end)
        end[2] = '\0';
    return engine;
}

static long knob(const char *engine, const char *name)
{
    const char *at = strstr(engine, name);
    return at ? strtol(at + strlen(name) + 2, NULL, 10) : 0;
}

/* Whether sums are cut: the engine says so, or its workspace holds another result in float32. */
static bool has_pieces(const char *engine, size_t scratch, int64_t weights)
{
    return knob(engine, "CUDNN_KNOB_TYPE_SPLIT_K") > 1 || scratch >= (size_t)weights * sizeof(float);
}

static void plan(const struct shape *s, conv_part makes)
{
    static const char *const names[PARTS] = {"dx", "dw", "y"};
    scene in;
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    conv_task t = task_of(s);
    scene_begin(&in);
    if (dnn_conv_plan(&in.program, &t, makes, &g, &err) != OK)
        fail_msg("%s of %lld channels of %d: %s", names[makes], (long long)s->channels, s->size, err.text);
    const char *engine = engine_of();
    printf("%-2s %4lld -> %4lld, %3d x %-3d, kernel %d, step %d: workspace %zu, %s\n", names[makes],
           (long long)s->channels, (long long)s->maps, s->size, s->size, s->kernel, s->stride,
           dnn_scratch_bytes(g), engine);
    int64_t weights = s->maps * s->channels * s->kernel * s->kernel;
    if (makes == PART_W && s->kernel > 1 && weights <= SMALL &&
        !has_pieces(engine, dnn_scratch_bytes(g), weights))
        fail_msg("its sums are not cut into pieces");
    scene_end(&in);
}

static void all_of_them(void **state)
{
    (void)state;
    real_get = api.cudnnBackendGetAttribute;
    api.cudnnBackendGetAttribute = get;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (conv_part makes = PART_X; makes < PARTS; makes++)
            plan(&shapes[i], makes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_them)};
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
