/* What a process tells of itself: counts of its roles alone, and of whom it says that he hangs or is not at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/live/counters.h"
#include "common/live/durations.h"
#include "common/live/links.h"
#include "common/live/pulse.h"
#include "watch/metrics/task_metrics.h"

#include <string.h>

enum { SECOND_US = 1000000 };

static task_metrics two = {.tasks = {{ROLE_WORKER, 3}, {ROLE_PS, 1}}, .n = 2};

static void expect(const char *path, int code, const char *text)
{
    http_answer a = {0};
    task_metrics_answer(&two, &(http_request){.path = path}, &a);
    assert_int_equal(a.code, code);
    assert_string_equal(a.own.data, text);
    buf_fini(&a.own);
}

static void counts_are_told_in_their_units(void **state)
{
    (void)state;
    buf text = BUF_INIT;
    counter_add(COUNTER_WORKER_SLOTS, 5);
    counter_add(COUNTER_WORKER_LOADING, 2500000);
    counter_set(COUNTER_WORKER_VERSION, -1);
    counter_set(COUNTER_PS_PARTS, 7);
    counter_add(COUNTER_MASTER_REPORTS, 9);
    task_metrics_text(&two, clock_us(), &text);
    static const char *const lines[] = {
        "# HELP tequio_worker_slots_total Slots computed, repeated ones among them.\n"
        "# TYPE tequio_worker_slots_total counter\n"
        "tequio_worker_slots_total{role=\"worker\",task=\"worker.3\"} 5\n",
        "\ntequio_worker_loading_seconds_total{role=\"worker\",task=\"worker.3\"} 2.5\n",
        "\ntequio_worker_version{role=\"worker\",task=\"worker.3\"} -1\n",
        "\ntequio_ps_parts{role=\"ps\",task=\"ps.1\"} 7\n",
        "\ntequio_sent_bytes_total{role=\"worker\",task=\"worker.3\"} 0\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(text.data, lines[i]));
    assert_null(strstr(text.data, "tequio_master_"));
    const char *start = strstr(text.data, "\nprocess_start_time_seconds{");
    assert_non_null(start);
    buf_fini(&text);
}

/* Each piece has all that are shorter too; and bytes are told by task. */
static void durations_and_links_are_told(void **state)
{
    (void)state;
    buf text = BUF_INIT;
    duration_note(DURATION_PS_PULL, 0);
    duration_note(DURATION_PS_PULL, 4000);
    duration_note(DURATION_PS_PULL, 4001);
    duration_note(DURATION_PS_PULL, 300 * (int64_t)SECOND_US);
    link_meet(77, (task){ROLE_MASTER, 0});
    link_note(77, true, 1000);
    link_note(78, false, 5);
    task_metrics_text(&two, clock_us(), &text);
#define PULL "tequio_ps_pull_wait_seconds"
#define OF_PS "{role=\"ps\",task=\"ps.1\""
    static const char *const lines[] = {
        "# TYPE " PULL " histogram\n" PULL "_bucket" OF_PS ",le=\"0.001\"} 1\n"
        PULL "_bucket" OF_PS ",le=\"0.004\"} 2\n"
        PULL "_bucket" OF_PS ",le=\"0.016\"} 3\n",
        PULL "_bucket" OF_PS ",le=\"256\"} 3\n" PULL "_bucket" OF_PS ",le=\"+Inf\"} 4\n" PULL "_sum" OF_PS "} 300.008",
        PULL "_count" OF_PS "} 4\n",
        "\ntequio_worker_slot_seconds_count{role=\"worker\",task=\"worker.3\"} 0\n",
        "\ntequio_link_sent_bytes_total{role=\"worker\",task=\"worker.3\",peer=\"master.0\"} 1000\n",
        "\ntequio_link_received_bytes_total{role=\"worker\",task=\"worker.3\",peer=\"other\"} 5\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(text.data, lines[i]));
    assert_null(strstr(text.data, "tequio_master_step_seconds"));
    buf_fini(&text);
}

static void names_keep_to_prometheus_conventions(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNTER_COUNT; c++) {
        const counter_row *row = &counter_rows[c];
        size_t n = strlen(row->name), end = strlen("_total");
        bool is_total = n > end && strcmp(row->name + n - end, "_total") == 0;
        bool is_counter = strcmp(row->type, "counter") == 0;
        assert_true(is_counter || strcmp(row->type, "gauge") == 0);
        assert_int_equal(is_total, is_counter);
        assert_int_equal(row->unit < 1, strstr(row->name, "_seconds") != NULL);
    }
    for (size_t d = 0; d < DURATION_COUNT; d++)
        assert_string_equal(strrchr(duration_rows[d].name, '_'), "_seconds");
}

static void who_hangs_is_named(void **state)
{
    (void)state;
    int64_t now = clock_us();
    expect("/healthz", 200, "ok\n"); /* nobody has begun */
    pulse_turn(ROLE_WORKER, now - 12 * SECOND_US);
    pulse_turn(ROLE_PS, now);
    pulse_turn(ROLE_MASTER, now - 60 * SECOND_US); /* another process's, as far as this one says */
    expect("/healthz", 503, "worker.3 has not turned for 12 s\n");
    pulse_rest(ROLE_WORKER);
    expect("/healthz", 200, "ok\n");
    pulse_turn(ROLE_WORKER, clock_us());
    expect("/healthz", 200, "ok\n");
}

static void who_is_not_at_work_is_named(void **state)
{
    (void)state;
    expect("/readyz", 503, "worker.3 is not at work yet\nps.1 is not at work yet\n");
    pulse_set_ready(ROLE_PS, true);
    expect("/readyz", 503, "worker.3 is not at work yet\n");
    pulse_set_ready(ROLE_WORKER, true);
    expect("/readyz", 200, "ok\n");
    expect("/", 404, "there are /metrics, /healthz and /readyz\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_told_in_their_units),
        cmocka_unit_test(durations_and_links_are_told),
        cmocka_unit_test(names_keep_to_prometheus_conventions),
        cmocka_unit_test(who_hangs_is_named),
        cmocka_unit_test(who_is_not_at_work_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
