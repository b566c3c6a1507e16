/* The unit cube and back, and what cannot be sampled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "tune/sobol.h"
#include "tune/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"adam", "[16, 16]", "true"};
static const double numbers[] = {0.001, 0.01, 4};

static const space_parameter every[] = {
    {.name = "line", .kind = SPACE_DOUBLE, .min = -2, .max = 6},
    {.name = "log", .kind = SPACE_DOUBLE, .scale = SPACE_LOG, .is_scaled = true, .min = 1e-4, .max = 1},
    {.name = "reverse", .kind = SPACE_DOUBLE, .scale = SPACE_REVERSE_LOG, .is_scaled = true, .min = 0.9, .max = 0.999},
    {.name = "whole", .kind = SPACE_INTEGER, .min = 3, .max = 6},
    {.name = "whole log", .kind = SPACE_INTEGER, .scale = SPACE_LOG, .is_scaled = true, .min = 1, .max = 1024},
    {.name = "word", .kind = SPACE_CATEGORICAL, .words = words, .n = 3},
    {.name = "number", .kind = SPACE_DISCRETE, .numbers = numbers, .n = 3},
    {.name = "number log", .kind = SPACE_DISCRETE, .scale = SPACE_LOG, .is_scaled = true, .numbers = numbers, .n = 3},
    {.name = "one", .kind = SPACE_DOUBLE, .scale = SPACE_LOG, .is_scaled = true, .min = 5, .max = 5},
};
enum { N = COUNT_OF(every) };
static const space all = {every, N};

static double value(int i, double unit)
{
    double point;
    space one = {&every[i], 1};
    space_point(&one, &unit, &point);
    return point;
}

static void scales_are_those_of_their_names(void **state)
{
    (void)state;
    assert_true(value(0, 0.25) == 0 && value(0, 0) == -2 && value(0, 1) == 6);
    assert_true(fabs(value(1, 0.5) - 0.01) <= 1e-8 && value(1, 0) == 1e-4 && value(1, 1) == 1);
    assert_true(value(2, 0) == 0.9 && value(2, 1) == 0.999 && value(2, 0.5) > 0.9505); /* denser at its end */
    assert_true(value(3, 0) == 3 && value(3, 0.249) == 3 && value(3, 0.251) == 4 && value(3, 1) == 6);
    assert_true(value(4, 0) == 1 && value(4, 1) == 1024 && fabs(value(4, 0.5) - 23) <= 1);
    assert_true(value(5, 0.33) == 0 && value(5, 0.34) == 1 && value(5, 1) == 2);
    assert_true(value(6, 0.34) == 1 && value(7, 0.34) == 1 && value(7, 0.15) == 1 && value(7, 0.1) == 0);
    assert_true(value(8, 0.7) == 5);
}

static void points_are_found_again(void **state)
{
    (void)state;
    double unit[N], point[N], middle[N], again[N], read[N];
    error err = ERROR_INIT;
    for (uint32_t i = 0; i < 200; i++) {
        for (int k = 0; k < N; k++)
            unit[k] = sobol_scrambled(1, i, k);
        space_point(&all, unit, point);
        space_unit(&all, point, middle);
        space_point(&all, middle, again);
        json_t *values = space_values(&all, point);
        assert_int_equal(space_point_of(&all, values, read, &err), OK);
        json_decref(values);
        for (int k = 0; k < N; k++) {
            assert_true(middle[k] >= 0 && middle[k] <= 1);
            assert_true(fabs(again[k] - point[k]) <= 1e-5 * fabs(point[k]));
            assert_true(read[k] == point[k]);
        }
    }
}

/* More digits than are written. */
static void many_digits_survive(void **state)
{
    (void)state;
    static const double longs[] = {0.12345678901234567, 2};
    static const char *const long_words[] = {"0.98765432109876543", "[0.12345678901234567]"};
    static const space_parameter p[] = {
        {.name = "narrow", .min = 0.30000000000000004, .max = 0.30000000000000010},
        {.name = "wide", .scale = SPACE_LOG, .is_scaled = true, .min = 1e-300, .max = 1e300},
        {.name = "number", .kind = SPACE_DISCRETE, .numbers = longs, .n = 2},
        {.name = "word", .kind = SPACE_CATEGORICAL, .words = long_words, .n = 2},
    };
    static const space s = {p, 4};
    for (int k = 0; k <= 4; k++) {
        double unit[4], point[4], again[4];
        for (int i = 0; i < 4; i++)
            unit[i] = 0.25 * k;
        space_point(&s, unit, point);
        assert_true(isfinite(point[1]) && point[1] >= 1e-300 && point[1] <= 1e300);
        json_t *values = space_values(&s, point);
        char *text = json_dumps(values, JSON_REAL_PRECISION(SPACE_DIGITS));
        json_t *read = json_loads(text, 0, NULL);
        error err = ERROR_INIT;
        if (space_point_of(&s, read, again, &err) != OK)
            fail_msg("%s", err.text);
        assert_true(fabs(again[0] - point[0]) < 1e-15);
        assert_memory_equal(again + 1, point + 1, 3 * sizeof *point);
        json_decref(read);
        free(text);
        json_decref(values);
    }
}

static void words_that_are_json_are_json(void **state)
{
    (void)state;
    double point[N] = {0, 0.5, 0.95, 4, 8, 1, 2, 0, 5};
    json_t *values = space_values(&all, point);
    assert_true(json_is_array(json_object_get(values, "word")));
    assert_int_equal(json_integer_value(json_object_get(values, "number")), 4);
    assert_true(json_is_integer(json_object_get(values, "whole")) && json_is_real(json_object_get(values, "log")));
    error err = ERROR_INIT;
    json_object_set_new(values, "whole", json_integer(7));
    assert_int_equal(space_point_of(&all, values, point, &err), E_DATA);
    assert_string_equal(err.text, "'whole' cannot be 7 in this space");
    json_decref(values);
}

static void what_cannot_be_sampled_is_refused(void **state)
{
    (void)state;
    static const char *const twice[] = {"a", "b", "a"};
    static const double same[] = {1, 1}, zero[] = {0, 1};
    static const struct {
        space_parameter p;
        const char *field, *text;
    } cases[] = {
        {{.name = "x", .min = 2, .max = 1}, "minValue", "'x' begins at 2, which is above its maxValue 1"},
        {{.name = "x", .scale = SPACE_LOG, .min = 0, .max = 1}, "minValue", "'x' begins at 0, which has no logarithm"},
        {{.name = "x", .min = 0, .max = INFINITY}, "minValue", "both must be finite"},
        {{.name = "x", .kind = SPACE_INTEGER, .min = 0, .max = 1.5}, "maxValue", "1.5 is no whole number"},
        {{.name = "x", .kind = SPACE_CATEGORICAL}, "categoricalValues", "'x' has no values to choose from"},
        {{.name = "x", .kind = SPACE_CATEGORICAL, .words = twice, .n = 3}, "categoricalValues", "the value 'a' twice"},
        {{.name = "x", .kind = SPACE_DISCRETE}, "discreteValues", "'x' has no values to choose from"},
        {{.name = "x", .kind = SPACE_DISCRETE, .numbers = same, .n = 2}, "discreteValues", "the value 1 twice"},
        {{.name = "x", .kind = SPACE_DISCRETE, .scale = SPACE_LOG, .numbers = zero, .n = 2}, "discreteValues",
         "which has no logarithm"},
        {{.name = "x", .kind = SPACE_CATEGORICAL, .is_scaled = true, .words = words, .n = 3}, "scaleType",
         "words have no scale"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *field = NULL;
        error err = ERROR_INIT;
        assert_int_equal(space_parameter_check(&cases[i].p, &field, &err), E_CONFIG);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_string_equal(field, cases[i].field);
    }
    for (int i = 0; i < N; i++) {
        const char *field = NULL;
        assert_int_equal(space_parameter_check(&every[i], &field, NULL), OK);
    }
}

/* Points of PyTorch's SobolEngine, which takes Joe's and Kuo's numbers too, in the order of its Gray code. */
static void sobol_is_joe_and_kuos(void **state)
{
    (void)state;
    static const struct {
        uint32_t i;
        int dimension;
        double value;
    } known[] = {
        {1, 0, 0.5000000000},
        {2, 1, 0.2500000000},
        {5, 2, 0.1250000000},
        {7, 5, 0.3750000000},
        {100, 8, 0.6328125000},
        {333, 12, 0.2597656250},
        {777, 18, 0.3701171875},
        {999, 30, 0.9599609375},
        {500, 37, 0.7207031250},
        {901, 52, 0.3857421875},
        {640, 53, 0.4560546875},
        {999, 63, 0.6337890625},
    };
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        uint32_t gray = known[k].i ^ known[k].i >> 1;
        assert_true(fabs(sobol_plain(gray, known[k].dimension) - known[k].value) <= 1e-9);
    }
}

static void scrambled_points_stay_even(void **state)
{
    (void)state;
    enum { POINTS = 64 };
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int d = 0; d < SOBOL_DIMENSIONS; d++) {
            uint64_t seen = 0;
            for (uint32_t i = 0; i < POINTS; i++)
                seen |= UINT64_C(1) << (int)(sobol_scrambled(seed, i, d) * POINTS);
            assert_true(seen == UINT64_MAX); /* each of 64 intervals has one */
        }
    assert_true(sobol_scrambled(1, 5, 2) != sobol_scrambled(2, 5, 2));
    assert_true(sobol_scrambled(1, 5, 2) != sobol_scrambled(1, 5, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_are_those_of_their_names), cmocka_unit_test(points_are_found_again),
        cmocka_unit_test(words_that_are_json_are_json),    cmocka_unit_test(what_cannot_be_sampled_is_refused),
        cmocka_unit_test(sobol_is_joe_and_kuos),           cmocka_unit_test(scrambled_points_stay_even),
        cmocka_unit_test(many_digits_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
