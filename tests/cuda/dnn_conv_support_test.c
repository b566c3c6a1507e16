/* Whether the cuDNN that is installed plans the convolutions of the examples' models, and their
 * gradients. */
#include "support_dnn.h"

#include "backend/cuda/library/dnn_conv.h"
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

static int64_t volume(const int32_t size[SPATIAL])
{
    return (int64_t)size[0] * size[1] * size[2];
}

static void lie(conv_operand *o, dtype type, int64_t channels, int64_t places, bool channels_last)
{
    o->type = type;
    o->at = channels_last ? (conv_layout){channels * places, 1, channels}
                          : (conv_layout){channels * places, places, 1};
}

/* As conv_plan_dnn does. */
static void lay_out(conv_task *t, dtype made, conv_part makes)
{
    dtype factor = t->kind == TILE_BF16 ? DT_BF16 : DT_F32;
    bool last = factor != DT_F32;
    lie(&t->x, makes == PART_X ? made : factor, t->channels, volume(t->in), last);
    lie(&t->w, makes == PART_W ? made : factor, t->channels / t->groups, volume(t->kernel), last);
    lie(&t->y, makes == PART_Y ? made : factor, t->maps, volume(t->out), last);
}

static conv_task task_of(const struct shape *s, tile_kind kind, dtype made, conv_part makes)
{
    int32_t out = (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
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
    lay_out(&t, made, makes);
    return t;
}

/* Heuristics name no engine for a result in float32 of halves in so few channels, but for an image; for
 * gradients of weights they name one where the number is even. */
static bool is_taken(const conv_task *t, dtype made, conv_part makes)
{
    return t->kind != TILE_BF16 || made != DT_F32 || makes == PART_Y ||
           t->channels % (makes == PART_W ? 2 : 8) == 0;
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

/* --- other forms --- */

/* Of 64 channels to 64 maps, in strides of one. */
static const struct form {
    const char *name;
    int64_t groups;
    int32_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL], pad[SPATIAL], dilation;
} forms[] = {
    {"a signal", 1, {1, 1, 28}, {1, 1, 26}, {1, 1, 3}, {0, 0, 0}, 1},
    {"a volume", 1, {8, 14, 28}, {8, 14, 28}, {3, 3, 3}, {1, 1, 1}, 1},
    {"groups", 4, {1, 14, 28}, {1, 14, 28}, {1, 3, 3}, {0, 1, 1}, 1},
    {"a group a channel", 64, {1, 14, 28}, {1, 14, 28}, {1, 3, 3}, {0, 1, 1}, 1},
    {"dilations", 1, {1, 14, 28}, {1, 14, 28}, {1, 3, 3}, {0, 2, 2}, 2},
    {"a wider pad in front", 1, {1, 14, 28}, {1, 15, 29}, {1, 3, 3}, {0, 2, 2}, 1},
};

static conv_task task_of_form(const struct form *f)
{
    conv_task t = {.kind = TILE_BF16, .batch = 8, .groups = f->groups, .channels = 64, .maps = 64};
    for (int i = 0; i < SPATIAL; i++) {
        t.in[i] = f->in[i];
        t.out[i] = f->out[i];
        t.kernel[i] = f->kernel[i];
        t.pad[i] = f->pad[i];
        t.stride[i] = 1;
        t.dilation[i] = f->kernel[i] > 1 ? f->dilation : 1;
    }
    return t;
}

static void expect_plan(const char *name, conv_task t, conv_part makes, dtype made)
{
    scene in;
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    scene_begin(&in);
    lay_out(&t, made, makes);
    if (dnn_conv_plan(&in.program, &t, makes, &g, &err) != OK)
        fail_msg("%s, part %d: %s", name, (int)makes, err.text);
    scene_end(&in);
}

static void convolutions_of_all_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        for (conv_part makes = PART_X; makes < PARTS; makes++)
            expect_plan(forms[i].name, task_of_form(&forms[i]), makes, DT_BF16);
}

static void a_bias_is_added_to_sums_of_halves(void **state)
{
    (void)state;
    conv_task t = task_of_form(&forms[COUNT_OF(forms) - 1]);
    t.end = (tile_end){.c = &t, .c_type = DT_F32};
    expect_plan("a bias", t, PART_Y, DT_BF16);
    expect_plan("a bias behind a transposed one", t, PART_X, DT_F32);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_of_bfloat16),
        cmocka_unit_test(convolutions_of_bfloat16_in_float32),
        cmocka_unit_test(convolutions_of_float32),
        cmocka_unit_test(convolutions_of_tf32),
        cmocka_unit_test(convolutions_of_all_forms),
        cmocka_unit_test(a_bias_is_added_to_sums_of_halves),
    };
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
