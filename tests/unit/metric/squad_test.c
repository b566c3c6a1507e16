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

enum { ANSWERS_MOST = 8 };

static squad_score score(const json_t *c)
{
    squad_score s;
    const char *answers[ANSWERS_MOST];
    const json_t *list = json_object_get(c, "answers");
    error err = ERROR_INIT;
    for (size_t i = 0; i < json_array_size(list); i++)
        answers[i] = json_string_value(json_array_get(list, i));
    if (squad_score_of(json_string_value(json_object_get(c, "prediction")), answers, json_array_size(list), &s,
                       &err) != OK)
        fail_msg("%s", err.text);
    return s;
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
        squad_score s = score(c);
        buf normal = BUF_INIT;
        assert_int_equal(squad_normalize(prediction, &normal, NULL), OK);
        assert_string_equal(normal.data, json_string_value(json_object_get(c, "normal")));
        buf_fini(&normal);
        if (s.exact != json_is_true(json_object_get(c, "exact")) ||
            fabs(s.f1 - json_number_value(json_object_get(c, "f1"))) > 1e-12)
            fail_msg("'%s': exact %d, f1 %.17g", prediction, s.exact, s.f1);
    }
    json_decref(all);
}

static void test_bad_text(void **state)
{
    (void)state;
    squad_score s;
    error err = ERROR_INIT;
    assert_int_equal(squad_score_of("ab\xff", NULL, 0, &s, &err), E_DATA);
    assert_string_equal(err.text, "the prediction: byte 2 of 'ab\xff' is not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
