/*
 * What goes along an axis: positions of the largest, the first k and sums of whole numbers have the
 * CPU's bits; sums of floats too where a thread walks a line.
 */
#include "cuda_emu/kernel_test.h"

#include "common/base/alloc.h"
#include "cuda_emu/backend/support_both.h"

#define ARG(...) ATTR(arg_attr, .axis = __VA_ARGS__)
#define AXIS(a)  ATTR(axis_attr, .axis = a)
#define SUM(...) ATTR(cum_sum_attr, .axis = __VA_ARGS__)
#define TOP(...) ATTR(top_k_attr, .axis = __VA_ARGS__)

static void test_the_largest_stands_where_it_does_on_the_cpu(void **state)
{
    (void)state;
#define EACH_WAY(type, ...)                                                                        \
    {"first largest", OP_ARG_MAX, 1, {type(__VA_ARGS__)}, ARG(1)},                                 \
        {"last largest", OP_ARG_MAX, 1, {type(__VA_ARGS__)}, ARG(1, .last = true)},                \
        {"first least", OP_ARG_MIN, 1, {type(__VA_ARGS__)}, ARG(1, .drop_dims = true)},            \
    {                                                                                              \
        "last least", OP_ARG_MIN, 1, {type(__VA_ARGS__)}, ARG(1, .last = true)                     \
    }
    const both_case cases[] = {
        EACH_WAY(F32, 70, 5),
        EACH_WAY(F32, 3, 200),
        EACH_WAY(F32, 2, 130, 3),
        EACH_WAY(I64, 3, 300),
        EACH_WAY(I32, 2, 40, 35),
        {"hardmax", OP_HARDMAX, 1, {F32(60, 7)}, AXIS(-1)},
        {"hardmax of long lines", OP_HARDMAX, 1, {F32(2, 300, 2)}, AXIS(1)},
        {"hardmax of the first axis", OP_HARDMAX, 1, {F32(9, 40)}, AXIS(0)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

static void test_sums_are_the_cpus(void **state)
{
    (void)state;
#define EACH_SUM(type, ...)                                                                        \
    {"sum", OP_CUM_SUM, 1, {type(__VA_ARGS__)}, SUM(1)},                                           \
        {"exclusive", OP_CUM_SUM, 1, {type(__VA_ARGS__)}, SUM(1, .exclusive = true)},              \
        {"reverse", OP_CUM_SUM, 1, {type(__VA_ARGS__)}, SUM(1, .reverse = true)},                  \
    {                                                                                              \
        "both", OP_CUM_SUM, 1, {type(__VA_ARGS__)}, SUM(1, .exclusive = true, .reverse = true)     \
    }
    const both_case cases[] = {
        EACH_SUM(F32, 60, 7),
        EACH_SUM(F32, 2, 130, 40),
        EACH_SUM(I64, 2, 1100),
        EACH_SUM(I32, 2, 130, 2),
        {"sum of the first axis", OP_CUM_SUM, 1, {I32(5, 300)}, SUM(0)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

static void test_the_first_k_are_in_their_order(void **state)
{
    (void)state;
    const both_case cases[] = {
        {"of few", OP_TOP_K, 1, {F32(70, 5)}, TOP(1, .k = 2)},
        {"one of one", OP_TOP_K, 1, {F32(3, 1)}, TOP(1, .k = 1)},
        {"least of a middle axis", OP_TOP_K, 1, {F32(3, 33, 4)}, TOP(1, .k = 9, .smallest = true)},
        {"all", OP_TOP_K, 1, {I32(2, 64)}, TOP(1, .k = 64)},
        {"as many as a block sorts", OP_TOP_K, 1, {F32(1024)}, TOP(0, .k = 600)},
        {"bytes", OP_TOP_K, 1, {U8(4, 77)}, TOP(-1, .k = 30)},
        {"long lines", OP_TOP_K, 1, {F32(3, 1025)}, TOP(1, .k = 40)},
        {"one long line", OP_TOP_K, 1, {F32(1030)}, TOP(0, .k = 1, .smallest = true)},
        {"long lines apart", OP_TOP_K, 1, {I64(1, 1030, 2)}, TOP(1, .k = 1030)},
        {"long lines of int32", OP_TOP_K, 1, {I32(1040, 2)}, TOP(0, .k = 5, .smallest = true)},
        {"long lines of bytes", OP_TOP_K, 1, {U8(2, 1025)}, TOP(1, .k = 100)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_both_agree(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_the_largest_stands_where_it_does_on_the_cpu),
        KERNEL_TEST(test_sums_are_the_cpus),
        KERNEL_TEST(test_the_first_k_are_in_their_order),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
