/* Histograms over steps, read from event files: what each bin has, thinned steps, and folders without any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/histograms.h"
#include "common/base/fs.h"
#include "common/store/events.h"
#include "support/folder.h"

#include <math.h>
#include <stdlib.h>

static void write_one(events *e, int64_t step, const char *tag, const float *values, size_t n)
{
    events_histogram *h = events_histogram_create();
    events_histogram_add(h, values, n);
    events_add_histogram(e, step, tag, h);
    events_histogram_destroy(&h);
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static double sum_of(const json_t *row, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += json_number_value(json_array_get(row, i));
    return sum;
}

static json_t *tell(const char *folder, const char *tag)
{
    json_t *o = NULL;
    error err = ERROR_INIT;
    assert_int_equal(histograms_tell(folder, tag, &o, &err), OK);
    return o;
}

static void nothing_is_there(void **state)
{
    (void)state;
    char *folder = folder_file("empty");
    json_t *o = tell(folder, NULL);
    assert_int_equal(json_array_size(json_object_get(o, "tags")), 0);
    assert_null(json_object_get(o, "rows"));
    json_decref(o);
    free(folder);
}

/* 3000 values between 1 and 4 and 1000 between 8 and 9: a quarter of the range is 2 wide. Buckets are a tenth wide. */
static void values_lie_where_they_were(void **state)
{
    (void)state;
    static float values[4000];
    events *e = NULL;
    error err = ERROR_INIT;
    for (int i = 0; i < 3000; i++)
        values[i] = 1 + 3 * (float)i / 2999;
    for (int i = 0; i < 1000; i++)
        values[3000 + i] = 8 + (float)i / 999;
    assert_int_equal(events_open(folder_path(), &e, &err), OK);
    events_scalar(e, 1, "loss", 1);
    write_one(e, 1, "weights/b", values, 4000);
    for (int64_t step = 1; step <= 1000; step++)
        write_one(e, step, "weights/a", values, 10);
    events_close(&e);

    json_t *o = tell(folder_path(), "weights/b"), *row = json_array_get(json_object_get(o, "rows"), 0);
    assert_int_equal(json_array_size(json_object_get(o, "tags")), 2);
    assert_string_equal(json_string_value(json_object_get(o, "tag")), "weights/b");
    assert_float_equal(number(o, "low"), 1, 1e-6);
    assert_float_equal(number(o, "high"), 9, 1e-6);
    assert_int_equal(json_array_size(row), HISTOGRAM_BINS);
    assert_float_equal(sum_of(row, 0, HISTOGRAM_BINS), 4000, 1e-6);
    assert_float_equal(sum_of(row, 0, 16), 2000, 200);
    assert_float_equal(sum_of(row, 16, 28), 1000, 300);
    assert_float_equal(sum_of(row, 48, 64), 1000, 100);
    json_decref(o);

    o = tell(folder_path(), "none of them");
    const json_t *steps = json_object_get(o, "steps");
    size_t n = json_array_size(steps);
    assert_string_equal(json_string_value(json_object_get(o, "tag")), "weights/a");
    assert_true(n >= HISTOGRAM_STEPS / 2 && n <= HISTOGRAM_STEPS);
    assert_int_equal(json_integer_value(json_array_get(steps, 0)), 1);
    int64_t apart = json_integer_value(json_array_get(steps, 1)) - 1;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(json_integer_value(json_array_get(steps, i)), 1 + (int64_t)i * apart);
    assert_float_equal(sum_of(json_array_get(json_object_get(o, "rows"), n - 1), 0, HISTOGRAM_BINS), 10, 1e-6);
    json_decref(o);
}

/* All values are one: there is a bin for them. */
static void one_value(void **state)
{
    (void)state;
    char *folder = folder_file("one");
    assert_int_equal(fs_mkdirs(folder, NULL), OK);
    static const float same[] = {0.5F, 0.5F, 0.5F};
    events *e = NULL;
    assert_int_equal(events_open(folder, &e, NULL), OK);
    write_one(e, 7, "w", same, 3);
    events_close(&e);
    json_t *o = tell(folder, "w");
    assert_float_equal(sum_of(json_array_get(json_object_get(o, "rows"), 0), 0, HISTOGRAM_BINS), 3, 1e-9);
    json_decref(o);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there),
        cmocka_unit_test(values_lie_where_they_were),
        cmocka_unit_test(one_value),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
