/* Whether the cuDNN that is installed plans the attention that models have, both ways; prints the workspace of
 * each. */
#include "support_dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_attention.h"
#include "common/base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where a mask differs: bits of its axes. */
enum { BY_BATCH = 1, BY_HEAD = 2, BY_QUERY = 4, BY_KEY = 8, PADDING = BY_BATCH | BY_KEY };

/* Packed: queries, keys and values of a position side by side. */
typedef struct shape {
    const char *model;
    int64_t batch, q_heads, kv_heads, q_length, k_length, head;
    bool causal, packed;
    launch_type type;
    int mask_by; /* 0: no mask */
    float ratio;
} shape;

static const shape shapes[] = {
    {"tiny-shakespeare", 4, 6, 6, 256, 256, 64, true, true, .type = LAUNCH_BF16},
    {"GPT-2", 32, 12, 12, 1024, 1024, 64, true, true, .type = LAUNCH_BF16},
    {"GPT-2, a part at a time", 64, 12, 12, 1024, 1024, 64, true, true, .type = LAUNCH_BF16},
    {"GPT-2, float16", 32, 12, 12, 1024, 1024, 64, true, true, .type = LAUNCH_F16},
    {"GPT-2, dropout", 16, 12, 12, 1024, 1024, 64, true, true, .type = LAUNCH_BF16, .ratio = 0.1f},
    {"BERT", 16, 12, 12, 384, 384, 64, false, false, .type = LAUNCH_BF16},
    {"BERT, padding", 32, 12, 12, 384, 384, 64, false, false, .type = LAUNCH_BF16, .mask_by = PADDING},
    {"BERT, padding, dropout", 32, 12, 12, 384, 384, 64, false, false, .type = LAUNCH_BF16,
     .mask_by = PADDING, .ratio = 0.1f},
    {"MiniLM, padding", 32, 12, 12, 128, 128, 32, false, false, .type = LAUNCH_BF16, .mask_by = PADDING},
    {"ViT", 64, 12, 12, 197, 197, 64, false, false, .type = LAUNCH_BF16},
    {"ViT-H", 8, 16, 16, 257, 257, 80, false, false, .type = LAUNCH_BF16},
    {"heads of 256", 4, 8, 1, 512, 512, 256, true, false, .type = LAUNCH_BF16},
    {"heads of 256, padding", 4, 8, 8, 512, 512, 256, false, false, .type = LAUNCH_BF16, .mask_by = PADDING},
    {"shared keys", 2, 32, 8, 2048, 2048, 128, true, false, .type = LAUNCH_BF16},
    {"shared keys, padding, dropout", 2, 32, 8, 2048, 2048, 128, true, false, .type = LAUNCH_BF16,
     .mask_by = PADDING, .ratio = 0.1f},
    {"odd lengths", 3, 2, 1, 50, 70, 8, false, false, .type = LAUNCH_BF16},
    {"odd lengths, padding", 3, 2, 1, 51, 71, 8, false, false, .type = LAUNCH_BF16, .mask_by = PADDING},
    {"positions by head", 4, 12, 12, 384, 384, 64, false, false, .type = LAUNCH_BF16,
     .mask_by = BY_HEAD | BY_QUERY | BY_KEY},
    {"all of it", 4, 12, 12, 384, 384, 64, true, false, .type = LAUNCH_BF16,
     .mask_by = BY_BATCH | BY_HEAD | BY_QUERY | BY_KEY},
};

static launch_layout lie_of(const shape *s, int64_t heads, int64_t length)
{
    int64_t width = (s->packed ? s->q_heads + 2 * s->kv_heads : heads) * s->head;
    return (launch_layout){length * width, s->head, width};
}

static dnn_attention attention_of(const shape *s)
{
    dnn_attention a = {
        .of = {.batch = s->batch,
               .q_heads = s->q_heads,
               .kv_heads = s->kv_heads,
               .q_length = s->q_length,
               .k_length = s->k_length,
               .head = s->head,
               .v_head = s->head,
               .scale = 1.0f / sqrtf((float)s->head),
               .causal = s->causal,
               .operands = s->type,
               .q_layout = lie_of(s, s->q_heads, s->q_length),
               .k_layout = lie_of(s, s->kv_heads, s->k_length),
               .v_layout = lie_of(s, s->kv_heads, s->k_length),
               .y_layout = {s->q_length * s->q_heads * s->head, s->head, s->q_heads * s->head}},
        .is_biased = s->mask_by,
        .ratio = s->ratio,
    };
    for (int i = 0; i < 4; i++)
        a.of.mask_stride[i] = s->mask_by >> i & 1;
    return a;
}

static void both_ways_are_planned(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        scene s;
        error err = ERROR_INIT;
        dnn_graph *g = NULL;
        dnn_attention a = attention_of(&shapes[i]);
        int64_t batch = 0;
        scene_begin(&s);
        if (dnn_attention_plan(&s.program, &a, &g, &err) != OK)
            fail_msg("%s, forward: %s", shapes[i].model, err.text);
        if (dnn_attention_bwd_plan(&s.program, &a, &batch, &g, &err) != OK)
            fail_msg("%s, backward: %s", shapes[i].model, err.text);
        printf("%s: %.1f MB of workspace backward, for %d of %d\n", shapes[i].model,
               (double)dnn_scratch_bytes(g) / 1e6, (int)batch, (int)shapes[i].batch);
        assert_int_equal(batch, shapes[i].batch == 64 && a.of.q_length == 1024 ? 32 : shapes[i].batch);
        scene_end(&s);
    }
}

static unsigned (*real_get)(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n,
                            void *ret);
static int n_searches; /* how often the library was asked for engines */

static unsigned get(dnn_desc d, unsigned name, unsigned type, int64_t wanted, int64_t *ret_n, void *ret)
{
    n_searches += name == DNN_HEURISTICS_RESULTS;
    return real_get(d, name, type, wanted, ret_n, ret);
}

static status enter(const backend *b, error *err)
{
    (void)b, (void)err;
    return OK;
}

/* In parts, and as one operation. */
static void plan_some(scene *s, status expected)
{
    static const char *const models[] = {"GPT-2, a part at a time", "BERT"};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t k = 0; k < COUNT_OF(models); k++) {
            dnn_graph *g = NULL;
            int64_t batch = 0;
            dnn_attention a = attention_of(&shapes[i]);
            if (strcmp(shapes[i].model, models[k]) != 0)
                continue;
            assert_int_equal(dnn_attention_plan(&s->program, &a, &g, NULL), expected);
            assert_int_equal(dnn_attention_bwd_plan(&s->program, &a, &batch, &g, NULL), expected);
        }
}

/* In two threads; then nothing is left to be searched for. */
static void what_is_asked_for_is_planned_together(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s);
    s.program.only_asks = true;
    plan_some(&s, E_UNSUPPORTED);
    s.program.only_asks = false;
    dnn_plan_asked(&s.program, 2, enter);
    real_get = api.cudnnBackendGetAttribute;
    api.cudnnBackendGetAttribute = get;
    plan_some(&s, OK);
    api.cudnnBackendGetAttribute = real_get;
    assert_int_equal(n_searches, 0);
    scene_end(&s);
}

typedef status plan_of(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err);

static status plan_backward(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err)
{
    int64_t batch;
    return dnn_attention_bwd_plan(p, a, &batch, ret, err);
}

static void expect_refusal(plan_of *plan, int arch, const dnn_attention *a, const char *why)
{
    scene s;
    error err = ERROR_INIT;
    dnn_graph *g = NULL;
    scene_begin(&s);
    s.backend.arch = arch;
    assert_int_equal(plan(&s.program, a, &g, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, why);
    scene_end(&s);
}

static void what_is_not_cudnns_is_refused(void **state)
{
    (void)state;
    static const char form[] = "cuDNN's attention is of half precision and heads of 8, 16 .. 256";
    dnn_attention a = attention_of(&shapes[0]), wide = a, odd = a, whole = a, later = a, much = a;
    dnn_attention half = a, one = a;
    wide.of.head = 264;
    odd.of.v_head = 20;
    whole.of.operands = LAUNCH_F32;
    later.of.past = 3;
    much.is_biased = true;
    much.of.batch = 4096;
    for (int i = 0; i < 4; i++)
        much.of.mask_stride[i] = 1;
    half.of.causal = false;
    half.of.k_length = 320;
    half.ratio = 0.1f;
    one.of.q_length = 1;
    expect_refusal(plan_backward, 90, &half,
                   "cuDNN's gradients beside a mask or dropout may be NaN where there are "
                   "64, 192, 320 .. keys");
    expect_refusal(plan_backward, 90, &one, "cuDNN's gradients may be NaN where there is one query");
    expect_refusal(dnn_attention_plan, 90, &wide, form);
    expect_refusal(dnn_attention_plan, 90, &odd, form);
    expect_refusal(plan_backward, 90, &whole, form);
    expect_refusal(dnn_attention_plan, 89, &a, "cuDNN's attention is not for sm_89");
    expect_refusal(plan_backward, 100, &a, "cuDNN's attention is not for sm_100");
    expect_refusal(dnn_attention_plan, 90, &later,
                   "it has keys of the past, and cuDNN's attention is used without them");
    expect_refusal(dnn_attention_plan, 90, &much, "its mask would take 6442450944 bytes as floats, more than "
                                                  "1073741824");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_planned),
        cmocka_unit_test(what_is_asked_for_is_planned_together),
        cmocka_unit_test(what_is_not_cudnns_is_refused),
    };
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
