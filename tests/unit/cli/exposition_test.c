/* Jobs as Prometheus reads them: samples, labels, what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/exposition.h"
#include "common/base/json.h"

#include <string.h>

static json_t *parsed(const char *text)
{
    json_t *o = NULL;
    assert_int_equal(json_parse(text, strlen(text), "test", E_DATA, &o, NULL), OK);
    return o;
}

static void has(const buf *text, const char *line)
{
    const char *at = strstr(text->data, line);
    assert_true(at && (at == text->data || at[-1] == '\n') && at[strlen(line)] == '\n');
}

static void samples_and_labels(void **state)
{
    (void)state;
    char *dirs[] = {"/a \"b\"\\c", "/done"};
    job_view views[] = {
        {parsed("{\"state\": \"running\", \"metrics\": {\"validation_f1\": 0.5, \"training_loss\": 1}}"),
         parsed("{\"time\": 90, \"step\": 7, \"loss\": 0.25, \"waits\": [\"x\", \"y\"], "
                "\"servers\": [{\"task\": \"ps.0\", \"state\": \"gone\", \"silent_s\": 3}], "
                "\"workers\": [{\"task\": \"worker.0\", \"state\": \"at work\", \"silent_s\": 0}]}")},
        {parsed("{\"state\": \"finished\"}"),
         parsed("{\"time\": 1, \"step\": 9, \"workers\": [{\"task\": \"worker.0\", \"state\": \"at work\"}]}")},
    };
    buf text = BUF_INIT;
    exposition_text(dirs, views, 2, 100, &text);
    has(&text, "# TYPE tequio_steps_total counter");
    has(&text, "tequio_steps_total{run=\"/a \\\"b\\\"\\\\c\"} 7");
    has(&text, "tequio_steps_total{run=\"/done\"} 9");
    has(&text, "tequio_loss{run=\"/a \\\"b\\\"\\\\c\"} 0.25");
    has(&text, "tequio_state{run=\"/done\",state=\"finished\"} 1");
    has(&text, "tequio_state{run=\"/done\",state=\"running\"} 0");
    has(&text, "tequio_validation{run=\"/a \\\"b\\\"\\\\c\",metric=\"f1\"} 0.5");
    has(&text, "tequio_told_seconds{run=\"/a \\\"b\\\"\\\\c\"} 10");
    has(&text, "tequio_waits{run=\"/a \\\"b\\\"\\\\c\"} 2");
    has(&text, "tequio_task_up{run=\"/a \\\"b\\\"\\\\c\",task=\"ps.0\"} 0");
    has(&text, "tequio_task_silent_seconds{run=\"/a \\\"b\\\"\\\\c\",task=\"ps.0\"} 3");
    assert_null(strstr(text.data, "tequio_loss{run=\"/done\"}"));
    assert_null(strstr(text.data, "tequio_task_up{run=\"/done\"")); /* it has no tasks any more */
    buf_fini(&text);
    for (int i = 0; i < 2; i++)
        job_view_close(&views[i]);
}

static void a_job_of_which_nothing_was_told(void **state)
{
    (void)state;
    char *dirs[] = {"/new"};
    job_view view = {.job = parsed("{\"state\": \"running\"}")};
    buf text = BUF_INIT;
    exposition_text(dirs, &view, 1, 100, &text);
    has(&text, "tequio_state{run=\"/new\",state=\"running\"} 1");
    has(&text, "tequio_readable{run=\"/new\"} 1");
    assert_null(strstr(text.data, "tequio_steps_total{"));
    buf_fini(&text);
    job_view_close(&view);
}

/* One that cannot be read takes no other along; what was told of one that is over is not how things stand. */
static void jobs_that_are_gone_or_over(void **state)
{
    (void)state;
    char *dirs[] = {"/gone", "/over"};
    job_view views[] = {
        {NULL, NULL},
        {parsed("{\"state\": \"running\"}"),
         parsed("{\"time\": 1, \"phase\": \"over\", \"step\": 9, \"disk_s\": 99, \"waits\": []}")},
    };
    buf text = BUF_INIT;
    exposition_text(dirs, views, 2, 100, &text);
    has(&text, "tequio_readable{run=\"/gone\"} 0");
    assert_null(strstr(text.data, "tequio_state{run=\"/gone\""));
    has(&text, "tequio_steps_total{run=\"/over\"} 9");
    assert_null(strstr(text.data, "tequio_disk_wait_seconds{run"));
    assert_null(strstr(text.data, "tequio_told_seconds{run"));
    buf_fini(&text);
    job_view_close(&views[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_and_labels),
        cmocka_unit_test(a_job_of_which_nothing_was_told),
        cmocka_unit_test(jobs_that_are_gone_or_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
