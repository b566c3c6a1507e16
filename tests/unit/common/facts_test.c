/* Facts: what is compared, what is not, and how they go into a file and out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/store/facts.h"

#include <string.h>

static const char *here = "train_data_path.examples=400\ntrain_data_path.sampled_sha256=ab\n";

static void check_differ(const char *there, const char *text)
{
    buf what = BUF_INIT;
    assert_int_equal(facts_differ(here, there, &what), text != NULL);
    assert_int_equal(facts_differ(here, there, NULL), text != NULL);
    assert_string_equal(what.data ? what.data : "", text ? text : "");
    buf_fini(&what);
}

static void test_keys_of_both_are_compared(void **state)
{
    (void)state;
    check_differ(here, NULL);
    check_differ("train_data_path.sampled_sha256=ab\ntrain_data_path.examples=400\n", NULL);
    check_differ("train_data_path.examples=300\ntrain_data_path.sampled_sha256=cd\n",
                 "'train_data_path.examples' is 300 there, 400 here");
    check_differ("train_data_path.sampled_sha256=abc",
                 "'train_data_path.sampled_sha256' is abc there, ab here");
    check_differ("train_data_path.sha256=ef\n", NULL);
    check_differ("", NULL);
    check_differ(NULL, NULL);
    check_differ("no key\n=\n\ntrain_data_path.examples=400", NULL);
}

static void test_values_are_one_line(void **state)
{
    (void)state;
    buf facts = BUF_INIT;
    facts_add(&facts, "train_data_path", "fields", "a\nb=1\tc");
    assert_string_equal(facts.data, "train_data_path.fields=a b=1 c\n");
    assert_false(facts_differ(facts.data, "b=2\n", NULL));
    buf_fini(&facts);
}

/* They differ where only their ends do. */
static void test_a_long_value_is_cut_and_hashed(void **state)
{
    (void)state;
    char one[4001], other[4001];
    buf ours = BUF_INIT, theirs = BUF_INIT;
    memset(one, 'x', sizeof one);
    one[4000] = '\0';
    strcpy(other, one);
    other[3999] = 'y';
    facts_add(&ours, "train_data_path", "fields", one);
    facts_add(&theirs, "train_data_path", "fields", other);
    assert_true(ours.size < 700);
    assert_true(facts_differ(ours.data, theirs.data, NULL));
    assert_false(facts_differ(ours.data, ours.data, NULL));
    buf_fini(&ours);
    buf_fini(&theirs);
}

static void test_merging_keeps_what_is_there(void **state)
{
    (void)state;
    buf facts = BUF_INIT;
    assert_true(facts_merge(&facts, "a=1\nb=2\n"));
    assert_false(facts_merge(&facts, "b=3\n"));
    assert_false(facts_merge(&facts, NULL));
    assert_true(facts_merge(&facts, "b=3\nc=4"));
    assert_string_equal(facts.data, "a=1\nb=2\nc=4\n");
    buf_fini(&facts);
}

static void test_json_and_back(void **state)
{
    (void)state;
    json_t *o = facts_to_json(here);
    buf facts = BUF_INIT;
    assert_string_equal(json_string_value(json_object_get(o, "train_data_path.examples")), "400");
    json_object_set_new(o, "odd", json_integer(1));
    facts_from_json(o, &facts);
    assert_string_equal(facts.data, here);
    facts_from_json(NULL, &facts);
    facts_from_json(json_null(), &facts);
    assert_string_equal(facts.data, here);
    json_decref(o);
    buf_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_both_are_compared),
        cmocka_unit_test(test_values_are_one_line),
        cmocka_unit_test(test_a_long_value_is_cut_and_hashed),
        cmocka_unit_test(test_merging_keeps_what_is_there),
        cmocka_unit_test(test_json_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
