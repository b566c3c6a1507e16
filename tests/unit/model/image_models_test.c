/*
 * Networks for images: as many parameters as torchvision's, in full size, their first weights, what they say of their
 * data, and stochastic depth. tests/golden holds them against PyTorch in small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/model/support_build.h"

#include <math.h>
#include <string.h>

static const data_field image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {3, 224, 224}};
static const data_field small = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {3, 64, 48}};
static const data_field label = {.name = "label", .dtype = DT_I64, .classes = 1000};
static const data_field pixels = {.name = "label", .dtype = DT_I64, .rank = 2, .dim = {64, 48}, .classes = 21};
static const data_field mask = {.name = "label", .dtype = DT_F32, .rank = 2, .dim = {64, 48}};

/* torchvision's num_params. */
static void sizes_are_torchvisions(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t n;
    } all[] = {
        {"'mobilenet_v3_small'", 2542856}, {"'mobilenet_v3_large'", 5483032}, {"'efficientnet_b0'", 5288548},
        {"'efficientnet_b1'", 7794184},    {"'efficientnet_b2'", 9109994},    {"'efficientnet_b3'", 12233232},
        {"'regnet_x_400mf'", 5495976},     {"'regnet_x_800mf'", 7259656},     {"'regnet_x_1_6gf'", 9190136},
        {"'regnet_x_3_2gf'", 15296552},    {"'regnet_y_400mf'", 4344144},     {"'regnet_y_800mf'", 6432512},
        {"'regnet_y_1_6gf'", 11202430},    {"'regnet_y_3_2gf'", 19436338},    {"'densenet121'", 7978856},
        {"'convnext_tiny'", 28589128},     {"'convnext_small'", 50223688},    {"'swin_t'", 28288354},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        graph *g = built(all[i].model, MODEL_EVAL, (const data_field[]){image, label}, 2);
        if (built_trainable(g) != all[i].n)
            fail_msg("%s has %lld parameters, torchvision's %lld", all[i].model, (long long)built_trainable(g),
                     (long long)all[i].n);
        graph_destroy(&g);
    }
    graph *g = built("'lraspp_mobilenet_v3_large'", MODEL_EVAL, (const data_field[]){small, pixels}, 2);
    assert_int_equal(built_trainable(g), 3221538);
    graph_destroy(&g);
}

static void expect_shape(const graph *g, const char *name, const char *shape)
{
    char text[SHAPE_TEXT];
    graph_val v = graph_find(g, name);
    if (v == GRAPH_NONE)
        fail_msg("no value '%s'", name);
    assert_string_equal(graph_shape_text(&graph_value_at(g, v)->shape, text, sizeof text), shape);
}

static void pixels_have_scores(void **state)
{
    (void)state;
    graph *g = built("{type: 'unet', width: 4}", MODEL_TRAIN, (const data_field[]){small, pixels}, 2);
    expect_shape(g, "inc.double_conv.0.weight", "[4,3,3,3]");
    expect_shape(g, "down4.maxpool_conv.1.double_conv.3.weight", "[64,64,3,3]");
    expect_shape(g, "up1.up.weight", "[64,32,2,2]");
    expect_shape(g, "up4.conv.double_conv.0.weight", "[4,8,3,3]");
    expect_shape(g, "outc.conv.weight", "[21,4,1,1]");
    expect_shape(g, "logits", "[2,21,64,48]");
    graph_destroy(&g);
    g = built("{type: 'unet', width: 4, loss: 'binary_cross_entropy'}", MODEL_TRAIN,
              (const data_field[]){small, mask}, 2);
    expect_shape(g, "outc.conv.weight", "[1,4,1,1]");
    graph_destroy(&g);
    refused("{type: 'unet', loss: 'mean_squared_error'}",
            (const data_field[]){small, {.name = "label", .dtype = DT_F32, .rank = 1, .dim = {7}}}, 2,
            "model: the data do not say how many scores each of 3072 pixels has to have; they have 'x' float32 "
            "[3,64,48], 'label' float32 [7]");
    refused("'unet'",
            (const data_field[]){{.name = "x", .dtype = DT_F32, .rank = 3, .dim = {1, 15, 64}}, pixels}, 2,
            "model: takes images of at least 16 x 16, not [2,1,15,64]");
    refused("'convnext_tiny'", (const data_field[]){{.name = "x", .dtype = DT_F32, .rank = 1, .dim = {7}}, label}, 2,
            "model: takes images, [batch, channels, height, width], not [2,7]");
    refused("{type: 'regnet_y_400mf', w_0: 12}", (const data_field[]){small, label}, 2,
            "model.w_0: must be a multiple of 8");
    refused("{type: 'swin_t', width: 20}", (const data_field[]){small, label}, 2,
            "model: num_heads 3 does not divide width 20");
}

static void expect_start(const char *model, const char *name, init_kind kind, double number)
{
    graph *g = built(model, MODEL_TRAIN, (const data_field[]){small, label}, 2);
    graph_val v = graph_find(g, name);
    if (v == GRAPH_NONE)
        fail_msg("no value '%s'", name);
    init_rule r = graph_value_at(g, v)->param->init;
    double is = (double)(r.kind == INIT_CONSTANT ? r.a : r.b);
    if (r.kind != kind || fabs(is - number) > 1e-6 * fabs(number))
        fail_msg("%s begins with rule %d, %g", name, (int)r.kind, is);
    graph_destroy(&g);
}

static void first_weights_are_torchvisions(void **state)
{
    (void)state;
    expect_start("'mobilenet_v3_small'", "features.1.block.0.0.weight", INIT_NORMAL, sqrt(2.0 / (16 * 9)));
    expect_start("'mobilenet_v3_small'", "features.1.block.1.fc1.bias", INIT_CONSTANT, 0);
    expect_start("'mobilenet_v3_small'", "classifier.3.weight", INIT_NORMAL, 0.01);
    expect_start("'efficientnet_b0'", "classifier.1.weight", INIT_UNIFORM, 1 / sqrt(1000));
    expect_start("'efficientnet_b0'", "classifier.1.bias", INIT_CONSTANT, 0);
    expect_start("'regnet_y_400mf'", "trunk_output.block1.block1-0.f.se.fc1.bias", INIT_UNIFORM, 1 / sqrt(48));
    expect_start("'regnet_y_400mf'", "fc.bias", INIT_CONSTANT, 0);
    expect_start("'densenet121'", "features.denseblock1.denselayer1.conv1.weight", INIT_NORMAL, sqrt(2.0 / 64));
    expect_start("'densenet121'", "classifier.weight", INIT_UNIFORM, 1 / sqrt(1024));
    expect_start("'densenet121'", "classifier.bias", INIT_CONSTANT, 0);
    expect_start("'convnext_tiny'", "features.1.0.block.0.weight", INIT_NORMAL, 0.02);
    expect_start("'convnext_tiny'", "features.1.0.layer_scale", INIT_CONSTANT, 1e-6);
    expect_start("'swin_t'", "features.0.0.bias", INIT_UNIFORM, 1 / sqrt(48));
    expect_start("'swin_t'", "features.1.0.attn.relative_position_bias_table", INIT_NORMAL, 0.02);
    expect_start("'swin_t'", "features.1.0.mlp.0.weight", INIT_UNIFORM, sqrt(6.0 / (5 * 96)));
    expect_start("'swin_t'", "head.weight", INIT_NORMAL, 0.02);
}

static size_t count_dropouts(const char *model, model_mode mode)
{
    graph *g = built(model, mode, (const data_field[]){small, label}, 2);
    size_t n = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *node = graph_node_at(g, i);
        if (node->op != OP_DROPOUT || !strstr(node->name, "stochastic_depth"))
            continue;
        assert_int_equal(graph_value_at(g, node->out[0])->shape.dim[0], 2);
        assert_int_equal(graph_shape_elements(&graph_value_at(g, node->out[0])->shape), 2);
        n++;
    }
    graph_destroy(&g);
    return n;
}

/* One draw for each example and branch; the first block always counts. */
static void depth_is_drawn_for_each_example(void **state)
{
    (void)state;
    assert_int_equal(count_dropouts("'efficientnet_b0'", MODEL_TRAIN), 9);
    assert_int_equal(count_dropouts("'convnext_tiny'", MODEL_TRAIN), 17);
    assert_int_equal(count_dropouts("'swin_t'", MODEL_TRAIN), 22);
    assert_int_equal(count_dropouts("'swin_t'", MODEL_EVAL), 0);
    assert_int_equal(count_dropouts("{type: 'convnext_tiny', stochastic_depth_prob: 0}", MODEL_TRAIN), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_torchvisions),
        cmocka_unit_test(pixels_have_scores),
        cmocka_unit_test(first_weights_are_torchvisions),
        cmocka_unit_test(depth_is_drawn_for_each_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
