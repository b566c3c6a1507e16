/* The architectures' parameters by PyTorch's, Hugging Face's and the papers' names and shapes;
 * their outputs; what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/model/support_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    graph *g = built("'resnet18'", MODEL_TRAIN, large, 2);
    assert_int_equal(built_trainable(g), 11689512 - 990 * 513);
    EXPECT(g, "conv1.weight[64,3,7,7]", "bn1.running_var[64]", "layer1.0.conv1.weight[64,64,3,3]",
           "layer1.0.bn2.bias[64]", "layer2.0.downsample.0.weight[128,64,1,1]",
           "layer2.0.downsample.1.weight[128]", "layer4.1.conv2.weight[512,512,3,3]",
           "fc.weight[10,512]", "fc.bias[10]", "logits[2,10]", "layer4.1.relu2[2,512,7,7]");
    assert_int_equal(graph_find(g, "layer1.0.downsample.0.weight"), GRAPH_NONE);
    init_rule he = graph_value_at(g, graph_find(g, "layer1.0.conv1.weight"))->param->init;
    assert_true(he.kind == INIT_NORMAL && fabs((double)he.b - sqrt(2.0 / 576)) < 1e-7);
    graph_destroy(&g);
    g = built("'resnet34'", MODEL_TRAIN, large, 2);
    assert_int_equal(built_trainable(g), 21797672 - 990 * 513);
    graph_destroy(&g);
    g = built("{type: 'resnet50', zero_init_residual: true}", MODEL_TRAIN, large, 2);
    assert_int_equal(built_trainable(g), 25557032 - 990 * 2049);
    EXPECT(g, "layer1.0.conv3.weight[256,64,1,1]", "layer1.0.downsample.0.weight[256,64,1,1]",
           "layer4.2.bn3.weight[2048]", "layer3.0.conv2.weight[256,256,3,3]");
    assert_true(graph_value_at(g, graph_find(g, "layer1.0.bn3.weight"))->param->init.a == 0.0f);
    assert_true(graph_value_at(g, graph_find(g, "layer1.0.bn2.weight"))->param->init.a == 1.0f);
    graph_destroy(&g);
    g = built("{type: 'resnet18', stem: 'cifar', width: 8}", MODEL_TRAIN, small, 2);
    EXPECT(g, "conv1.weight[8,3,3,3]", "layer4.1.relu2[2,64,4,4]", "fc.weight[10,64]");
    graph_destroy(&g);
}

static void test_videos(void **state)
{
    (void)state;
    const data_field clips[] = {video, label}, stills[] = {frames, label};
    graph *g = built("'r2plus1d_18'", MODEL_TRAIN, clips, 2);
    assert_int_equal(built_trainable(g), 31505325 - 390 * 513);
    EXPECT(g, "stem.0.weight[45,3,1,7,7]", "stem.3.weight[64,45,3,1,1]", "stem.4.running_mean[64]",
           "layer1.0.conv1.0.0.weight[144,64,1,3,3]", "layer1.0.conv1.0.3.weight[64,144,3,1,1]",
           "layer1.0.conv1.1.weight[64]", "layer2.0.downsample.0.weight[128,64,1,1,1]",
           "layer2.0.conv1.0.0.weight[230,64,1,3,3]", "layer2.0.conv2.0.0.weight[230,128,1,3,3]",
           "fc.weight[10,512]", "logits[2,10]");
    graph_destroy(&g);
    g = built("{type: 'frame_cnn', channels: [4, 6], hidden: [7]}", MODEL_TRAIN, stills, 2);
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
    graph *g =
        built("{type: 'transformer_lm', num_layers: 2, width: 24, num_heads: 3, context: 20}",
              MODEL_TRAIN, fields, 2);
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

static void test_llama(void **state)
{
    (void)state;
    const data_field fields[] = {ids, next_ids};
    graph *g = built("{type: 'transformer_lm', network: 'llama', num_layers: 2, width: 24, num_heads: 4, "
                     "num_kv_heads: 2, feedforward: 40, context: 20}",
                     MODEL_TRAIN, fields, 2);
    EXPECT(g, "model.embed_tokens.weight[65,24]", "model.layers.0.input_layernorm.weight[24]",
           "model.layers.0.self_attn.q_proj.weight[24,24]", "model.layers.0.self_attn.k_proj.weight[12,24]",
           "model.layers.0.self_attn.v_proj.weight[12,24]", "model.layers.1.self_attn.o_proj.weight[24,24]",
           "model.layers.1.mlp.gate_proj.weight[40,24]", "model.layers.1.mlp.down_proj.weight[24,40]",
           "model.norm.weight[24]", "lm_head.weight[65,24]", "logits[2,16,65]");
    assert_int_equal(graph_find(g, "model.layers.0.self_attn.q_proj.bias"), GRAPH_NONE);
    assert_int_equal(graph_n_params(g), 2 * 9 + 3);
    graph_destroy(&g);
    g = built("{type: 'transformer_lm', network: 'qwen2', num_layers: 1, width: 24, num_heads: 4, head_dim: 8, "
              "tie_word_embeddings: true}",
              MODEL_TRAIN, fields, 2);
    EXPECT(g, "model.layers.0.self_attn.k_proj.weight[32,24]", "model.layers.0.self_attn.k_proj.bias[32]",
           "model.layers.0.self_attn.o_proj.weight[24,32]");
    assert_int_equal(graph_find(g, "lm_head.weight"), GRAPH_NONE);
    assert_int_equal(graph_find(g, "model.layers.0.self_attn.o_proj.bias"), GRAPH_NONE);
    graph_destroy(&g);
    refused("{type: 'transformer_lm', network: 'llama', num_kv_heads: 5}", fields, 2,
            "model: num_kv_heads 5 does not divide num_heads 12");
    refused("{type: 'transformer_lm', network: 'llama', width: 36, num_heads: 12}", fields, 2,
            "model: a head of 3 numbers cannot be turned; expected an even number");
    refused("{type: 'transformer_lm', network: 'llama', rope_scaling: {type: 'llama3', factor: 8, "
            "low_freq_factor: 4}}",
            fields, 2, "model.rope_scaling: low_freq_factor 4 is not below high_freq_factor 4");
    refused("{type: 'transformer_lm', rope_theta: 500000}", fields, 2,
            "model.rope_theta: a network 'gpt2' has none; leave it out, or null");
    refused("{type: 'transformer_lm', tie_word_embeddings: false}", fields, 2,
            "model.tie_word_embeddings: the last layer of a network 'gpt2' is its table of tokens");
}

static void test_bert(void **state)
{
    (void)state;
    const data_field fields[] = {ids, types, mask, span};
    graph *g = built("'bert'", MODEL_TRAIN, fields, 4);
    /* transformers' BertForQuestionAnswering of bert-base-uncased */
    assert_int_equal(built_trainable(g), 108893186);
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
    g = built(text, MODEL_TRAIN, (const data_field[]){ids, label}, 2);
    EXPECT(g, "bert.pooler.dense.weight[12,12]", "classifier.weight[10,12]", "logits[2,10]");
    graph_destroy(&g);
    free(text);
    text = xasprintf(tiny, "tokens");
    g = built(text, MODEL_TRAIN, (const data_field[]){ids, next_ids}, 2);
    EXPECT(g, "classifier.bias[65]", "logits[2,16,65]");
    graph_destroy(&g);
    free(text);
}

static void test_vit(void **state)
{
    (void)state;
    const data_field fields[] = {image, label};
    graph *g = built("'vit'", MODEL_TRAIN, fields, 2);
    assert_int_equal(built_trainable(g), 86567656 - 990 * 769); /* torchvision's vit_b_16 */
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
    graph *g = built("{type: 'wide_deep', categories: [7, 5, 9], width: 4, hidden: [6]}",
                     MODEL_TRAIN, fields, 3);
    EXPECT(g, "deep.tables.0.weight[7,4]", "deep.tables.2.weight[9,4]", "wide.tables.1.weight[5,1]",
           "wide.bias[1]", "fc1.weight[6,17]", "fc2.weight[1,6]", "logits[2,1]");
    graph_destroy(&g);
    g = built("{type: 'dlrm', bottom: [8, 4], top: [6]}", MODEL_TRAIN,
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

/* How a tensor begins: normal with that deviation, uniform within that bound, or that number. */
typedef struct start {
    const char *name;
    init_kind kind;
    double number;
} start;

static void expect_starts(const char *model, const data_field *fields, size_t n_fields,
                          const start *starts, size_t n)
{
    graph *g = built(model, MODEL_TRAIN, fields, n_fields);
    for (size_t i = 0; i < n; i++) {
        graph_val v = graph_find(g, starts[i].name);
        if (v == GRAPH_NONE)
            fail_msg("no value '%s'", starts[i].name);
        init_rule r = graph_value_at(g, v)->param->init;
        double is = (double)(r.kind == INIT_CONSTANT ? r.a : r.b);
        bool centred = r.kind == INIT_UNIFORM ? r.a == -r.b : r.kind != INIT_NORMAL || r.a == 0.0f;
        if (r.kind != starts[i].kind || !centred ||
            fabs(is - starts[i].number) > 1e-6 * fabs(starts[i].number))
            fail_msg("%s begins with rule %d, %g", starts[i].name, (int)r.kind, is);
    }
    graph_destroy(&g);
}

#define EXPECT_STARTS(model, fields, ...)                                                          \
    expect_starts(model, fields, sizeof(fields) / sizeof(data_field),                              \
                  (const start[]){__VA_ARGS__},                                                    \
                  sizeof((const start[]){__VA_ARGS__}) / sizeof(start))

#define LAYER_0 "encoder.layers.encoder_layer_0."

/* As PyTorch's layers, torchvision, transformers and the authors of DLRM draw them. */
static void test_first_weights(void **state)
{
    (void)state;
    const data_field pictures[] = {small_image, label}, clips[] = {video, label};
    const data_field text[] = {ids, next_ids}, question[] = {ids, types, mask, span};
    const data_field row[] = {numbers, known_words, click};
    EXPECT_STARTS(
        "{type: 'cnn', channels: [4], hidden: [6]}", pictures,
        {"conv1.weight", INIT_UNIFORM, 1 / sqrt(27)}, {"conv1.bias", INIT_UNIFORM, 1 / sqrt(27)},
        {"fc1.weight", INIT_UNIFORM, 1 / sqrt(1024)}, {"fc2.bias", INIT_UNIFORM, 1 / sqrt(6)});
    EXPECT_STARTS("'resnet50'", pictures, {"conv1.weight", INIT_NORMAL, sqrt(2.0 / (64 * 49))},
                  {"layer1.0.conv3.weight", INIT_NORMAL, sqrt(2.0 / 256)},
                  {"layer1.0.bn3.weight", INIT_CONSTANT, 1}, {"bn1.bias", INIT_CONSTANT, 0},
                  {"fc.weight", INIT_UNIFORM, 1 / sqrt(2048)},
                  {"fc.bias", INIT_UNIFORM, 1 / sqrt(2048)});
    EXPECT_STARTS("'r2plus1d_18'", clips, {"stem.3.weight", INIT_NORMAL, sqrt(2.0 / (64 * 3))},
                  {"fc.weight", INIT_NORMAL, 0.01}, {"fc.bias", INIT_CONSTANT, 0});
    EXPECT_STARTS(
        "{type: 'vit', patch: 8, num_layers: 1}", pictures,
        {"conv_proj.weight", INIT_NORMAL, sqrt(1.0 / 192)}, {"conv_proj.bias", INIT_CONSTANT, 0},
        {"class_token", INIT_CONSTANT, 0}, {"encoder.pos_embedding", INIT_NORMAL, 0.02},
        {LAYER_0 "self_attention.in_proj_weight", INIT_UNIFORM, sqrt(6.0 / (4 * 768))},
        {LAYER_0 "self_attention.in_proj_bias", INIT_CONSTANT, 0},
        {LAYER_0 "self_attention.out_proj.weight", INIT_UNIFORM, 1 / sqrt(768)},
        {LAYER_0 "self_attention.out_proj.bias", INIT_CONSTANT, 0},
        {LAYER_0 "mlp.0.weight", INIT_UNIFORM, sqrt(6.0 / (5 * 768))},
        {LAYER_0 "mlp.0.bias", INIT_NORMAL, 1e-6}, {LAYER_0 "mlp.3.bias", INIT_NORMAL, 1e-6},
        {"heads.head.weight", INIT_NORMAL, 0}, {"heads.head.bias", INIT_CONSTANT, 0});
    EXPECT_STARTS(
        "{type: 'transformer_lm', num_layers: 2}", text, {"wte.weight", INIT_NORMAL, 0.02},
        {"wpe.weight", INIT_NORMAL, 0.02}, {"h.0.attn.c_attn.weight", INIT_NORMAL, 0.02},
        {"h.0.attn.c_proj.weight", INIT_NORMAL, 0.01}, {"h.1.mlp.c_fc.bias", INIT_CONSTANT, 0});
    EXPECT_STARTS("{type: 'transformer_lm', network: 'llama', num_layers: 1}", text,
                  {"model.embed_tokens.weight", INIT_NORMAL, 0.02},
                  {"model.layers.0.input_layernorm.weight", INIT_CONSTANT, 1},
                  {"model.layers.0.self_attn.o_proj.weight", INIT_NORMAL, 0.02}, {"lm_head.weight", INIT_NORMAL, 0.02});
    EXPECT_STARTS("{type: 'bert', num_layers: 1}", question,
                  {"bert.embeddings.word_embeddings.weight", INIT_NORMAL, 0.02},
                  {"bert.encoder.layer.0.attention.self.key.weight", INIT_NORMAL, 0.02},
                  {"qa_outputs.weight", INIT_NORMAL, 0.02}, {"qa_outputs.bias", INIT_CONSTANT, 0});
    EXPECT_STARTS(
        "{type: 'wide_deep', width: 4, hidden: [6]}", row, {"deep.tables.1.weight", INIT_NORMAL, 1},
        {"wide.tables.1.weight", INIT_CONSTANT, 0}, {"fc1.weight", INIT_UNIFORM, 1 / sqrt(17)});
    EXPECT_STARTS("{type: 'dlrm', bottom: [8, 4], top: [6]}", row,
                  {"bot_l.0.weight", INIT_NORMAL, sqrt(2.0 / 13)},
                  {"bot_l.0.bias", INIT_NORMAL, sqrt(1.0 / 8)},
                  {"emb_l.1.weight", INIT_UNIFORM, 1 / sqrt(5)});
}

/* Of an example of a batch of BUILD_BATCH. */
static double flops_of(const char *model, model_mode mode, const data_field fields[2])
{
    graph *g = built(model, mode, fields, 2);
    double flops = graph_flops(g) / BUILD_BATCH;
    graph_destroy(&g);
    return flops;
}

/* 6 N + 6 L C T a token, N all parameters, is how llm.c counts (train_gpt2.cu, gpt2_estimate_mfu;
 * Kaplan and others, 2020, section 2.1); the biases, norms and positions in N make no products. */
static void test_flops_of_gpt2(void **state)
{
    (void)state;
    const double layers = 12, width = 768, length = 1024, vocabulary = 50257;
    const data_field fields[] = {
        {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {1024}},
        {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {1024}, .classes = 50257}};
    const char *model = "{type: 'transformer_lm', dropout: 0}";
    double attention = 2 * layers * width * length;
    double token = 2 * (12 * layers * width * width + vocabulary * width) + attention;
    double llm_c = 6 * 124439808.0 + 3 * attention;
    assert_true(flops_of(model, MODEL_EVAL, fields) == length * token);
    assert_true(flops_of(model, MODEL_TRAIN, fields) == 3 * length * token);
    assert_true(fabs(3 * token / llm_c - 1) < 0.01);
}

/* 4 089 184 256 multiply-adds forward are torchvision's ("GFLOPS 4.09"). Backward has twice as
 * many, but no gradient of the image: 118 013 952 of the first convolution. */
static void test_flops_of_resnet50(void **state)
{
    (void)state;
    const double forward = 4089184256, first = 64.0 * 3 * 7 * 7 * 112 * 112;
    const data_field fields[] = {image, {.name = "label", .dtype = DT_I64, .classes = 1000}};
    assert_true(flops_of("'resnet50'", MODEL_EVAL, fields) == 2 * forward);
    assert_true(flops_of("'resnet50'", MODEL_TRAIN, fields) == 2 * (3 * forward - first));
}

/* Attention of all tokens to all: 4 T C a token and layer. The embedding makes no products. */
static void test_flops_of_bert(void **state)
{
    (void)state;
    const double layers = 12, width = 768, length = 384;
    const data_field fields[] = {
        {.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {384}},
        {.name = "label", .dtype = DT_I64, .rank = 1, .dim = {2}, .classes = 384}};
    double token = 2 * (12 * layers * width * width + 2 * width) + 4 * layers * width * length;
    assert_true(flops_of("{type: 'bert', dropout: 0, vocabulary: 28996}", MODEL_TRAIN, fields) ==
                3 * length * token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnets),
        cmocka_unit_test(test_videos),
        cmocka_unit_test(test_transformer_lm),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_vit),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_first_weights),
        cmocka_unit_test(test_flops_of_gpt2),
        cmocka_unit_test(test_flops_of_resnet50),
        cmocka_unit_test(test_flops_of_bert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
