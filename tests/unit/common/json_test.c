#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/base/json.h"
#include "support/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(const json_t *value, const char *want)
{
    char *text = json_text(value);
    assert_string_equal(text, want);
    free(text);
}

static void any_value_may_stand_at_the_top(void **state)
{
    (void)state;
    const char *const texts[] = {"{}", "[1,2.5,\"x\"]", "7", "\"s\"", "null", "true"};
    const char *const kinds[] = {"an object", "a list", "an integer",
                                 "a string",  "null",   "a boolean"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *v = NULL;
        assert_int_equal(json_parse(texts[i], strlen(texts[i]), "t", E_CONFIG, &v, NULL), OK);
        assert_text(v, texts[i]);
        assert_string_equal(json_kind(v), kinds[i]);
        json_decref(v);
    }
    assert_string_equal(json_kind(NULL), "null");
}

static void text_is_compact_and_sorted(void **state)
{
    (void)state;
    const char text[] = " { \"b\" : 0.1 , \"a\" : [ ] } ";
    json_t *v = NULL;
    assert_int_equal(json_parse(text, strlen(text), "t", E_CONFIG, &v, NULL), OK);
    assert_text(v, "{\"a\":[],\"b\":0.10000000000000001}");
    json_decref(v);
}

static void bad_text_is_refused_with_its_place(void **state)
{
    (void)state;
    const struct {
        const char *text, *place;
    } cases[] = {
        {"", "TF_CONFIG: line 1 column 0: "},
        {"{\"a\": 1,\n \"a\": 2}", "TF_CONFIG: line 2 column 4: duplicate object key"},
        {"[1, 2", "TF_CONFIG: line 1 column 5: "},
        {"{} x", "TF_CONFIG: line 1 column 4: "},
        {"{'a': 1}", "TF_CONFIG: line 1 column "},
        {"\"\xff\"", "TF_CONFIG: line 1 column "},
        {"99999999999999999999999", "TF_CONFIG: line 1 column "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *v = NULL;
        error err = ERROR_INIT;
        const char *text = cases[i].text;
        assert_int_equal(json_parse(text, strlen(text), "TF_CONFIG", E_CONFIG, &v, &err), E_CONFIG);
        assert_memory_equal(err.text, cases[i].place, strlen(cases[i].place));
        assert_true(strlen(err.text) > strlen("TF_CONFIG: line 1 column 0: "));
        assert_null(v);
    }
}

/* Thousands of open brackets end in a message, not in an overrun stack. */
static void depth_is_limited(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH);
    memset(text, '[', DEPTH);
    json_t *v = NULL;
    assert_int_equal(json_parse(text, DEPTH, "deep", E_DATA, &v, NULL), E_DATA);
    free(text);
}

static void files_keep_values_and_order(void **state)
{
    (void)state;
    char *path = folder_file("value.json");
    json_t *v = json_pack("{s:f, s:i, s:s, s:[f,f]}", "z", 0.1, "a", 7, "text", "\xc3\xa4\n",
                          "list", 1e-300, nextafter(1, 2));
    error err = ERROR_INIT;
    assert_int_equal(json_write_file(path, v, &err), OK);
    json_t *back = NULL;
    assert_int_equal(json_read_file(path, &back, &err), OK);
    assert_true(json_equal(v, back));
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, 1000, &text, &err), OK);
    assert_memory_equal(text.data, "{\n  \"z\": 0.1", 12);
    assert_int_equal(text.data[text.size - 1], '\n');
    buf_fini(&text);
    json_decref(v);
    json_decref(back);
    free(path);
}

static void bad_files_are_named(void **state)
{
    (void)state;
    char *path = folder_file("bad.json"), *absent = folder_file("absent.json");
    json_t *v = NULL;
    error err = ERROR_INIT;
    assert_int_equal(json_read_file(absent, &v, &err), E_DATA);
    assert_non_null(strstr(err.text, "absent.json': No such file or directory"));
    error_clear(&err);
    assert_int_equal(fs_write_atomic(path, NULL, 0, &err), OK);
    assert_int_equal(json_read_file(path, &v, &err), E_DATA);
    assert_non_null(strstr(err.text, "bad.json: line 1 column 0: "));
    assert_null(v);
    free(path);
    free(absent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_value_may_stand_at_the_top),
        cmocka_unit_test(text_is_compact_and_sorted),
        cmocka_unit_test(bad_text_is_refused_with_its_place),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(files_keep_values_and_order),
        cmocka_unit_test(bad_files_are_named),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
