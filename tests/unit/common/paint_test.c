/* Colours: what of a line has which, and that the text is the same without. */
#include "common/base/paint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIME "15:08:15.503 "

/* The text without its escape sequences. */
static void strip(const buf *painted, buf *ret)
{
    for (size_t i = 0; i < painted->size; i++)
        if (painted->data[i] == '\033')
            i += strcspn(painted->data + i, "m");
        else
            buf_add(ret, painted->data + i, 1);
}

static void expect_line(const char *line, const char *painted)
{
    buf got = BUF_INIT, text = BUF_INIT;
    paint_line(line, strlen(line), &got);
    assert_string_equal(got.data, painted);
    strip(&got, &text);
    assert_string_equal(text.data, line);
    buf_fini(&text);
    buf_fini(&got);
}

static void lines_of_the_log_are_painted(void **state)
{
    (void)state;
    expect_line(TIME "master.0 info JOB steps=7\n",
                "\033[2m" TIME "master.0 \033[0minfo \033[1mJOB \033[0msteps=7\n");
    expect_line(TIME "ps.1 warn DISK why=full\n",
                "\033[2m" TIME "ps.1 \033[0m\033[33mwarn \033[0m\033[1mDISK \033[0mwhy=full\n");
    expect_line("[worker 1] " TIME "worker.1 error LEFT code=200\n",
                "\033[2m[worker 1] " TIME "worker.1 \033[0m\033[1;31merror \033[0m\033[1mLEFT "
                "\033[0mcode=200\n");
}

static void other_lines_stay(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "progress step 7/9  loss 0.5\n",
        "tequio: worker.1 died of SIGKILL\n",
        TIME "master.0 louder JOB steps=7\n",
        TIME "master.0\n",
        TIME "\n",
        TIME,
        "15:08:15.50\n",
        "15-08-15.503 master.0 info JOB steps=7\n",
        "[worker 1]\n",
        "[worker 1",
        "[]",
        "[",
        "\n",
        "",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        buf got = BUF_INIT;
        buf_adds(&got, "");
        paint_line(lines[i], strlen(lines[i]), &got);
        assert_string_equal(got.data, lines[i]);
        buf_fini(&got);
    }
}

static void full_cells_of_a_bar_are_painted(void **state)
{
    (void)state;
    static const char *const bars[][2] = {
        {"[==>  ] step 3/5", "[\033[32m==>\033[0m  ] step 3/5"},
        {"[=====] step 5/5", "[\033[32m=====\033[0m] step 5/5"},
        {"step 3/5", "step 3/5"},
        {"[", "["},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        buf got = BUF_INIT;
        paint_bar(bars[i][0], &got);
        assert_string_equal(got.data, bars[i][1]);
        buf_fini(&got);
    }
}

static void off_a_terminal_nothing_has_colours(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(paint_can_move(ends[1]));
    assert_false(paint_is_wanted(ends[1]));
    buf got = BUF_INIT;
    paint_failure(ends[1], &got);
    assert_string_equal(got.data, "tequio: ");
    buf_fini(&got);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_the_log_are_painted),
        cmocka_unit_test(other_lines_stay),
        cmocka_unit_test(full_cells_of_a_bar_are_painted),
        cmocka_unit_test(off_a_terminal_nothing_has_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
