/* SQuAD's exact match and F1 against the official script's definitions (tests/golden/make_squad.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "metric/squad.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS_MOST = 8, PARTS = 4 };

static void add_case(squad_scores *s, const json_t *c)
{
    const char *answers[ANSWERS_MOST];
    const json_t *list = json_object_get(c, "answers");
    error err = ERROR_INIT;
    for (size_t i = 0; i < json_array_size(list); i++)
        answers[i] = json_string_value(json_array_get(list, i));
    if (squad_add(s, json_string_value(json_object_get(c, "prediction")), answers, json_array_size(list), &err) != OK)
        fail_msg("%s", err.text);
}

static json_t *cases(void)
{
    json_t *ret = NULL;
    const char *other = getenv("SQUAD_CASES"); /* of make_squad.py FILE */
    assert_int_equal(json_read_file(other ? other : TEST_DATA_DIR "/squad.json", &ret, NULL), OK);
    assert_true(json_array_size(ret) > 0);
    return ret;
}

static void test_golden(void **state)
{
    (void)state;
    json_t *all = cases();
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *c = json_array_get(all, i);
        const char *prediction = json_string_value(json_object_get(c, "prediction"));
        squad_scores s = {.questions = 0};
        buf normal = BUF_INIT;
        assert_int_equal(squad_normalize(prediction, &normal, NULL), OK);
        assert_string_equal(normal.data, json_string_value(json_object_get(c, "normal")));
        buf_fini(&normal);
        add_case(&s, c);
        if (squad_exact_match(&s) != (double)json_is_true(json_object_get(c, "exact")) ||
            fabs(squad_f1(&s) - json_number_value(json_object_get(c, "f1"))) > 1e-12)
            fail_msg("'%s': exact %g, f1 %.17g", prediction, squad_exact_match(&s), squad_f1(&s));
    }
    json_decref(all);
}

static void test_parts_merge_to_the_bit(void **state)
{
    (void)state;
    json_t *all = cases();
    squad_scores whole = {.questions = 0}, parts[PARTS] = {{.questions = 0}};
    for (size_t i = json_array_size(all); i-- > 0;)
        add_case(&whole, json_array_get(all, i));
    for (size_t i = 0; i < json_array_size(all); i++)
        add_case(&parts[i * i % PARTS], json_array_get(all, i));
    for (int i = PARTS - 1; i > 0; i--)
        squad_merge(&parts[0], &parts[i]);
    exact_sum_normalize(&whole.f1);
    assert_memory_equal(&whole, &parts[0], sizeof whole);
    json_decref(all);
}

static void test_nothing_scored_and_bad_text(void **state)
{
    (void)state;
    squad_scores s = {.questions = 0};
    error err = ERROR_INIT;
    assert_true(isnan(squad_exact_match(&s)) && isnan(squad_f1(&s)));
    assert_int_equal(squad_add(&s, "ab\xff", NULL, 0, &err), E_DATA);
    assert_string_equal(err.text, "the prediction: byte 2 of 'ab\xff' is not UTF-8");
    assert_int_equal(s.questions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_parts_merge_to_the_bit),
        cmocka_unit_test(test_nothing_scored_and_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
