/* Whether the cuDNN that is installed plans the convolutions of the examples' models, and their
 * gradients. */
#include "support_dnn.h"

#include "backend/cuda/dnn_conv.h"
#include "common/base/alloc.h"

/* As examples' models have them, but for those that are matrix products. */
static const struct shape {
    const char *model;
    int64_t batch, channels, maps;
    int32_t size, kernel, stride, pad;
} shapes[] = {
    {"cnn", 64, 1, 32, 28, 3, 1, 1},           {"cnn", 64, 32, 64, 14, 3, 1, 1},
    {"resnet", 64, 3, 64, 224, 7, 2, 3},       {"resnet", 64, 64, 64, 56, 3, 1, 1},
    {"resnet18", 64, 64, 128, 56, 3, 2, 1},    {"resnet18", 64, 64, 128, 56, 1, 2, 0},
    {"resnet", 64, 128, 128, 28, 3, 1, 1},     {"resnet18", 64, 128, 256, 28, 3, 2, 1},
    {"resnet18", 64, 128, 256, 28, 1, 2, 0},   {"resnet", 64, 256, 256, 14, 3, 1, 1},
    {"resnet18", 64, 256, 512, 14, 3, 2, 1},   {"resnet18", 64, 256, 512, 14, 1, 2, 0},
    {"resnet", 64, 512, 512, 7, 3, 1, 1},      {"resnet50", 64, 128, 128, 56, 3, 2, 1},
    {"resnet50", 64, 256, 512, 56, 1, 2, 0},   {"resnet50", 64, 256, 256, 28, 3, 2, 1},
    {"resnet50", 64, 512, 1024, 28, 1, 2, 0},  {"resnet50", 64, 512, 512, 14, 3, 2, 1},
    {"resnet50", 64, 1024, 2048, 14, 1, 2, 0},
};

static void lie(conv_operand *o, dtype type, int64_t channels, int32_t size, bool channels_last)
{
    int64_t places = (int64_t)size * size;
    o->type = type;
    o->at = channels_last ? (conv_layout){channels * places, 1, channels}
                          : (conv_layout){channels * places, places, 1};
}

static conv_task task_of(const struct shape *s, tile_kind kind, dtype made, conv_part makes)
{
    int32_t out = (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
    dtype factor = kind == TILE_BF16 ? DT_BF16 : DT_F32;
    bool last = factor != DT_F32;
    conv_task t = {.kind = kind,
                   .batch = s->batch,
                   .groups = 1,
                   .channels = s->channels,
                   .maps = s->maps,
                   .in = {1, s->size, s->size},
                   .out = {1, out, out},
                   .kernel = {1, s->kernel, s->kernel},
                   .stride = {1, s->stride, s->stride},
                   .dilation = {1, 1, 1},
                   .pad = {0, s->pad, s->pad}};
    lie(&t.x, makes == PART_X ? made : factor, s->channels, s->size, last);
    lie(&t.w, makes == PART_W ? made : factor, s->channels, s->kernel, last);
    lie(&t.y, makes == PART_Y ? made : factor, s->maps, out, last);
    return t;
}

/* Heuristics name no engine for a result in float32 of halves in so few channels, but for an image.
 */
static bool is_taken(const conv_task *t, dtype made, conv_part makes)
{
    return t->kind != TILE_BF16 || made != DT_F32 || makes == PART_Y || t->channels % 8 == 0;
}

static void plan(const struct shape *s, tile_kind kind, dtype made, conv_part makes)
{
    scene in;
    conv_task t = task_of(s, kind, made, makes);
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    scene_begin(&in);
    if (dnn_conv_plan(&in.program, &t, makes, &g, &err) != OK && is_taken(&t, made, makes))
        fail_msg("%s, %lld channels of %d to %lld maps, kernel %d, part %d: %s", s->model,
                 (long long)s->channels, s->size, (long long)s->maps, s->kernel, (int)makes,
                 err.text);
    scene_end(&in);
}

static void plan_every(size_t step, tile_kind kind, dtype made)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i += step)
        for (conv_part makes = PART_X; makes < PARTS; makes++)
            plan(&shapes[i], kind, made, makes);
}

static void convolutions_of_bfloat16(void **state)
{
    (void)state;
    plan_every(1, TILE_BF16, DT_BF16);
}

static void convolutions_of_bfloat16_in_float32(void **state)
{
    (void)state;
    plan_every(9, TILE_BF16, DT_F32);
}

static void convolutions_of_float32(void **state)
{
    (void)state;
    plan_every(1, TILE_F32, DT_F32);
}

static void convolutions_of_tf32(void **state)
{
    (void)state;
    plan_every(1, TILE_TF32, DT_F32);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_of_bfloat16),
        cmocka_unit_test(convolutions_of_bfloat16_in_float32),
        cmocka_unit_test(convolutions_of_float32),
        cmocka_unit_test(convolutions_of_tf32),
    };
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
