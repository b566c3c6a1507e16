/* Which parameters are a layer, by their names and the order in which networks read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "model/depth.h"
#include "optim/group.h"
#include "unit/model/support_build.h"

#include <string.h>

static const data_field image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {3, 32, 32}};
static const data_field tokens = {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {4}, .classes = 9};
static const data_field class = {.name = "label", .dtype = DT_I64, .classes = 4};
static const data_field next = {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {4}, .classes = 9};

static json_t *decay(void)
{
    error err = ERROR_INIT;
    json_t *ret = NULL;
    static const char text[] = "{\"layer_decay\": 0.5, \"parameter_groups\": [1]}";
    assert_int_equal(json_parse(text, strlen(text), "optimizer", E_DATA, &ret, &err), OK);
    return ret;
}

static graph *layered(const char *model, const data_field fields[2])
{
    error err = ERROR_INIT;
    json_t *optimizer = decay();
    graph *g = built(model, MODEL_EVAL, fields, 2);
    assert_int_equal(depth_assign(g, optimizer, &err), OK);
    json_decref(optimizer);
    return g;
}

/* The layers as text, without their shares. */
static void expect_layers(const char *model, const data_field fields[2], const char *text)
{
    buf told = BUF_INIT;
    json_t *optimizer = decay();
    graph *g = layered(model, fields);
    depth_describe(g, optimizer, &told);
    assert_string_equal(told.data, text);
    buf_fini(&told);
    graph_destroy(&g);
    json_decref(optimizer);
}

static void expect_depth(const graph *g, const char *param, int32_t depth)
{
    graph_val v = graph_find(g, param);
    assert_int_not_equal(v, GRAPH_NONE);
    assert_int_equal(graph_value_at(g, v)->param->group, optim_layer_group(0, 2, depth));
}

static void test_stages_of_resnet(void **state)
{
    (void)state;
    static const char resnet[] = "{type: 'resnet18', width: 4}";
    const data_field fields[] = {image, class};
    expect_layers(resnet, fields, "conv1 0.03125, layer1 0.0625, layer2 0.125, layer3 0.25, layer4 0.5, last 1");
    graph *g = layered(resnet, fields);
    expect_depth(g, "conv1.weight", 5);
    expect_depth(g, "bn1.weight", 5); /* of one axis alone */
    expect_depth(g, "layer2.0.downsample.1.bias", 3);
    expect_depth(g, "fc.weight", 0);
    graph_destroy(&g);
}

static void test_blocks_of_a_transformer(void **state)
{
    (void)state;
    static const char gpt[] = "{type: 'transformer_lm', width: 8, num_layers: 2, num_heads: 2}";
    const data_field fields[] = {tokens, next};
    graph *g = layered(gpt, fields);
    expect_depth(g, "wte.weight", 3);
    expect_depth(g, "h.0.ln_1.weight", 2);
    expect_depth(g, "h.1.ln_1.weight", 1); /* read before any matrix of its block */
    expect_depth(g, "h.1.mlp.c_fc.weight", 1);
    expect_depth(g, "ln_f.bias", 0);
    graph_destroy(&g);
}

static void test_layers_by_number(void **state)
{
    (void)state;
    const data_field fields[] = {image, class};
    expect_layers("{type: 'cnn', channels: [2, 3], hidden: [5], batch_norm: true}", fields,
                  "conv1 0.125, conv2 0.25, fc1 0.5, fc2 1");
}

static void test_names_that_tell_nothing(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    json_t *optimizer = decay();
    const data_field fields[] = {image, class};
    graph *g = built("{type: 'mlp', hidden: []}", MODEL_EVAL, fields, 2);
    assert_int_equal(depth_assign(g, optimizer, &err), E_CONFIG);
    assert_string_equal(err.text, "trainer.optimizer.layer_decay: the names of the parameters tell no layers; expected "
                                  "numbers in them, or null");
    graph_destroy(&g);
    json_decref(optimizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_of_resnet),
        cmocka_unit_test(test_blocks_of_a_transformer),
        cmocka_unit_test(test_layers_by_number),
        cmocka_unit_test(test_names_that_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
