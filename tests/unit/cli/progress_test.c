/* Progress: when a line is due, and what it looks like. */
#include "cli/train/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000 * 1000 };

typedef struct screen {
    progress progress;
    FILE *file;
    char *text;
    size_t bytes;
} screen;

static void screen_open(screen *s, progress_mode mode)
{
    s->file = open_memstream(&s->text, &s->bytes);
    progress_init(&s->progress, mode, s->file);
}

static void show(screen *s, int64_t step, int64_t epoch, int64_t now_us)
{
    progress_state state = {.step = step,
                            .total_steps = 100,
                            .epoch = epoch,
                            .epochs = 2,
                            .loss = 0.5,
                            .rate = 0.001,
                            .examples_per_s = 812,
                            .eta_s = 61};
    progress_show(&s->progress, &state, now_us);
}

static void expect(screen *s, const char *text)
{
    fclose(s->file);
    assert_string_equal(s->text, text);
    free(s->text);
}

#define LINE(step, epoch)                                                                          \
    PROGRESS_MARK "step " #step "/100  epoch " #epoch                                              \
                  "/2  loss 0.5000  rate 0.001  812 examples/s  eta 1:01\n"

static void plain_lines_come_every_ten_seconds(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_PLAIN);
    show(&s, 1, 0, 0);
    show(&s, 2, 0, 9 * SECOND);
    show(&s, 3, 0, 10 * SECOND);
    show(&s, 4, 0, 11 * SECOND);
    expect(&s, LINE(1, 1) LINE(3, 1));
}

static void epoch_edge_and_last_step_are_shown(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_PLAIN);
    show(&s, 49, 0, 0);
    show(&s, 50, 1, 1);
    show(&s, 51, 1, 2);
    show(&s, 100, 1, 3);
    progress_finish(&s.progress);
    expect(&s, LINE(49, 1) LINE(50, 2) LINE(100, 2));
}

static void finish_shows_what_is_due(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_PLAIN);
    progress_finish(&s.progress);
    show(&s, 1, 0, 0);
    show(&s, 2, 0, 1);
    progress_finish(&s.progress);
    progress_finish(&s.progress);
    expect(&s, LINE(1, 1) LINE(2, 1));
}

static void bar_stays_on_its_line(void **state)
{
    (void)state;
    setenv("COLUMNS", "120", 1);
    screen s;
    screen_open(&s, PROGRESS_BAR);
    show(&s, 50, 0, 0);
    show(&s, 51, 0, 1);
    progress_finish(&s.progress);
    expect(&s, "\r[============>           ] step 50/100  epoch 1/2  loss 0.5000  rate 0.001  812 "
               "examples/s  eta 1:01\033[K\r"
               "\r[============>           ] step 51/100  epoch 1/2  loss 0.5000  rate 0.001  812 "
               "examples/s  eta 1:01\033[K\r\n");
}

static void narrow_terminal_gets_no_more_than_fits(void **state)
{
    (void)state;
    setenv("COLUMNS", "20", 1);
    screen s;
    screen_open(&s, PROGRESS_BAR);
    show(&s, 50, 0, 0);
    expect(&s, "\rstep 50/100  epoch \033[K\r");
}

static void none_is_silent(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_NONE);
    show(&s, 1, 0, 0);
    progress_finish(&s.progress);
    expect(&s, "");
}

static void unknown_ends_are_left_out(void **state)
{
    (void)state;
    char text[256];
    progress_state s = {.step = 7, .eta_s = -1, .loss = NAN, .rate = NAN};
    progress_text(&s, text, sizeof text);
    assert_string_equal(text, "step 7  epoch 1");
    s.loss = 1;
    s.rate = 0.1;
    s.eta_s = 3725;
    progress_text(&s, text, sizeof text);
    assert_string_equal(text, "step 7  epoch 1  loss 1.0000  rate 0.1  eta 1:02:05");
}

static void auto_is_plain_off_a_terminal(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    assert_int_equal(progress_mode_of("auto", fileno(f)), PROGRESS_PLAIN);
    assert_int_equal(progress_mode_of("bar", fileno(f)), PROGRESS_BAR);
    assert_int_equal(progress_mode_of("none", fileno(f)), PROGRESS_NONE);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines_come_every_ten_seconds),
        cmocka_unit_test(epoch_edge_and_last_step_are_shown),
        cmocka_unit_test(finish_shows_what_is_due),
        cmocka_unit_test(bar_stays_on_its_line),
        cmocka_unit_test(narrow_terminal_gets_no_more_than_fits),
        cmocka_unit_test(none_is_silent),
        cmocka_unit_test(unknown_ends_are_left_out),
        cmocka_unit_test(auto_is_plain_off_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
