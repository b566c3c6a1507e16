/*
 * What is picked and put by index: the CPU's bits, whatever the shapes, and whoever names a place
 * that is not there is told.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/backend/support_both.h"

#include <string.h>

#define GATHER_(a) ATTR(gather_attr, .axis = a)
#define BACK(a, ...)                                                                               \
    ATTR(gather_attr, .axis = a, .x = {sizeof((int64_t[]){__VA_ARGS__}) / 8, {__VA_ARGS__}})
#define ALONG(a, r) ATTR(index_attr, .axis = a, .reduction = SCATTER_##r)
#define BATCH(b, r) ATTR(index_attr, .batch_dims = b, .reduction = SCATTER_##r)

static void test_rows_are_those_the_indices_name(void **state)
{
    (void)state;
    const both_case cases[] = {
        {"an embedding", OP_GATHER, 2, {F32(7, 4), I64(2, 3)}, GATHER_(0)},
        {"a wide table", OP_GATHER, 2, {F32(7, 1030), I32(5)}, GATHER_(0)},
        {"odd rows", OP_GATHER, 2, {F32(70, 37), I32(41)}, GATHER_(0)},
        {"a middle axis", OP_GATHER, 2, {F32(3, 5, 2), I64(2, 3)}, GATHER_(1)},
        {"whole numbers", OP_GATHER, 2, {I64(6, 5), I32(2, 3)}, GATHER_(1)},
        {"bits", OP_GATHER, 2, {BOOL(5, 3), I64(700)}, GATHER_(0)},
        {"one place", OP_GATHER, 2, {F32(5, 3), {DT_I64, {0}, NULL}}, GATHER_(0)},
        {"elements", OP_GATHER_ELEMENTS, 2, {F32(6, 7, 5), I64(6, 300, 4)}, ALONG(1, SET)},
        {"elements, bits", OP_GATHER_ELEMENTS, 2, {BOOL(9), I32(40)}, ALONG(0, SET)},
        {"parts", OP_GATHER_ND, 2, {I32(4, 5, 3), I64(2, 3, 2)}, BATCH(0, SET)},
        {"parts of a batch", OP_GATHER_ND, 2, {F32(2, 3, 4, 5), I64(2, 3, 2)}, BATCH(2, SET)},
        {"one part", OP_GATHER_ND, 2, {F32(3, 4, 66), I32(2)}, BATCH(0, SET)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

static void test_gradients_are_added_in_the_order_of_the_indices(void **state)
{
    (void)state;
    const both_case cases[] = {
        {"few rows", OP_GATHER_BWD, 2, {F32(300, 6), I64(300)}, BACK(0, 5, 6)},
        {"one row", OP_GATHER_BWD, 2, {F32(9, 300), I64(9)}, BACK(0, 1, 300)},
        {"onto a base", OP_GATHER_BWD, 3, {F32(40, 33), I32(40), F32(70, 33)}, BACK(0, 70, 33)},
        {"many of many", OP_GATHER_BWD, 2, {F32(4200, 2), I32(4200)}, BACK(0, 700, 2)},
        {"columns", OP_GATHER_BWD, 2, {F32(5, 50, 3), I64(50)}, BACK(1, 5, 9, 3)},
        {"a vector", OP_GATHER_BWD, 2, {F32(2, 30), I64(2, 30)}, BACK(0, 13)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

static void test_what_is_put_is_combined_in_that_order(void **state)
{
    (void)state;
#define EACH_REDUCTION(type)                                                                       \
    {"set " #type, OP_SCATTER_ND, 3, {type(4, 5), I64(20, 1), type(20, 5)}, BATCH(0, SET)},        \
        {"add " #type, OP_SCATTER_ND, 3, {type(4, 5), I64(20, 1), type(20, 5)}, BATCH(0, ADD)},    \
        {"mul " #type, OP_SCATTER_ND, 3, {type(4, 5), I64(20, 1), type(20, 5)}, BATCH(0, MUL)},    \
        {"max " #type, OP_SCATTER_ND, 3, {type(4, 5), I64(20, 1), type(20, 5)}, BATCH(0, MAX)},    \
    {                                                                                              \
        "min " #type, OP_SCATTER_ND, 3, {type(4, 5), I64(20, 1), type(20, 5)}, BATCH(0, MIN)       \
    }
    const both_case cases[] = {
        EACH_REDUCTION(F32),
        EACH_REDUCTION(I64),
        EACH_REDUCTION(I32),
        {"bits", OP_SCATTER_ELEMENTS, 3, {BOOL(5, 3), I32(9, 3), BOOL(9, 3)}, ALONG(0, SET)},
        {"of a batch", OP_SCATTER_ND, 3, {F32(4, 5), I64(4, 9, 1), F32(4, 9)}, BATCH(1, ADD)},
        {"elements", OP_SCATTER_ELEMENTS, 3, {F32(3, 40), I64(2, 700), F32(2, 700)}, ALONG(1, ADD)},
        {"rows", OP_SCATTER_ELEMENTS, 3, {F32(5, 40), I32(50, 3), F32(50, 3)}, ALONG(0, SET)},
        {"by two", OP_SCATTER_ND, 3, {F32(3, 4, 5), I64(6, 2), F32(6, 5)}, BATCH(0, MIN)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

static void test_rows_with_many_picks_are_added_in_segments(void **state)
{
    (void)state;
#define SOME_OFTEN(type, r)                                                                        \
    {"often " #r, OP_SCATTER_ND, 3,                                                                \
     {type(8, 3), NAMING(PICKS(100, 140), 240, 1), type(240, 3)}, BATCH(0, r)}
    const both_case cases[] = {
        {"a segment and a pick", OP_GATHER_BWD, 2, {F32(65, 5), NAMING(PICKS(65), 65)}, BACK(0, 8, 5)},
        {"wide rows onto a base", OP_GATHER_BWD, 3,
         {F32(273, 35), NAMING(PICKS(66, 3, 70, 0, 134), 273), F32(8, 35)}, BACK(0, 8, 35)},
        {"columns", OP_GATHER_BWD, 2, {F32(3, 329, 2), NAMING(PICKS(65, 0, 200, 64), 329)},
         BACK(1, 3, 8, 2)},
        SOME_OFTEN(F32, SET), SOME_OFTEN(F32, ADD), SOME_OFTEN(F32, MUL), SOME_OFTEN(I64, MAX),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

/* Which most picks are of: more segments than a block joins at a time. */
static void test_a_row_of_padding_has_the_bits_of_any_number_of_threads(void **state)
{
    (void)state;
    const both_case c = {"", OP_GATHER_BWD, 2,
                         {F32(10322, 1), NAMING(PICKS(1, 63, 64, 65, 10000, 0, 129), 10322)},
                         BACK(0, 8, 1)};
    const both_case wide = {"", OP_GATHER_BWD, 2,
                            {F32(300, 150), NAMING(PICKS(1, 63, 0, 236), 300)}, BACK(0, 8, 150)};
    for (int threads = 1; threads <= 2; threads++)
        assert_both_agree_on(&c, threads);
    assert_both_agree_on(&wide, 2);
}

/* A place that is not there, at number `at` of the operand that names places. */
static void spoil(const both_case *c, const graph *g, exec *e, int64_t at, int64_t bad)
{
    char name[] = "0";
    while (c->in[*name - '0'].type != DT_I64)
        ++*name;
    both_fill(c, g, e);
    ((int64_t *)exec_input(e, 0, name, NULL))[at] = bad;
}

static void expect_fault(const both_case *c, int64_t at, int64_t bad, const char *text)
{
    error err = ERROR_INIT;
    graph *g = both_graph(c, false);
    exec *gpu = both_engine(&backend_cuda, g, NULL);
    spoil(c, g, gpu, at, bad);
    assert_int_equal(exec_run(gpu, 0, NULL, &err), E_DATA);
    assert_string_equal(err.text, text);
    error_clear(&err);
    both_fill(c, g, gpu);
    must(exec_run(gpu, 0, NULL, &err), &err);
    exec_destroy(&gpu);
    graph_destroy(&g);
}

static void test_a_place_that_is_not_there_is_named(void **state)
{
    (void)state;
    const both_case gather = {"", OP_GATHER, 2, {F32(7, 40), I64(2, 3)}, GATHER_(0)};
    const char *text = "y: number 4 of '1' is outside -7..6";
    expect_fault(&gather, 4, 7, text);
    expect_fault(&gather, 4, -8, text);
    expect_fault(&gather, 4, INT64_MAX, text);
    expect_fault(&gather, 4, INT64_MIN, text);
    const both_case parts = {"", OP_GATHER_ND, 2, {F32(7, 3, 2), I64(6, 2)}, BATCH(0, SET)};
    expect_fault(&parts, 4, 7, "y: number 4 of '1' is outside -7..6");
    expect_fault(&parts, 7, 3, "y: number 7 of '1' is outside -3..2");
    const both_case put = {"", OP_SCATTER_ND, 3, {F32(5, 3), I64(4, 1), F32(4, 3)}, BATCH(0, ADD)};
    expect_fault(&put, 2, -6, "y: number 2 of '1' is outside -5..4");
    const both_case back = {"", OP_GATHER_BWD, 2, {F32(3, 9), I64(3)}, BACK(0, 5, 9)};
    expect_fault(&back, 1, 5, "y: number 1 of '1' is outside -5..4");
    const both_case regions = {"", OP_ROI_ALIGN, 3,
                               {F32(2, 5, 7, 6), F32(3, 4), NAMING(PICKS(2, 1), 3)},
                               ATTR(roi_attr, .rows = 3, .columns = 4, .ratio = 2, .scale = 0.5f)};
    expect_fault(&regions, 1, 2, "y: number 1 of '2' is outside 0..1");
    expect_fault(&regions, 2, -1, "y: number 2 of '2' is outside 0..1");
}

static void test_reductions_of_bytes_are_refused_as_on_the_cpu(void **state)
{
    (void)state;
    const both_case c = {"", OP_SCATTER_ND, 3, {BOOL(5), I64(4, 1), BOOL(4)}, BATCH(0, ADD)};
    const backend_ops *both[] = {&backend_cpu, &backend_cuda};
    graph *g = both_graph(&c, false);
    for (int i = 0; i < 2; i++) {
        error err = ERROR_INIT;
        exec *e = NULL;
        exec_options o = {.backend = both[i],
                          .device = {.threads = 1},
                          .graphs = (const graph *const[]){g},
                          .n_graphs = 1};
        assert_int_equal(exec_create(&o, &e, &err), E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "y (ScatterND): a reduction in bool, known are float32, "
                                         "int32 and int64"));
        error_clear(&err);
    }
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_rows_are_those_the_indices_name),
        KERNEL_TEST(test_gradients_are_added_in_the_order_of_the_indices),
        KERNEL_TEST(test_what_is_put_is_combined_in_that_order),
        KERNEL_TEST(test_rows_with_many_picks_are_added_in_segments),
        KERNEL_TEST(test_a_row_of_padding_has_the_bits_of_any_number_of_threads),
        KERNEL_TEST(test_a_place_that_is_not_there_is_named),
        KERNEL_TEST(test_reductions_of_bytes_are_refused_as_on_the_cpu),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
