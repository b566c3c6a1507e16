/* Files of lines that grow, are cut back and written anew, and hold lines of any length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "watch/track/growth.h"

#include <stdlib.h>
#include <string.h>

typedef struct scene {
    char *dir, *path;
} scene;

static int set_up(void **state)
{
    scene *s = xcalloc(1, sizeof *s);
    assert_int_equal(fs_make_temporary("growth", &s->dir, NULL), OK);
    s->path = xasprintf("%s/lines", s->dir);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    status st = fs_remove_tree(s->dir, NULL);
    free(s->path);
    free(s->dir);
    free(s);
    return st == OK ? 0 : -1;
}

static void write_text(const scene *s, const char *text)
{
    assert_int_equal(fs_write_atomic(s->path, text, strlen(text), NULL), OK);
}

/* The steps of what follows `*place`, as "1 2 3 ". */
static void reads(const scene *s, growth_place *place, const char *steps)
{
    growth g;
    json_t *line;
    buf got = BUF_INIT;
    buf_adds(&got, "");
    assert_int_equal(growth_open(s->path, *place, &g, NULL), OK);
    for (;;) {
        assert_int_equal(growth_next(&g, &line, NULL), OK);
        if (!line)
            break;
        buf_addf(&got, "%lld ", (long long)json_integer_value(json_object_get(line, "step")));
        json_decref(line);
    }
    *place = g.place;
    growth_close(&g);
    assert_string_equal(got.data, steps);
    buf_fini(&got);
}

static void it_grows(void **state)
{
    scene *s = *state;
    growth_place place = GROWTH_BEGINNING;
    reads(s, &place, "");
    write_text(s, "{\"step\": 1}\n{\"step\": 2}\n{\"ste");
    reads(s, &place, "1 2 ");
    reads(s, &place, "");
    write_text(s, "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\nno JSON\n{\"step\": 4}\n");
    reads(s, &place, "3 4 ");
}

/* The same bytes may end another line where we left. */
static void it_is_cut_back(void **state)
{
    scene *s = *state;
    growth_place place = GROWTH_BEGINNING;
    write_text(s, "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n");
    reads(s, &place, "1 2 3 ");
    write_text(s, "{\"step\": 1}\n");
    reads(s, &place, "1 ");
    write_text(s, "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n");
    reads(s, &place, "2 3 ");
    write_text(s, "{\"step\": 2}\n{\"step\": 3}\n{\"step\": 4}\n");
    reads(s, &place, "2 3 4 ");
}

static void a_line_of_any_length(void **state)
{
    scene *s = *state;
    growth_place place = GROWTH_BEGINNING;
    buf text = BUF_INIT;
    for (int step = 1; step <= 3; step++) {
        buf_addf(&text, "{\"step\": %d, \"text\": \"", step);
        for (int i = 0; i < 3 * GROWTH_BLOCK / 4 * step; i++)
            buf_add(&text, "x", 1);
        buf_adds(&text, "\"}\n");
    }
    write_text(s, text.data);
    reads(s, &place, "1 2 3 ");
    buf_adds(&text, "{\"step\": 4}\n");
    write_text(s, text.data);
    reads(s, &place, "4 ");
    buf_fini(&text);
    json_t *last = growth_last(s->path);
    assert_int_equal(json_integer_value(json_object_get(last, "step")), 4);
    json_decref(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_cut_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_of_any_length, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
