/* What is played of cuDNN: that who breaks a rule of its descriptors hears of it. */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"

#include <string.h>

enum { N = 2, C = 8, SIDE = 4, K = 16, KERNEL = 3 };

/* One fault, that begins like this, from now on; then it is mended. */
static void expect_fault(const char *text)
{
    assert_int_equal(emu_faults(), 1);
    if (strcmp(emu_fault_text(), text) != 0)
        fail_msg("'%s', not '%s'", emu_fault_text(), text);
    emu_faults_forget();
}

static dnn_desc made(unsigned kind)
{
    dnn_desc d = NULL;
    assert_true(api_find(API_DNN)->path != NULL);
    assert_int_equal(api.cudnnBackendCreateDescriptor(kind, &d), API_SUCCESS);
    return d;
}

static unsigned set(dnn_desc d, unsigned attribute, unsigned type, int64_t n, const void *x)
{
    return api.cudnnBackendSetAttribute(d, attribute, type, n, x);
}

/* Of float32, [outer, channels, side, side]. */
static dnn_desc tensor(int64_t id, int64_t outer, int64_t channels, int64_t side)
{
    dnn_desc d = made(DNN_TENSOR);
    const int64_t sizes[] = {outer, channels, side, side};
    const int64_t strides[] = {channels * side * side, side * side, side, 1};
    set(d, DNN_TENSOR_ID, DNN_IS_INT64, 1, &id);
    set(d, DNN_TENSOR_TYPE, DNN_IS_TYPE, 1, &(unsigned){DNN_F32});
    set(d, DNN_TENSOR_ALIGNMENT, DNN_IS_INT64, 1, &(int64_t){16});
    set(d, DNN_TENSOR_SHAPE, DNN_IS_INT64, 4, sizes);
    set(d, DNN_TENSOR_STRIDES, DNN_IS_INT64, 4, strides);
    assert_int_equal(api.cudnnBackendFinalize(d), API_SUCCESS);
    return d;
}

static void destroy_all(const dnn_desc list[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(api.cudnnBackendDestroyDescriptor(list[i]), API_SUCCESS);
}

static void an_attribute_has_its_type_and_number(void **state)
{
    (void)state;
    dnn_desc d = made(DNN_TENSOR);
    const int64_t ids[] = {1, 2};
    assert_int_equal(set(d, DNN_TENSOR_ID, DNN_IS_FLOAT, 1, ids), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 906 of a descriptor of kind 17 has another type");
    assert_int_equal(set(d, DNN_TENSOR_ID, DNN_IS_INT64, 2, ids), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 906 of a descriptor of kind 17 has another number of values");
    assert_int_equal(set(d, DNN_CONV_AXES, DNN_IS_INT64, 1, ids), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 106 of a descriptor of kind 17 is not one of it");
    destroy_all(&d, 1);
}

static void what_is_needed_is_set_before_the_end(void **state)
{
    (void)state;
    dnn_desc lacks = made(DNN_CONV), done = tensor(0, N, C, SIDE);
    assert_int_equal(api.cudnnBackendFinalize(lacks), DNN_BAD_PARAM);
    expect_fault("cuDNN: a descriptor of kind 1: lacks an attribute");
    assert_int_equal(set(done, DNN_TENSOR_ID, DNN_IS_INT64, 1, &(int64_t){1}), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 906 of a descriptor of kind 17 comes too late, it is finalized");
    destroy_all((dnn_desc[]){lacks, done}, 2);
}

static void parts_are_finalized_and_of_their_kind(void **state)
{
    (void)state;
    dnn_desc op = made(DNN_OP_CONV), raw = made(DNN_TENSOR), done = tensor(0, N, C, SIDE);
    assert_int_equal(set(op, DNN_OP_CONV_X, DNN_IS_DESCRIPTOR, 1, &raw), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 704 of a descriptor of kind 10 is a descriptor that is not "
                 "finalized");
    assert_int_equal(set(op, DNN_OP_CONV_CONV, DNN_IS_DESCRIPTOR, 1, &done), DNN_BAD_PARAM);
    expect_fault("cuDNN: attribute 702 of a descriptor of kind 10 is a descriptor of another kind");
    destroy_all((dnn_desc[]){op, raw, done}, 3);
}

/* The configurations that mode A names for a convolution with a pad of 1 in front and `behind`. */
static int64_t configs_of(int64_t behind)
{
    static const int64_t ones[] = {1, 1};
    const int64_t ends[] = {behind, behind};
    dnn_desc x = tensor(0, N, C, SIDE), w = tensor(1, K, C, KERNEL), y = tensor(2, N, K, SIDE);
    dnn_desc steps = made(DNN_CONV), op = made(DNN_OP_CONV), graph = made(DNN_GRAPH);
    dnn_desc heuristics = made(DNN_HEURISTICS), none = NULL;
    int64_t n = -1;
    set(steps, DNN_CONV_TYPE, DNN_IS_TYPE, 1, &(unsigned){DNN_F32});
    set(steps, DNN_CONV_MODE, DNN_IS_CONV_MODE, 1, &(unsigned){DNN_CROSS_CORRELATION});
    set(steps, DNN_CONV_AXES, DNN_IS_INT64, 1, &(int64_t){2});
    set(steps, DNN_CONV_PADS_BEGIN, DNN_IS_INT64, 2, ones);
    set(steps, DNN_CONV_PADS_END, DNN_IS_INT64, 2, ends);
    set(steps, DNN_CONV_STRIDES, DNN_IS_INT64, 2, ones);
    set(steps, DNN_CONV_DILATIONS, DNN_IS_INT64, 2, ones);
    assert_int_equal(api.cudnnBackendFinalize(steps), API_SUCCESS);
    set(op, DNN_OP_CONV_CONV, DNN_IS_DESCRIPTOR, 1, &steps);
    set(op, DNN_OP_CONV_X, DNN_IS_DESCRIPTOR, 1, &x);
    set(op, DNN_OP_CONV_W, DNN_IS_DESCRIPTOR, 1, &w);
    set(op, DNN_OP_CONV_Y, DNN_IS_DESCRIPTOR, 1, &y);
    set(op, DNN_OP_CONV_ALPHA, DNN_IS_FLOAT, 1, &(float){1.0f});
    set(op, DNN_OP_CONV_BETA, DNN_IS_FLOAT, 1, &(float){0.0f});
    assert_int_equal(api.cudnnBackendFinalize(op), API_SUCCESS);
    set(graph, DNN_GRAPH_OPERATIONS, DNN_IS_DESCRIPTOR, 1, &op);
    assert_int_equal(api.cudnnBackendFinalize(graph), API_SUCCESS);
    set(heuristics, DNN_HEURISTICS_GRAPH, DNN_IS_DESCRIPTOR, 1, &graph);
    set(heuristics, DNN_HEURISTICS_MODE, DNN_IS_HEURISTICS_MODE, 1, &(unsigned){DNN_MODE_A});
    assert_int_equal(api.cudnnBackendFinalize(heuristics), API_SUCCESS);
    api.cudnnBackendGetAttribute(heuristics, DNN_HEURISTICS_RESULTS, DNN_IS_DESCRIPTOR, 0, &n,
                                 &none);
    destroy_all((dnn_desc[]){x, w, y, steps, op, graph, heuristics}, 7);
    return n;
}

static void positions_follow_from_pads(void **state)
{
    (void)state;
    assert_true(configs_of(1) > 0);
    assert_int_equal(configs_of(0), 0);
    expect_fault("cuDNN: positions of y that do not follow from those of x");
}

static void everything_is_destroyed_in_the_end(void **state)
{
    (void)state;
    dnn_handle first = NULL;
    dnn_desc d = made(DNN_PACK);
    assert_int_equal(api.cudnnCreate(&first), API_SUCCESS);
    api.cudnnDestroy(first);
    expect_fault("cuDNN: the last handle goes, and 1 descriptors were not destroyed");
    destroy_all(&d, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(an_attribute_has_its_type_and_number),
        KERNEL_TEST(what_is_needed_is_set_before_the_end),
        KERNEL_TEST(parts_are_finalized_and_of_their_kind),
        KERNEL_TEST(positions_follow_from_pads),
        KERNEL_TEST(everything_is_destroyed_in_the_end),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
