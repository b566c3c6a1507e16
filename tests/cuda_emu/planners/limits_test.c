/* What kernels cannot count is refused when a model is loaded, in words. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "cuda_emu/planners/support_engine.h"
#include "graph/attrs.h"
#include "support/window_attrs.h"

#include <stdio.h>
#include <string.h>

#define G2 (INT64_C(1) << 31)

enum { IN = 3 };

static const struct refusal {
    graph_op op;
    const void *attr;
    int n_in;
    graph_shape in[IN];
    dtype second; /* of in[1] */
    const char *text;
} refusals[] = {
    {OP_TOP_K,
     &(top_k_attr){.axis = 1, .k = 1},
     1,
     {{2, {3, G2}}},
     0,
     "the GPU has no kernel for y (TopK): an order of more than 2^32 elements"},
    {OP_TOP_K,
     &(top_k_attr){.axis = 1, .k = 1},
     1,
     {{2, {G2, 1}}},
     0,
     "the GPU has no kernel for y (TopK): orders of more than 2^31 lines"},
    {OP_PAD,
     &(pad_attr){.pads = {0, 0, 0, 1}},
     1,
     {{2, {2, G2}}},
     0,
     "the GPU has no kernel for y (Pad): padding of more than 2^31 elements of one example"},
    {OP_MAX_POOL,
     &POOL_ATTR(.kernel = {9, 9}, .strides = {1, 1}, .dilations = {1, 1}),
     1,
     {{4, {G2, 8, 10, 10}}},
     0,
     "the GPU has no kernel for y (MaxPool): 68719476736 windows are too many for one kernel"},
    {OP_MAX_POOL,
     &POOL_ATTR(.kernel = {1}, .strides = {1}, .dilations = {1}),
     1,
     {{3, {1, 1, G2}}},
     0,
     "the GPU has no kernel for y (MaxPool): spatial axis 0 of 2147483648 under a window of 1 is "
     "too large for 32 bits"},
    {OP_ATTENTION,
     &(attention_attr){0},
     3,
     {{4, {G2, 1, 1, 8}}, {4, {G2, 1, 1, 8}}, {4, {G2, 1, 1, 8}}},
     DT_F32,
     "the GPU has no kernel for y (Attention): 2147483648 queries and 2147483648 keys of 8 and 8 "
     "numbers; at most 2^31 of 65536 can be"},
    {OP_GATHER_BWD,
     &(gather_attr){.x = {2, {5, 1}}},
     2,
     {{2, {2 * G2, 1}}, {1, {2 * G2}}},
     DT_I64,
     "the GPU has no kernel for y (GatherBwd): more than 2^32 positions or indices"},
    {OP_CONV,
     &CONV_ATTR(.pads = {1, 1}),
     2,
     {{3, {G2, 1, 1}}, {3, {1, 1, 3}}},
     DT_F32,
     "the GPU has no kernel for y (Conv): 2147483648 positions are too many for its kernels, which "
     "count to 2147482624"},
};

static void check(const struct refusal *r)
{
    static const char *const names[] = {"in0", "in1", "in2"};
    error err = ERROR_INIT;
    graph *g = NULL;
    exec *e = NULL;
    graph_val in[IN], out[3];
    must(graph_create(&g, &err), &err);
    for (int i = 0; i < r->n_in; i++)
        must(graph_input(g, names[i], i == 1 ? r->second : DT_F32, r->in[i], &in[i], &err), &err);
    must(graph_add(g, r->op, "y", in, r->n_in, r->attr, out, &err), &err);
    graph_keep(g, out[0]);
    exec_options o = {.backend = &backend_cuda, .graphs = (const graph *const[]){g}, .n_graphs = 1};
    assert_int_equal(exec_create(&o, &e, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, r->text);
    error_clear(&err);
    graph_destroy(&g);
}

static void too_large_a_tensor_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        check(&refusals[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(too_large_a_tensor_is_refused)};
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
