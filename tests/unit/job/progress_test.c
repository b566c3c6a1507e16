/* Progress: when a line is due, and what it looks like. */
#include "job/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECOND = 1000 * 1000 };

typedef struct screen {
    progress progress;
    FILE *file;
    int saved;  /* standard error, while it goes to the file */
} screen;

static void screen_open(screen *s, progress_mode mode)
{
    s->file = tmpfile();
    s->saved = dup(STDERR_FILENO);
    assert_true(s->file && s->saved >= 0);
    dup2(fileno(s->file), STDERR_FILENO);
    progress_init(&s->progress, mode);
}

static void show(screen *s, int64_t step, int64_t epoch, int64_t now_us)
{
    progress_state state = {.step = step,
                            .total_steps = 100,
                            .epoch = epoch,
                            .epochs = 2,
                            .loss = 0.5,
                            .accuracy = 0.75,
                            .rate = 0.001,
                            .examples_per_s = 812,
                            .eta_s = 61};
    progress_show(&s->progress, &state, now_us);
}

static void expect(screen *s, const char *text)
{
    char got[4096] = "";
    dup2(s->saved, STDERR_FILENO);
    close(s->saved);
    rewind(s->file);
    got[fread(got, 1, sizeof got - 1, s->file)] = '\0';
    fclose(s->file);
    assert_string_equal(got, text);
}

#define REST "loss 0.5000  accuracy 0.7500  rate 0.001  812 examples/s  eta 1:01"

#define LINE(step, epoch) PROGRESS_MARK "step " #step "/100  epoch " #epoch "/2  " REST "\n"

static void plain_lines_come_every_minute(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_PLAIN);
    show(&s, 1, 0, 0);
    show(&s, 2, 0, 59 * SECOND);
    show(&s, 3, 0, 60 * SECOND);
    show(&s, 4, 0, 61 * SECOND);
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

/* Ends of epochs that are shorter than a second: the first ones, and then a line a minute as ever. */
static void short_epochs_fill_no_log(void **state)
{
    (void)state;
    screen s;
    char wanted[4096] = LINE(1, 1);
    screen_open(&s, PROGRESS_PLAIN);
    show(&s, 1, 0, 0);
    for (int i = 0; i < 40; i++) {
        show(&s, 2 + i, 1 + i, i);
        size_t n = strlen(wanted);
        if (i < PROGRESS_EPOCHS) /* of two epochs, none is called the third */
            snprintf(wanted + n, sizeof wanted - n, PROGRESS_MARK "step %d/100  epoch 2/2  " REST "\n", 2 + i);
    }
    size_t n = strlen(wanted);
    snprintf(wanted + n, sizeof wanted - n, LINE(60, 2) LINE(62, 2));
    show(&s, 60, 60, 60 * SECOND + 50); /* a minute after the last line */
    show(&s, 61, 61, 60 * SECOND + 51);
    show(&s, 62, 62, 120 * SECOND + 50);
    expect(&s, wanted);
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

/* Off a terminal a bar has no width; whoever shows it makes it fit. */
static void bar_is_one_line_between_returns(void **state)
{
    (void)state;
    screen s;
    screen_open(&s, PROGRESS_BAR);
    show(&s, 50, 0, 0);
    show(&s, 51, 0, 1);
    progress_finish(&s.progress);
    expect(&s, "\rstep 50/100  epoch 1/2  " REST "\033[K\r"
               "\rstep 51/100  epoch 1/2  " REST "\033[K\r\n");
}

static void fields_go_by_what_they_tell(void **state)
{
    (void)state;
    static const char whole[] =
        "step 50/100  epoch 1/2  " REST;
    static const struct {
        int columns;
        const char *text;
    } cases[] = {
        {117, "[============>           ] step 50/100  epoch 1/2  loss 0.5000  accuracy 0.7500  "
              "rate 0.001  812 examples/s  eta 1:01"},
        {116, whole},
        {90, whole},
        {89, "step 50/100  epoch 1/2  loss 0.5000  accuracy 0.7500  812 examples/s  eta 1:01"},
        {77, "step 50/100  loss 0.5000  accuracy 0.7500  812 examples/s  eta 1:01"},
        {66, "step 50/100  loss 0.5000  812 examples/s  eta 1:01"},
        {49, "step 50/100  loss 0.5000  eta 1:01"},
        {33, "step 50/100  eta 1:01"},
        {20, "step 50/100"},
        {9, "step 50/1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[256];
        progress_fit(whole, cases[i].columns, got, sizeof got);
        assert_string_equal(got, cases[i].text);
    }
    char got[256];
    progress_fit("step 7  epoch 1  eta 1:02:05", 100, got, sizeof got);
    assert_string_equal(got, "step 7  epoch 1  eta 1:02:05");
    progress_fit("of another version", 10, got, sizeof got);
    assert_string_equal(got, "of another");
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
    progress_state s = {.step = 7, .eta_s = -1, .loss = NAN, .accuracy = NAN, .rate = NAN};
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
        cmocka_unit_test(plain_lines_come_every_minute),
        cmocka_unit_test(epoch_edge_and_last_step_are_shown),
        cmocka_unit_test(short_epochs_fill_no_log),
        cmocka_unit_test(finish_shows_what_is_due),
        cmocka_unit_test(bar_is_one_line_between_returns),
        cmocka_unit_test(fields_go_by_what_they_tell),
        cmocka_unit_test(none_is_silent),
        cmocka_unit_test(unknown_ends_are_left_out),
        cmocka_unit_test(auto_is_plain_off_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
