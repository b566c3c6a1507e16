/* Jobs as Prometheus reads them: samples, labels, what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/exposition.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "watch/metrics/task_metrics.h"

#include <stdio.h>
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

/* --- what is handed out for these metrics --- */

static void each_is_told(const char *text, const buf *told, int *n)
{
    static const char prefix[] = "tequio_";
    for (const char *at = strstr(text, prefix); at; at = strstr(at + 1, prefix)) {
        char wanted[80];
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        snprintf(wanted, sizeof wanted, "# TYPE %.*s ", (int)length, at);
        if (!strstr(told->data, wanted))
            fail_msg("nobody tells %.*s", (int)length, at);
        ++*n;
    }
}

/* All strings in it. */
static void look_into(const json_t *value, const buf *told, int *n)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (json_is_string(value))
        each_is_told(json_string_value(value), told, n);
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
        look_into(inner, told, n);
    json_array_foreach(value, i, inner)
        look_into(inner, told, n);
}

/* Grafana's board and Prometheus' alerts ask for nothing that is not told. */
static void boards_and_alerts_know_them(void **state)
{
    (void)state;
    static const char packaging[] = TEST_PACKAGING_DIR;
    buf told = BUF_INIT, alerts = BUF_INIT;
    json_t *board = NULL;
    int n = 0, panels = 0;
    char path[sizeof packaging + 64];
    const task_metrics all = {.tasks = {{ROLE_MASTER, 0}, {ROLE_WORKER, 0}, {ROLE_PS, 0}, {ROLE_EVALUATOR, 0}}, .n = 4};
    exposition_text(NULL, NULL, 0, 0, &told);
    task_metrics_text(&all, 0, &told);
    snprintf(path, sizeof path, "%s/grafana/tequio.json", packaging);
    assert_int_equal(json_read_file(path, &board, NULL), OK);
    look_into(board, &told, &panels);
    assert_true(panels >= 15);
    json_decref(board);
    snprintf(path, sizeof path, "%s/prometheus/alerts.yml", packaging);
    assert_int_equal(fs_read(path, 1 << 20, &alerts, NULL), OK);
    each_is_told(alerts.data, &told, &n);
    assert_true(n >= 5);
    buf_fini(&alerts);
    buf_fini(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_and_labels),
        cmocka_unit_test(a_job_of_which_nothing_was_told),
        cmocka_unit_test(jobs_that_are_gone_or_over),
        cmocka_unit_test(boards_and_alerts_know_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
