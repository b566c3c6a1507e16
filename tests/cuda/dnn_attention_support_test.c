/* Whether the cuDNN that is installed plans the attention of the examples' models, both ways. */
#include "support_dnn.h"

#include "backend/cuda/library/dnn_attention.h"
#include "common/base/alloc.h"

#include <math.h>
#include <stdbool.h>

/* Packed: queries, keys and values of a position side by side. */
typedef struct shape {
    const char *model;
    int64_t batch, q_heads, kv_heads, q_length, k_length, head;
    bool causal, packed;
    launch_type type;
} shape;

static const shape shapes[] = {
    {"tiny-shakespeare", 4, 6, 6, 256, 256, 64, true, true, LAUNCH_BF16},
    {"GPT-2", 32, 12, 12, 1024, 1024, 64, true, true, LAUNCH_BF16},
    {"GPT-2", 32, 12, 12, 1024, 1024, 64, true, true, LAUNCH_F16},
    {"BERT", 16, 12, 12, 384, 384, 64, false, false, LAUNCH_BF16},
    {"shared keys", 2, 32, 8, 2048, 2048, 128, true, false, LAUNCH_BF16},
    {"odd lengths", 3, 2, 1, 50, 70, 8, false, false, LAUNCH_BF16},
};

static launch_layout lie_of(const shape *s, int64_t heads, int64_t length)
{
    int64_t width = (s->packed ? s->q_heads + 2 * s->kv_heads : heads) * s->head;
    return (launch_layout){length * width, s->head, width};
}

static launch_attention attention_of(const shape *s)
{
    return (launch_attention){
        .batch = s->batch,
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
        .y_layout = {s->q_length * s->q_heads * s->head, s->head, s->q_heads * s->head},
    };
}

static void both_ways_are_planned(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        scene s;
        error err = ERROR_INIT;
        dnn_graph *g = NULL;
        launch_attention t = attention_of(&shapes[i]);
        scene_begin(&s);
        if (dnn_attention_plan(&s.program, &t, &g, &err) != OK)
            fail_msg("%s, forward: %s", shapes[i].model, err.text);
        if (dnn_attention_bwd_plan(&s.program, &t, &g, &err) != OK)
            fail_msg("%s, backward: %s", shapes[i].model, err.text);
        scene_end(&s);
    }
}

typedef status plan_of(backend_program *p, const launch_attention *t, dnn_graph **ret, error *err);

static void expect_refusal(plan_of *plan, int arch, const launch_attention *t, const char *why)
{
    scene s;
    error err = ERROR_INIT;
    dnn_graph *g = NULL;
    scene_begin(&s);
    s.backend.arch = arch;
    assert_int_equal(plan(&s.program, t, &g, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, why);
    scene_end(&s);
}

static void what_is_not_cudnns_is_refused(void **state)
{
    (void)state;
    static const char form[] = "cuDNN's attention is of half precision and heads of 8, 16 .. 128";
    launch_attention t = attention_of(&shapes[0]), wide = t, odd = t, whole = t;
    wide.head = 136;
    odd.v_head = 20;
    whole.operands = LAUNCH_F32;
    expect_refusal(dnn_attention_plan, 90, &wide, form);
    expect_refusal(dnn_attention_plan, 90, &odd, form);
    expect_refusal(dnn_attention_bwd_plan, 90, &whole, form);
    expect_refusal(dnn_attention_plan, 89, &t, "cuDNN's attention is not for sm_89");
    expect_refusal(dnn_attention_bwd_plan, 100, &t, "cuDNN's attention is not for sm_100");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_planned),
        cmocka_unit_test(what_is_not_cudnns_is_refused),
    };
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
