/* The table of `tequio top`: figures of a second come of two looks, the order of rows, and what is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/top_table.h"
#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON with ' for ". */
static json_t *parsed(const char *text)
{
    char *quoted = xstrdup(text);
    for (char *c = quoted; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *jobs = json_loads(quoted, 0, NULL);
    assert_non_null(jobs);
    free(quoted);
    return jobs;
}

/* A job that said so much of itself at a moment. */
static json_t *job_at(double time, double cpu, double examples, double waiting, double updates)
{
    char text[2048];
    snprintf(text, sizeof text,
             "[{'job': {'dir': '/runs/six', 'state': 'running'},"
             " 'live': {'time': %f, 'step': 5, 'total_steps': 10, 'steps_per_epoch': 5, 'waits': ['for ps.1'],"
             " 'awaits': [{'task': 'worker.10', 'words': 'part 3 of ps.1', 'since_s': 7.2, 'usual': false},"
             "            {'task': 'worker.2', 'words': 'a slot', 'since_s': 1, 'usual': true}],"
             " 'workers': [{'task': 'worker.10', 'state': 'at work', 'lanes': 2, 'told_s': 0.5, 'host': 'one',"
             "   'figures': {'process_cpu_seconds_total': %f, 'process_resident_memory_bytes': 3e6,"
             "   'tequio_worker_examples_total': %f, 'tequio_worker_waiting_seconds_total': %f}},"
             "   {'task': 'worker.2', 'state': 'hangs', 'silent_s': 12, 'computing': 4}],"
             " 'evaluator': {'task': 'evaluator.0', 'state': 'at work', 'silent_s': 1, 'evaluated': 5},"
             " 'servers': [{'task': 'ps.1', 'state': 'at work', 'acts_for': [1], 'stands_by_for': [0],"
             "   'figures': {'process_cpu_seconds_total': 1, 'tequio_ps_updates_total': %f}}]}}]",
             time, cpu, examples, waiting, updates);
    return parsed(text);
}

static top_lines look(top_table *t, json_t *jobs, top_order order, double now)
{
    top_lines lines = {0};
    top_table_lines(t, "/runs/six", jobs, NULL, order, now, &lines);
    json_decref(jobs);
    return lines;
}

/* Which line begins with the task; its text. */
static const char *line_of(const top_lines *l, const char *task, size_t *ret)
{
    for (*ret = 0; *ret < l->n; ++*ret)
        if (strstr(l->at[*ret].text, task) == l->at[*ret].text + 2)
            return l->at[*ret].text;
    fail_msg("no line of %s", task);
    return NULL;
}

static void figures_are_of_a_second(void **state)
{
    (void)state;
    size_t at;
    top_table *t = top_table_new();
    top_lines l = look(t, job_at(100, 5, 1000, 2, 50), TOP_BY_NAME, 101);
    assert_non_null(strstr(line_of(&l, "worker.10", &at), "      -      3.0 MB         -"));
    top_lines_fini(&l);
    l = look(t, job_at(104, 9, 1800, 6, 58), TOP_BY_NAME, 105);
    /* 4 s of processor in 4 s, 200 examples a second, and 4 s of waits on two lanes */
    assert_string_equal(line_of(&l, "worker.10", &at),
                        "  worker.10      at work     100      3.0 MB     200.0 examples       50  one  "
                        "waits 7.2 s: part 3 of ps.1");
    assert_int_equal(l.at[at].style, TOP_PLAIN);
    assert_non_null(strstr(line_of(&l, "ps.1", &at), "2.0 updates "));
    assert_non_null(strstr(l.at[at].text, "acts for shard 1, stands by for 0"));
    /* It tells no figures. */
    assert_string_equal(line_of(&l, "evaluator.0", &at),
                        "  evaluator.0    at work       -           -         -                 -  -  "
                        "evaluated step 5");
    assert_non_null(strstr(line_of(&l, "worker.2", &at), "silent for 12 s  step 4"));
    assert_int_equal(l.at[at].style, TOP_BAD);
    top_lines_fini(&l);
    /* It was told nothing new: what was known stays. */
    l = look(t, job_at(104, 9, 1800, 6, 58), TOP_BY_NAME, 105);
    assert_non_null(strstr(line_of(&l, "worker.10", &at), "200.0 examples"));
    top_lines_fini(&l);
    /* Nor here: when it said so is worked out anew each time, to some microseconds. */
    l = look(t, job_at(104.000007, 9, 1800, 6, 58), TOP_BY_NAME, 106);
    assert_non_null(strstr(line_of(&l, "worker.10", &at), "200.0 examples"));
    assert_non_null(strstr(line_of(&l, "ps.1", &at), "2.0 updates "));
    top_lines_fini(&l);
    l = look(t, job_at(103.999994, 9, 1800, 6, 58), TOP_BY_NAME, 106);
    assert_non_null(strstr(line_of(&l, "worker.10", &at), "200.0 examples"));
    top_lines_fini(&l);
    /* It began anew: what was counted counts no more. */
    l = look(t, job_at(106, 1, 10, 0, 60), TOP_BY_NAME, 107);
    assert_null(strstr(line_of(&l, "worker.10", &at), "examples"));
    assert_non_null(strstr(line_of(&l, "ps.1", &at), "1.0 updates "));
    top_lines_fini(&l);
    top_table_free(&t);
}

static void rows_are_in_order(void **state)
{
    (void)state;
    size_t one, other;
    top_table *t = top_table_new();
    top_lines l = look(t, job_at(100, 5, 1000, 2, 50), TOP_BY_NAME, 101);
    line_of(&l, "worker.2", &one);
    line_of(&l, "worker.10", &other);
    assert_true(one < other);
    assert_string_equal(l.at[0].text, "/runs/six: running  step 5/10  epoch 2/2");
    assert_string_equal(l.at[1].text, "  waits for ps.1");
    top_lines_fini(&l);
    l = look(t, job_at(104, 9, 1800, 6, 58), TOP_BY_RATE, 105);
    line_of(&l, "worker.10", &one);
    line_of(&l, "ps.1", &other);
    assert_true(one < other);
    top_lines_fini(&l);
    l = look(t, job_at(108, 9, 1800, 6, 58), TOP_BY_CPU, 130);
    assert_string_equal(l.at[1].text, "  this was told 22 s ago; nothing since");
    top_lines_fini(&l);
    top_table_free(&t);
}

/* Documents come from elsewhere: nothing in them is believed. */
static void what_is_none_is_shown_so(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "[1]", "[{}]", "[{'job': 7, 'live': []}]",
        "[{'job': {'dir': 1, 'state': 'running'}, 'live': {'workers': [3, {}], 'servers': {}, 'master': [],"
        " 'evaluator': [3], 'waits': [1], 'awaits': 5, 'steps_per_epoch': 1e300, 'time': 'x'}}]"};
    top_table *t = top_table_new();
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        top_lines l = look(t, parsed(odd[i]), TOP_BY_WAITING, 0);
        assert_true(l.n > 0);
        top_lines_fini(&l);
    }
    top_lines l = {0};
    top_table_lines(t, "ssh://one/x", NULL, "no route", TOP_BY_NAME, 0, &l);
    assert_string_equal(l.at[0].text, "ssh://one/x: no route");
    top_lines_fini(&l);
    top_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_of_a_second),
        cmocka_unit_test(rows_are_in_order),
        cmocka_unit_test(what_is_none_is_shown_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
