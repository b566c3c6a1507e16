/* A job's status as text: what stands there of jobs that run, hang, wait and have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/status_text.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static json_t *parsed(const char *text)
{
    json_t *o = NULL;
    assert_int_equal(json_parse(text, strlen(text), "test", E_DATA, &o, NULL), OK);
    return o;
}

static void expect(const char *job, const char *live, double now, const char *text)
{
    json_t *j = parsed(job), *l = live ? parsed(live) : NULL;
    buf got = BUF_INIT;
    status_text(j, l, now, &got);
    assert_string_equal(got.data, text);
    buf_fini(&got);
    json_decref(l);
    json_decref(j);
}

#define RUNNING                                                                                                        \
    "{\"dir\": \"runs/a\", \"state\": \"running\", \"master\": \"7 on here\", \"job_id\": \"12ab\", \"starts\": 2, "   \
    "\"checkpoints\": [3, 9], \"metrics\": {\"training_loss\": 1, \"validation_loss\": 0.5, "                          \
    "\"validation_accuracy\": 0.75}}"
#define HEAD                                                                                                           \
    "runs/a: running, master is process 7 on here\n"                                                                   \
    "  job 12ab, start 2, era 65537, phase run\n"                                                                      \
    "  step 10/40  epoch 2/5  loss 0.2500  rate 0.1  80 examples/s  eta 1:05\n"                                        \
    "  validation  loss 0.5  accuracy 0.75\n"                                                                          \
    "  checkpoints 3 9  best 3  an evaluation is awaited\n"
#define LIVE                                                                                                           \
    "{\"time\": 100, \"phase\": \"run\", \"era\": 65537, \"step\": 10, \"total_steps\": 40, \"steps_per_epoch\": 8, "  \
    "\"loss\": 0.25, \"learning_rate\": 0.1, \"examples_per_s\": 80, \"eta_s\": 65, \"best_step\": 3, "                \
    "\"awaits_evaluation\": true, "
#define WORKER(i, state, silent)                                                                                       \
    "{\"task\": \"worker." i "\", \"state\": \"" state "\", \"host\": \"h\", \"pid\": 5, \"lanes\": 2, "               \
    "\"computing\": 11, \"silent_s\": " silent "}"

static void tasks_and_slots(void **state)
{
    (void)state;
    expect(RUNNING,
           LIVE "\"workers\": [" WORKER("0", "at work", "0.1") ", " WORKER("1", "gone", "130") "], "
                "\"slots\": [{\"task\": \"worker.0\", \"lane\": 0}, {\"task\": \"worker.0\", \"lane\": 1}, "
                "{\"task\": \"worker.1\", \"lane\": 0, \"hedged_by\": {\"task\": \"worker.0\", \"lane\": 0}}, "
                "{\"task\": \"worker.0\", \"lane\": 0}], "
                "\"servers\": [{\"task\": \"ps.0\", \"state\": \"at work\", \"endpoint\": \"tcp://x:1\", "
                "\"acts_for\": [0, 1], \"stands_by_for\": [2]}, "
                "{\"task\": \"ps.1\", \"state\": \"refused\", \"endpoint\": \"tcp://x:2\", \"why\": \"another key\"}], "
                "\"evaluator\": {\"task\": \"evaluator.0\", \"state\": \"at work\", \"silent_s\": 1, "
                "\"evaluated\": 9}, \"waits\": []}",
           101,
           HEAD "  ps.0         at work  tcp://x:1, acts for shard 0,1, stands by for 2\n"
                "  ps.1         refused  tcp://x:2: another key\n"
                "  worker.0     at work  process 5 on h, 2 lanes, computes step 11, slots 0-1,3, "
                "for others slots 2 too\n"
                "  worker.1     gone     silent for 2 min, process 5 on h, 2 lanes, computes step 11, slots 2\n"
                "  evaluator.0  at work  evaluated step 9\n");
}

static void waits_and_silence(void **state)
{
    (void)state;
    expect(RUNNING, LIVE "\"waits\": [\"for=ps.1 to be ready up since=7.2s\"], \"disk_s\": 3, \"disk\": \"full\"}", 137,
           HEAD "  this was told 37.0 s ago; nothing since: the master hangs, its host is cut off, "
                "or the job dir takes nothing\n"
                "  waits for=ps.1 to be ready up since=7.2s\n"
                "  the job dir takes nothing since 3.0 s: full\n");
    expect("{\"dir\": \"a\", \"state\": \"running\", \"master\": \"7\", \"job_id\": \"1\", \"starts\": 1}", NULL, 0,
           "a: running, master is process 7\n"
           "  job 1, start 1\n"
           "  checkpoints none\n"
           "  nothing is told of its tasks yet\n");
}

static void waits_of_all_tasks(void **state)
{
    (void)state;
    expect(RUNNING,
           LIVE "\"waits\": [\"for=reports\"], \"awaits_left_out\": 4, \"awaits\": [{\"task\": \"worker.3\", \"whom\": "
                "\"ps.1\", \"words\": \"part 17 of ps.1 at version 12\", \"since_s\": 7.21, \"usual\": false}, "
                "{\"task\": \"master.0\", \"words\": \"reports\", \"since_s\": 2}, 5]}",
           101,
           HEAD "  worker.3 waits for part 17 of ps.1 at version 12 since 7.2 s\n"
                "  master.0 waits for reports since 2.0 s\n"
                "   waits for  since 0.0 s\n"
                "  and so do 4 more\n");
}

/* The dir is held while the results are written. */
static void results_are_written(void **state)
{
    (void)state;
    expect("{\"dir\": \"a\", \"state\": \"running\", \"master\": \"7\", \"job_id\": \"1\", \"starts\": 1}",
           "{\"time\": 1, \"phase\": \"over\", \"era\": 2, \"workers\": [" WORKER("0", "at work", "0") "]}", 1e6,
           "a: running, master is process 7\n"
           "  job 1, start 1, era 2, phase over\n"
           "  checkpoints none\n"
           "  training is over; the results are written\n");
}

/* What was told of tasks counts no more. */
static void ended(void **state)
{
    (void)state;
    expect("{\"dir\": \"a\", \"state\": \"failed\", \"end\": \"no room\", \"job_id\": \"1\", \"starts\": 1, "
           "\"warnings\": [\"one\", \"two\"]}",
           LIVE "\"workers\": [" WORKER("0", "at work", "0") "], \"waits\": [\"for=x\"]}", 1e6,
           "a: failed\n"
           "  job 1, start 1\n"
           "  the last start ended: no room\n"
           "  step 10/40  epoch 2/5  loss 0.2500  rate 0.1  80 examples/s\n"
           "  checkpoints none  best 3  an evaluation is awaited\n"
           "the master's last warnings\n"
           "  one\n"
           "  two\n");
}

/* The newest events, with their date where they are not of the day. */
static void what_happened(void **state)
{
    (void)state;
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    tzset();
    expect("{\"dir\": \"a\", \"state\": \"failed\", \"job_id\": \"1\", \"starts\": 1, \"timeline\": ["
           "{\"time\": 86399, \"kind\": \"join\", \"task\": \"ps.0\", \"text\": \"is there\"}, "
           "{\"time\": 90061.5, \"kind\": \"end\", \"text\": \"no room\"}, {\"time\": 1e300}]}",
           NULL, 90062,
           "a: failed\n"
           "  job 1, start 1\n"
           "  checkpoints none\n"
           "what happened last\n"
           "  1970-01-01 23:59:59 ps.0 is there\n"
           "  01:01:01 no room\n"
           "  1970-01-01 00:00:00 \n");
}

/* A file of somebody else's: nothing is believed. */
static void strange_values(void **state)
{
    (void)state;
    expect("{\"dir\": 1, \"state\": \"running\", \"checkpoints\": 7}",
           "{\"time\": \"x\", \"slots\": {}, \"workers\": 3, \"servers\": [4], \"waits\": [5], "
           "\"steps_per_epoch\": -1}",
           5,
           ": running\n"
           "  job , start 0\n"
           "  checkpoints none\n"
           "  waits ?\n"
           "                        \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_and_slots),
        cmocka_unit_test(waits_and_silence),
        cmocka_unit_test(waits_of_all_tasks),
        cmocka_unit_test(results_are_written),
        cmocka_unit_test(ended),
        cmocka_unit_test(what_happened),
        cmocka_unit_test(strange_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
