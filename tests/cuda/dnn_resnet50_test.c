/*
 * The convolutions of ResNet-50 as the installed cuDNN plans them for an H200, in bfloat16, 128 images:
 * engine, knobs and workspace of each are printed. Gradients of weights that are made in bfloat16
 * (trainer.half_weight_gradients) are sums over pieces where the result is small: one block a tile would leave
 * most of the GPU idle.
 *
 * And that plans made in several threads are those made one after another.
 *
 * In place of this, by the environment: EVERY_ENGINE=1 prints each engine there is for gradients of weights in
 * float32, as they are by default; PLAN_THREADS=2 times how long so many threads take over all plans with these.
 */
#include "support_dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_conv.h"
#include "backend/cuda/library/dnn_desc.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 128, TEXT_MOST = 16 << 20, SMALL = 9 * 128 * 128 /* weights: nine tiles */, ENGINES_MOST = 64 };

/* But for kernels of one position in steps of one, which are products. So are gradients of weights of those in
 * steps of two, for cuDNN 9.19 plans no pieces of their sums. */
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
static char *engines[ENGINES_MOST]; /* of all plans, as they were made */
static size_t n_engines;
static int n_searches; /* how often the library was asked for engines */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The engine and its knobs, as the library's text has them. */
static char *engine_of(dnn_desc plan)
{
    int64_t n = 0;
    assert_int_equal(real_get(plan, DNN_PLAN_JSON, DNN_IS_CHAR, TEXT_MOST, &n, text), API_SUCCESS);
    char *engine = strstr(text, "\"engine\":");
    assert_non_null(engine);
    char *end = strstr(engine, "}}");
    if (end)
        end[2] = '\0';
    return xstrdup(engine);
}

/* But for the code that it was compiled to. */
static void engine_print(const char *engine)
{
    const char *code = strstr(engine, ",\"payload\"");
    printf("%.*s\n", (int)(code ? code - engine : (long)strlen(engine)), engine);
}

/* Keeps what the library writes down of a plan whose workspace is asked for. */
static unsigned get(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n, void *ret)
{
    pthread_mutex_lock(&lock);
    if (name == DNN_PLAN_WORKSPACE && n_engines < ENGINES_MOST)
        engines[n_engines++] = engine_of(d);
    n_searches += name == DNN_HEURISTICS_RESULTS;
    pthread_mutex_unlock(&lock);
    return real_get(d, name, type, wanted, ret_n, ret);
}

static void forget_engines(void)
{
    while (n_engines > 0)
        free(engines[--n_engines]);
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
    const char *engine = engines[n_engines - 1];
    printf("%-2s %4lld -> %4lld, %3d x %-3d, kernel %d, step %d: workspace %zu, ", names[makes],
           (long long)s->channels, (long long)s->maps, s->size, s->size, s->kernel, s->stride,
           dnn_scratch_bytes(g));
    engine_print(engine);
    int64_t weights = s->maps * s->channels * s->kernel * s->kernel;
    if (makes == PART_W && weights <= SMALL &&
        !has_pieces(engine, dnn_scratch_bytes(g), weights))
        fail_msg("its sums are not cut into pieces");
    scene_end(&in);
}

static void all_of_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (conv_part makes = PART_X; makes < PARTS; makes++)
            if (makes != PART_W || shapes[i].kernel > 1)
                plan(&shapes[i], makes);
    forget_engines();
}

/* In float32 the gradient of the first layer's weights is refused; with a fourth channel, of zeros, it is
 * planned, and its sums of 1.6 million products each are cut. */
static void four_channels_in_float32_are_planned(void **state)
{
    (void)state;
    scene in;
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    struct shape padded = shapes[0];
    conv_task t = task_of(&padded);
    t.w.type = DT_F32;
    scene_begin(&in);
    assert_int_equal(dnn_conv_plan(&in.program, &t, PART_W, &g, &err), E_UNSUPPORTED);
    error_clear(&err);
    padded.channels = 4;
    t = task_of(&padded);
    t.w.type = DT_F32;
    if (dnn_conv_plan(&in.program, &t, PART_W, &g, &err) != OK)
        fail_msg("%s", err.text);
    const char *engine = engines[n_engines - 1];
    size_t scratch = dnn_scratch_bytes(g);
    printf("dw    4 ->   64 in float32: workspace %zu, %.200s\n", scratch, engine);
    assert_true(has_pieces(engine, scratch, 64 * 4 * 49));
    scene_end(&in);
    forget_engines();
}

/* --- several threads --- */

static status enter(const backend *b, error *err)
{
    (void)b, (void)err;
    return OK;
}

/* Of shapes from `first` on, with gradients of weights in this type. */
static void ask_for_all(scene *in, size_t first, dtype gradients, status expected)
{
    for (size_t i = first; i < COUNT_OF(shapes); i++)
        for (conv_part makes = PART_X; makes < PARTS; makes++) {
            dnn_graph *g = NULL;
            conv_task t = task_of(&shapes[i]);
            if (makes == PART_W)
                t.w.type = gradients;
            assert_int_equal(dnn_conv_plan(&in->program, &t, makes, &g, NULL), expected);
        }
}

static void plan_together(scene *in, size_t first, dtype gradients, size_t threads)
{
    scene_begin(in);
    in->program.only_asks = true;
    ask_for_all(in, first, gradients, E_UNSUPPORTED);
    in->program.only_asks = false;
    dnn_plan_asked(&in->program, threads, enter);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void those_planned_together_are_the_same(void **state)
{
    (void)state;
    const size_t first = COUNT_OF(shapes) - 3;
    scene in;
    char *alone[ENGINES_MOST];
    scene_begin(&in);
    ask_for_all(&in, first, DT_BF16, OK);
    scene_end(&in);
    size_t n = n_engines;
    memcpy(alone, engines, sizeof alone);
    n_engines = 0;
    plan_together(&in, first, DT_BF16, 2);
    n_searches = 0;
    ask_for_all(&in, first, DT_BF16, OK);
    assert_int_equal(n_searches, 0);
    scene_end(&in);
    assert_int_equal(n_engines, n);
    qsort(alone, n, sizeof *alone, by_text);
    qsort(engines, n, sizeof *engines, by_text);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(engines[i], alone[i]);
        free(alone[i]);
    }
    forget_engines();
}

/* In cuDNN's words, and once. */
static void what_was_refused_is_told_again(void **state)
{
    (void)state;
    scene in;
    error alone = ERROR_INIT, later = ERROR_INIT;
    dnn_graph *g = NULL;
    conv_task t = task_of(&shapes[0]);
    t.w.type = DT_F32;
    scene_begin(&in);
    assert_int_equal(dnn_conv_plan(&in.program, &t, PART_W, &g, &alone), E_UNSUPPORTED);
    scene_end(&in);
    scene_begin(&in);
    in.program.only_asks = true;
    assert_int_equal(dnn_conv_plan(&in.program, &t, PART_W, &g, NULL), E_UNSUPPORTED);
    in.program.only_asks = false;
    dnn_plan_asked(&in.program, 2, enter);
    n_searches = 0;
    assert_int_equal(dnn_conv_plan(&in.program, &t, PART_W, &g, &later), E_UNSUPPORTED);
    assert_int_equal(n_searches, 0);
    assert_string_equal(later.text, alone.text);
    scene_end(&in);
    error_clear(&alone);
    error_clear(&later);
    forget_engines();
}

/* What cuDNN says of an engine that shall cut its sums: knobs as cudnn_graph.h numbers them. */
static void ask_for_pieces(dnn_desc config)
{
    enum { KNOB_CHOICE = 7, KNOB_TYPE = 600, KNOB_VALUE = 601, IS_KNOB = 9, CONFIG_KNOBS = 302, SPLIT_K_SLC = 17 };
    dnn_desc engine = NULL;
    int64_t n = 0;
    assert_int_equal(api.cudnnBackendCreateDescriptor(DNN_ENGINE, &engine), API_SUCCESS);
    assert_int_equal(real_get(config, DNN_CONFIG_ENGINE, DNN_IS_DESCRIPTOR, 1, &n, &engine), API_SUCCESS);
    for (int64_t pieces = 4; pieces <= 64; pieces *= 4) {
        error err = ERROR_INIT;
        dnn_desc knob = NULL, cut = NULL;
        status st = dnn_describe(KNOB_CHOICE,
                                 DNN_ATTRIBUTES({KNOB_TYPE, IS_KNOB, 1, &(unsigned){SPLIT_K_SLC}},
                                                {KNOB_VALUE, DNN_IS_INT64, 1, &pieces}),
                                 &knob, &err);
        if (st == OK)
            st = dnn_describe(DNN_CONFIG,
                              DNN_ATTRIBUTES({DNN_CONFIG_ENGINE, DNN_IS_DESCRIPTOR, 1, &engine},
                                             {CONFIG_KNOBS, DNN_IS_DESCRIPTOR, 1, &knob}),
                              &cut, &err);
        printf("    in %d pieces: %s\n", (int)pieces, st == OK ? "taken" : err.text);
        error_clear(&err);
        dnn_destroy(&cut);
        dnn_destroy(&knob);
    }
    dnn_destroy(&engine);
}

/* None will do, so that all are asked for. */
static unsigned get_too_much(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n, void *ret)
{
    unsigned result = get(d, name, type, wanted, ret_n, ret);
    if (name == DNN_PLAN_WORKSPACE) {
        printf("    workspace %lld, ", (long long)*(int64_t *)ret);
        engine_print(engines[n_engines - 1]);
        *(int64_t *)ret = INT64_MAX;
    }
    if (name == DNN_HEURISTICS_RESULTS && *ret_n > 0)
        ask_for_pieces(*(dnn_desc *)ret);
    return result;
}

static void print_every_engine(void **state)
{
    (void)state;
    scene in;
    scene_begin(&in);
    api.cudnnBackendGetAttribute = get_too_much;
    for (const struct shape *s = shapes + 1; s < shapes + COUNT_OF(shapes); s++) {
        dnn_graph *g = NULL;
        conv_task t = task_of(s);
        if (s->kernel == 1)
            continue;
        t.w.type = DT_F32;
        printf("%lld -> %lld, %d x %d, kernel %d, step %d\n", (long long)s->channels, (long long)s->maps, s->size,
               s->size, s->kernel, s->stride);
        assert_int_equal(dnn_conv_plan(&in.program, &t, PART_W, &g, NULL), E_UNSUPPORTED);
        assert_true(n_engines > 0);
        forget_engines();
    }
    scene_end(&in);
}

/* But for the first layer's, whose gradient in float32 cuDNN refuses. */
static void time_them(void **state)
{
    (void)state;
    const char *threads = getenv("PLAN_THREADS");
    scene in;
    int64_t begin = clock_us();
    plan_together(&in, 1, DT_F32, (size_t)atoi(threads));
    printf("%s threads: %.1f s\n", threads, (double)(clock_us() - begin) * 1e-6);
    ask_for_all(&in, 1, DT_F32, OK);
    scene_end(&in);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest timing = cmocka_unit_test(time_them);
    const struct CMUnitTest listing = cmocka_unit_test(print_every_engine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(four_channels_in_float32_are_planned),
        cmocka_unit_test(those_planned_together_are_the_same),
        cmocka_unit_test(what_was_refused_is_told_again),
    };
    if (getenv("PLAN_THREADS"))
        return dnn_tests_run(argc, argv, &timing, 1);
    if (api_open(API_DNN, NULL) == OK) {
        real_get = api.cudnnBackendGetAttribute;
        api.cudnnBackendGetAttribute = get;
    }
    if (getenv("EVERY_ENGINE"))
        return dnn_tests_run(argc, argv, &listing, 1);
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
