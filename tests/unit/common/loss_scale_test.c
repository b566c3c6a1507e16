/*
 * The loss scale against PyTorch's GradScaler (data/loss_scale.json, made by
 * tests/golden/make_loss_scale.py), at its bounds, as a number, and in the manifest of a
 * checkpoint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/parts/loss_scale.h"
#include "common/store/manifest.h"
#include "unit/common/support_checkpoint.h"
#include "support/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- PyTorch --- */

static int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void expect_state(const json_t *state, loss_scale s)
{
    assert_int_equal(json_integer_value(json_array_get(state, 0)), s.exponent);
    assert_int_equal(json_integer_value(json_array_get(state, 1)), s.good);
}

static void play_case(const json_t *c)
{
    loss_scale_rule rule = {.dynamic = true,
                            .start = (uint8_t)number(c, "start"),
                            .window = (uint32_t)number(c, "window")};
    const char *steps = json_string_value(json_object_get(c, "steps"));
    const json_t *states = json_object_get(c, "states"), *moved = json_object_get(c, "moved");
    loss_scale s = loss_scale_first(&rule);
    uint32_t skipped = 0;
    for (size_t i = 0; steps[i]; i++) {
        bool skip = steps[i] == 'x';
        expect_state(json_array_get(states, i), s);
        assert_int_equal(json_is_true(json_array_get(moved, i)), !skip);
        assert_true(!skip || loss_scale_can_fall(&rule, s));
        s = loss_scale_next(&rule, s, skip);
        assert_int_equal(s.skipped, skipped += skip);
    }
    expect_state(json_array_get(states, strlen(steps)), s);
}

static void test_pytorch(void **state)
{
    (void)state;
    json_t *file = NULL, *c;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/loss_scale.json", &file, &err) != OK)
        fail_msg("%s", err.text);
    assert_true(json_array_size(file) > 5);
    size_t i;
    json_array_foreach(file, i, c) play_case(c);
    json_decref(file);
}

/* --- bounds --- */

static void test_the_lowest(void **state)
{
    (void)state;
    const loss_scale_rule rule = {.dynamic = true, .start = 1, .window = 9};
    loss_scale s = loss_scale_next(&rule, loss_scale_first(&rule), true);
    assert_int_equal(s.exponent, 0);
    assert_false(loss_scale_can_fall(&rule, s));
    assert_true(loss_scale_factor(s) == 1.0f);
    assert_int_equal(loss_scale_next(&rule, s, true).exponent, 0);
}

static void test_the_highest(void **state)
{
    (void)state;
    const loss_scale_rule rule = {.dynamic = true, .start = LOSS_SCALE_MOST - 1, .window = 2};
    loss_scale s = loss_scale_first(&rule);
    for (int i = 0; i < 7; i++)
        s = loss_scale_next(&rule, s, false);
    assert_int_equal(s.exponent, LOSS_SCALE_MOST);
    assert_int_equal(s.good, 1);
}

static void test_a_fixed_one_stays(void **state)
{
    (void)state;
    const loss_scale_rule rule = {.start = 10};
    loss_scale s = loss_scale_first(&rule);
    assert_false(loss_scale_can_fall(&rule, s));
    for (int i = 0; i < 9; i++)
        s = loss_scale_next(&rule, s, i % 2);
    assert_true(loss_scale_equal(s, loss_scale_first(&rule)));
    assert_true(loss_scale_factor(s) == 1024.0f);
}

static void test_factors_are_powers_of_two(void **state)
{
    (void)state;
    for (int e = 0; e <= LOSS_SCALE_MOST; e++) {
        loss_scale s = {.exponent = (uint8_t)e};
        assert_true(loss_scale_factor(s) == ldexpf(1, e));
        assert_true(loss_scale_inverse(s) == ldexpf(1, -e));
        assert_true(isnormal(loss_scale_inverse(s)));
    }
}

/* --- as bytes --- */

static void test_as_a_number(void **state)
{
    (void)state;
    const loss_scale some[] = {
        {0}, {16, 1999, 3}, {LOSS_SCALE_MOST, LOSS_SCALE_WINDOW_MOST, UINT32_MAX}};
    for (size_t i = 0; i < 3; i++) {
        loss_scale back = {99, 99, 99};
        assert_true(loss_scale_unpack(loss_scale_pack(some[i]), &back));
        assert_int_equal(back.exponent, some[i].exponent);
        assert_int_equal(back.good, some[i].good);
        assert_int_equal(back.skipped, some[i].skipped);
    }
    loss_scale untouched = {7, 8, 9};
    assert_false(loss_scale_unpack(LOSS_SCALE_MOST + 1, &untouched));
    assert_false(loss_scale_unpack(UINT64_MAX, &untouched));
    assert_int_equal(untouched.exponent, 7);
    assert_true(loss_scale_pack((loss_scale){0}) == 0);
}

static status write_and_read(const manifest *m, manifest *ret, error *err)
{
    char *path = folder_file("manifest.json");
    status st = manifest_write(m, path, err);
    if (st == OK)
        st = manifest_read(path, ret, err);
    free(path);
    return st;
}

static void test_in_a_manifest(void **state)
{
    (void)state;
    jobdir *dir = NULL;
    error err = ERROR_INIT;
    char *path = folder_file("job");
    assert_int_equal(jobdir_open(path, &dir, NULL), OK);
    trained t = trained_make(100, 1);
    manifest m, read;
    assert_int_equal(trained_write_shards(&t, dir, (trained_save){7, 1, 1, 2}, &m, &err), OK);
    assert_int_equal(write_and_read(&m, &read, &err), OK);
    assert_false(read.scales);
    manifest_fini(&read);
    m.scales = true;
    m.scale = (loss_scale){17, 12, 3};
    assert_int_equal(write_and_read(&m, &read, &err), OK);
    assert_true(read.scales && loss_scale_equal(read.scale, m.scale));
    manifest_fini(&read);
    m.scale.exponent = LOSS_SCALE_MOST + 1;
    assert_int_equal(write_and_read(&m, &read, &err), E_DATA);
    assert_non_null(strstr(err.text, "loss_scale: 'exponent' must be an integer of 0 to 126"));
    manifest_fini(&m);
    trained_fini(&t);
    jobdir_close(&dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_the_lowest),
        cmocka_unit_test(test_the_highest),
        cmocka_unit_test(test_a_fixed_one_stays),
        cmocka_unit_test(test_factors_are_powers_of_two),
        cmocka_unit_test(test_as_a_number),
        cmocka_unit_test_setup_teardown(test_in_a_manifest, folder_set_up, folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
