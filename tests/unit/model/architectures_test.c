/* The architectures' parameters by PyTorch's, Hugging Face's and the papers' names and shapes;
 * their outputs; what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2 };

static const data_field label = {.name = "label", .dtype = DT_I64, .classes = 10};
static const data_field small_image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {3, 32, 32}};
static const data_field image = {.name = "x", .dtype = DT_F32, .rank = 3, .dim = {3, 224, 224}};
static const data_field video = {.name = "x", .dtype = DT_F32, .rank = 4, .dim = {3, 8, 32, 32}};
static const data_field frames = {.name = "x", .dtype = DT_F32, .rank = 4, .dim = {8, 3, 32, 32}};
static const data_field ids = {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {16}};
static const data_field next_ids = {
    .name = "label", .dtype = DT_I64, .rank = 1, .dim = {16}, .classes = 65};
static const data_field types = {.name = "token_type_ids", .dtype = DT_I64, .rank = 1, .dim = {16}};
static const data_field mask = {.name = "attention_mask", .dtype = DT_BOOL, .rank = 1, .dim = {16}};
static const data_field span = {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {2}};
static const data_field numbers = {.name = "numeric", .dtype = DT_F32, .rank = 1, .dim = {5}};
static const data_field words = {.name = "categorical", .dtype = DT_I64, .rank = 1, .dim = {3}};
static const data_field known_words = {
    .name = "categorical", .dtype = DT_I64, .rank = 1, .dim = {3}, .sizes = (int64_t[]){7, 5, 9}};
static const data_field click = {.name = "label", .dtype = DT_F32};

static status build(const char *model, const data_field *fields, size_t n, graph **ret, error *err)
{
    char *text =
        xasprintf("{model: %s, train_data_path: 'x', data_loader: {batch_size: 8}}", model);
    config *c = NULL;
    if (config_load(&(config_source){.text = text}, &c, err) != OK)
        fail_msg("%s", err->text);
    free(text);
    model_request r = {.model = config_section(c, "model"),
                       .fields = fields,
                       .n_fields = n,
                       .batch_size = BATCH,
                       .mode = MODEL_TRAIN};
    status st = model_build(&r, ret, err);
    config_destroy(&c);
    return st;
}

static graph *built(const char *model, const data_field *fields, size_t n)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    if (build(model, fields, n, &g, &err) != OK)
        fail_msg("%s: %s", model, err.text);
    return g;
}

static void refused(const char *model, const data_field *fields, size_t n, const char *text)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    assert_int_equal(build(model, fields, n, &g, &err), E_CONFIG);
    assert_string_equal(err.text, text);
}

static int64_t count_trainable(const graph *g)
{
    int64_t n = 0;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            n += graph_shape_elements(&value->shape);
    }
    return n;
}

/* "name[shape]" */
static void expect(const graph *g, const char *const *params, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[SHAPE_TEXT];
        size_t length = strcspn(params[i], "[");
        char *name = xstrndup(params[i], length);
        graph_val v = graph_find(g, name);
        if (v == GRAPH_NONE)
            fail_msg("no value '%s'", name);
        free(name);
        assert_string_equal(graph_shape_text(&graph_value_at(g, v)->shape, text, sizeof text),
                            params[i] + length);
    }
}

#define EXPECT(g, ...)                                                                             \
    expect(g, (const char *const[]){__VA_ARGS__},                                                  \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The counts are torchvision's: sum(p.numel() for p in model.parameters()). */
static void test_resnets(void **state)
{
    (void)state;
    const data_field small[] = {small_image, label}, large[] = {image, label};
    graph *g = built("'resnet18'", large, 2);
    assert_int_equal(count_trainable(g), 11689512 - 990 * 513);
    EXPECT(g, "conv1.weight[64,3,7,7]", "bn1.running_var[64]", "layer1.0.conv1.weight[64,64,3,3]",
           "layer1.0.bn2.bias[64]", "layer2.0.downsample.0.weight[128,64,1,1]",
           "layer2.0.downsample.1.weight[128]", "layer4.1.conv2.weight[512,512,3,3]",
           "fc.weight[10,512]", "fc.bias[10]", "logits[2,10]", "layer4.1.relu2[2,512,7,7]");
    assert_int_equal(graph_find(g, "layer1.0.downsample.0.weight"), GRAPH_NONE);
    init_rule he = graph_value_at(g, graph_find(g, "layer1.0.conv1.weight"))->param->init;
    assert_true(he.kind == INIT_NORMAL && fabs((double)he.b - sqrt(2.0 / 576)) < 1e-7);
    graph_destroy(&g);
    g = built("'resnet34'", large, 2);
    assert_int_equal(count_trainable(g), 21797672 - 990 * 513);
    graph_destroy(&g);
    g = built("{type: 'resnet50', zero_init_residual: true}", large, 2);
    assert_int_equal(count_trainable(g), 25557032 - 990 * 2049);
    EXPECT(g, "layer1.0.conv3.weight[256,64,1,1]", "layer1.0.downsample.0.weight[256,64,1,1]",
           "layer4.2.bn3.weight[2048]", "layer3.0.conv2.weight[256,256,3,3]");
    assert_true(graph_value_at(g, graph_find(g, "layer1.0.bn3.weight"))->param->init.a == 0.0f);
    assert_true(graph_value_at(g, graph_find(g, "layer1.0.bn2.weight"))->param->init.a == 1.0f);
    graph_destroy(&g);
    g = built("{type: 'resnet18', stem: 'cifar', width: 8}", small, 2);
    EXPECT(g, "conv1.weight[8,3,3,3]", "layer4.1.relu2[2,64,4,4]", "fc.weight[10,64]");
    graph_destroy(&g);
}

static void test_videos(void **state)
{
    (void)state;
    const data_field clips[] = {video, label}, stills[] = {frames, label};
    graph *g = built("'r2plus1d_18'", clips, 2);
    assert_int_equal(count_trainable(g), 31505325 - 390 * 513);
    EXPECT(g, "stem.0.weight[45,3,1,7,7]", "stem.3.weight[64,45,3,1,1]", "stem.4.running_mean[64]",
           "layer1.0.conv1.0.0.weight[144,64,1,3,3]", "layer1.0.conv1.0.3.weight[64,144,3,1,1]",
           "layer1.0.conv1.1.weight[64]", "layer2.0.downsample.0.weight[128,64,1,1,1]",
           "layer2.0.conv1.0.0.weight[230,64,1,3,3]", "layer2.0.conv2.0.0.weight[230,128,1,3,3]",
           "fc.weight[10,512]", "logits[2,10]");
    graph_destroy(&g);
    g = built("{type: 'frame_cnn', channels: [4, 6], hidden: [7]}", stills, 2);
    EXPECT(g, "conv1.weight[4,3,3,3]", "conv2.weight[6,4,3,3]", "mean[2,6]", "fc1.weight[7,6]",
           "fc2.weight[10,7]", "logits[2,10]");
    graph_destroy(&g);
    refused("'frame_cnn'", (const data_field[]){small_image, label}, 2,
            "model: takes videos, [batch, frames, channels, height, width], not [2,3,32,32]");
}

static void test_transformer_lm(void **state)
{
    (void)state;
    const data_field fields[] = {ids, next_ids};
    graph *g = built(
        "{type: 'transformer_lm', num_layers: 2, width: 24, num_heads: 3, context: 20}", fields, 2);
    EXPECT(g, "wte.weight[65,24]", "wpe.weight[20,24]", "h.0.ln_1.weight[24]",
           "h.0.attn.c_attn.weight[24,72]", "h.0.attn.c_attn.bias[72]",
           "h.1.attn.c_proj.weight[24,24]", "h.1.ln_2.bias[24]", "h.1.mlp.c_fc.weight[24,96]",
           "h.1.mlp.c_proj.weight[96,24]", "ln_f.bias[24]", "logits[2,16,65]");
    init_rule last = graph_value_at(g, graph_find(g, "h.1.mlp.c_proj.weight"))->param->init;
    assert_true(last.kind == INIT_NORMAL && fabs((double)last.b - 0.01) < 1e-7);
    graph_destroy(&g);
    refused("{type: 'transformer_lm', context: 8}", fields, 2,
            "model.context: 8 positions are too few for the data's 16");
    refused("{type: 'transformer_lm', width: 20}", fields, 2,
            "model: num_heads 12 does not divide width 20");
}

static void test_bert(void **state)
{
    (void)state;
    const data_field fields[] = {ids, types, mask, span};
    graph *g = built("'bert'", fields, 4);
    /* transformers' BertForQuestionAnswering of bert-base-uncased */
    assert_int_equal(count_trainable(g), 108893186);
    EXPECT(g, "bert.embeddings.word_embeddings.weight[30522,768]",
           "bert.embeddings.position_embeddings.weight[512,768]",
           "bert.embeddings.token_type_embeddings.weight[2,768]",
           "bert.embeddings.LayerNorm.bias[768]",
           "bert.encoder.layer.11.attention.self.query.weight[768,768]",
           "bert.encoder.layer.0.attention.output.LayerNorm.weight[768]",
           "bert.encoder.layer.0.intermediate.dense.weight[3072,768]",
           "bert.encoder.layer.0.output.dense.weight[768,3072]", "qa_outputs.weight[2,768]",
           "logits[2,16,2]");
    graph_destroy(&g);
    static const char tiny[] = "{type: 'bert', num_layers: 1, width: 12, num_heads: 3, "
                               "vocabulary: 50, loss: 'cross_entropy', head: '%s'}";
    char *text = xasprintf(tiny, "sequence");
    g = built(text, (const data_field[]){ids, label}, 2);
    EXPECT(g, "bert.pooler.dense.weight[12,12]", "classifier.weight[10,12]", "logits[2,10]");
    graph_destroy(&g);
    free(text);
    text = xasprintf(tiny, "tokens");
    g = built(text, (const data_field[]){ids, next_ids}, 2);
    EXPECT(g, "classifier.bias[65]", "logits[2,16,65]");
    graph_destroy(&g);
    free(text);
}

static void test_vit(void **state)
{
    (void)state;
    const data_field fields[] = {image, label};
    graph *g = built("'vit'", fields, 2);
    assert_int_equal(count_trainable(g), 86567656 - 990 * 769); /* torchvision's vit_b_16 */
    EXPECT(g, "class_token[1,1,768]", "conv_proj.weight[768,3,16,16]",
           "encoder.pos_embedding[1,197,768]",
           "encoder.layers.encoder_layer_0.self_attention.in_proj_weight[2304,768]",
           "encoder.layers.encoder_layer_0.self_attention.out_proj.bias[768]",
           "encoder.layers.encoder_layer_11.mlp.3.weight[768,3072]", "encoder.ln.weight[768]",
           "heads.head.weight[10,768]", "logits[2,10]");
    graph_destroy(&g);
    refused("{type: 'vit', patch: 15}", fields, 2,
            "model.patch: patches of 15 x 15 do not cover [2,3,224,224]");
}

static void test_tables(void **state)
{
    (void)state;
    const data_field fields[] = {numbers, words, click};
    graph *g =
        built("{type: 'wide_deep', categories: [7, 5, 9], width: 4, hidden: [6]}", fields, 3);
    EXPECT(g, "deep.tables.0.weight[7,4]", "deep.tables.2.weight[9,4]", "wide.tables.1.weight[5,1]",
           "wide.bias[1]", "fc1.weight[6,17]", "fc2.weight[1,6]", "logits[2,1]");
    graph_destroy(&g);
    g = built("{type: 'dlrm', bottom: [8, 4], top: [6]}",
              (const data_field[]){numbers, known_words, click}, 3);
    EXPECT(g, "bot_l.0.weight[8,5]", "bot_l.2.weight[4,8]", "emb_l.2.weight[9,4]",
           "top_l.0.weight[6,10]", "top_l.2.weight[1,6]", "logits[2,1]");
    graph_destroy(&g);
    refused("{type: 'dlrm', categories: [7, 5]}", fields, 3,
            "model.categories: 2 sizes, but the data have 3 columns of categories");
    refused("{type: 'dlrm'}", fields, 3,
            "model.categories: null, and the data do not say how many categories column 0 has");
    refused("{type: 'dlrm', categories: [7]}", (const data_field[]){numbers, click}, 2,
            "model: the data have no int64 field of categories; they have 'numeric' float32 [5], "
            "'label' float32 []");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnets),
        cmocka_unit_test(test_videos),
        cmocka_unit_test(test_transformer_lm),
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_vit),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
