/* Names and values as MLflow takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "watch/track/mlflow_words.h"

#include <stdlib.h>
#include <string.h>

static void names(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"training_", "loss", "training_loss"},
        {"validation_", "f1@3 (macro)", "validation_f1_3 _macro_"},
        {"", "\xc3\xa4", "__"},
        {"", "a/b", "a/b"},
        {"", "/a", "_a"},
        {"", "a//b", "a__b"},
        {"", "a/../b", "a_.._b"},
        {"", "..", "_."},
    };
    char name[MLFLOW_NAME], longer[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(mlflow_name(cases[i][0], cases[i][1], name), cases[i][2]);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(strlen(mlflow_name("", longer, name)), MLFLOW_NAME - 1);
}

static void value_is(const char *text, size_t most, const char *wanted)
{
    char *got = mlflow_value(text, most);
    assert_string_equal(got, wanted);
    free(got);
}

static void values(void **state)
{
    (void)state;
    value_is("12345", 5, "12345");
    value_is("123456", 5, "12...");
    value_is("1\xc3\xa4" "456", 5, "1...");
}

static void parameters(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": {\"b\": 1, \"none\": null, \"is\": true}, \"l\": [1, 2], \"empty\": [], "
                               "\"s\": [{\"x\": \"w\"}, {\"x\": 0.5}], \"trackers\": [{\"uri\": \"u\"}]}";
    static const char *const wanted[][2] = {{"a.b", "1"},    {"a.is", "true"}, {"l", "[1,2]"},
                                            {"empty", "[]"}, {"s.0.x", "w"},   {"s.1.x", "0.5"}};
    json_t *config = NULL;
    assert_int_equal(json_parse(text, strlen(text), "test", E_DATA, &config, NULL), OK);
    json_t *list = mlflow_parameters(config, "trackers");
    assert_int_equal(json_array_size(list), sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(one, "key")), wanted[i][0]);
        assert_string_equal(json_string_value(json_object_get(one, "value")), wanted[i][1]);
    }
    json_decref(list);
    json_decref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(values), cmocka_unit_test(parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
