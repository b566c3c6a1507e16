/* What bounds a job, and what to try, by figures as tasks tell them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/explain_text.h"
#include "common/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *parsed(const char *text)
{
    json_t *o = NULL;
    assert_int_equal(json_parse(text, strlen(text), "test", E_DATA, &o, NULL), OK);
    return o;
}

#define FIGURE(name, value) "\"tequio_worker_" name "_seconds_total\": " value ", "
#define WORKER(i, slots, figures)                                                                                      \
    "{\"task\": \"worker." i "\", \"host\": \"h" i "\", \"lanes\": 1, \"figures\": {" figures                          \
    "\"tequio_worker_slots_total\": " slots "}}"

/* Sees to what a document says, with a configuration. */
typedef struct scene {
    json_t *job, *live, *config;
    explain_facts facts;
    suggestions tries;
} scene;

static scene play(const char *live, const char *config)
{
    scene s = {.job = parsed("{\"batches_per_step\": 4}"), .live = parsed(live), .config = parsed(config)};
    s.facts = explain_facts_of(s.job, s.live, s.config);
    suggestions_make(&s.facts, &s.tries);
    return s;
}

static void end(scene *s)
{
    json_decref(s->job);
    json_decref(s->live);
    json_decref(s->config);
}

static double share(const scene *s, time_share which)
{
    return time_share_of(&s->facts.shares, which);
}

static void expect_try(const scene *s, const char *what, double saves)
{
    for (size_t i = 0; i < s->tries.n; i++)
        if (strcmp(s->tries.at[i].what, what) == 0) {
            assert_true(fabs(s->tries.at[i].saves - saves) <= 1e-9);
            return;
        }
    fail_msg("nobody suggests %s", what);
}

/* Waiting and being idle is divided; what is left is idle, and what came before the first slot counts nowhere. */
static void shares_are_all_there_is(void **state)
{
    (void)state;
    scene s = play("{\"workers\": [" WORKER("0", "10", FIGURE("computing", "2") FIGURE("loading", "5")
                   FIGURE("waiting", "1") FIGURE("idle", "9") FIGURE("starting", "7") FIGURE("stalled_for_lanes", "0.5")
                   FIGURE("stalled_for_servers", "0.25") FIGURE("stalled_for_wire", "0.75")
                   FIGURE("stalled_for_master", "1") FIGURE("given_up", "2")) "], "
                   "\"master\": {\"figures\": {\"tequio_master_held_for_evaluations_seconds_total\": 3, "
                   "\"tequio_master_held_for_checkpoints_seconds_total\": 1}}}",
                   "{\"data_loader\": {\"workers\": 0}}");
    static const double want[SHARE_COUNT] = {
        [SHARE_INPUT] = 5,        [SHARE_COMPUTE] = 2,    [SHARE_WIRE] = 0.75,        [SHARE_SERVERS] = 0.25,
        [SHARE_STRAGGLERS] = 0.5, [SHARE_LOST] = 2,   [SHARE_CHECKPOINTS] = 0.25, [SHARE_EVALUATIONS] = 0.75,
        [SHARE_IDLE] = 0.5,
    };
    int sum = 0;
    assert_true(fabs(s.facts.shares.lane_s - 12) <= 1e-9);
    for (int i = 0; i < SHARE_COUNT; i++) {
        assert_true(fabs(s.facts.shares.seconds[i] - want[i]) <= 1e-9);
        sum += s.facts.tenths[i];
    }
    assert_int_equal(sum, 1000);
    assert_int_equal(time_shares_bound(&s.facts.shares), SHARE_INPUT);
    expect_try(&s, "data_loader.workers: 1", 2.0 / 12);
    assert_string_equal(s.tries.at[0].what, "data_loader.workers: 1");
    end(&s);
}

/* What is said of workers, of which two compute for so long and wait for the wire in what is left of 1000 s. */
static void expect_spread(const char *first, const char *wire, const char *second, const char *other_wire,
                          const char *want)
{
    char live[1024];
    snprintf(live, sizeof live,
             "{\"workers\": [" WORKER("0", "4", FIGURE("computing", "%s") FIGURE("waiting", "%s")
             FIGURE("stalled_for_wire", "%s")) ", " WORKER("1", "4", FIGURE("computing", "%s") FIGURE("waiting", "%s")
             FIGURE("stalled_for_wire", "%s")) "]}", first, wire, wire, second, other_wire, other_wire);
    scene s = play(live, "{}");
    buf said[EXPLAIN_SENTENCES] = {BUF_INIT};
    explain_sentences(&s.facts, &s.tries, said);
    assert_string_equal(said[3].data, want);
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++)
        buf_fini(&said[i]);
    end(&s);
}

static void how_much_workers_differ(void **state)
{
    (void)state;
    expect_spread("852", "148", "852.2", "147.8", "It is 85.2 % of the time of each worker.");
    expect_spread("852", "148", "853", "147",
                  "It is about the same of all workers, 85.2 to 85.3 % of their time.");
    expect_spread("852", "148", "833", "167",
                  "It is about the same of all workers, 83.3 to 85.2 % of their time.");
    expect_spread("852", "148", "831", "169",
                  "It is most of the time of worker.0, 85.2 %, and least of that of worker.1, 83.1 %.");
}

/* One of two computes four times as long for a slot; the other waits, and both are the late one's doing. */
static void a_late_worker(void **state)
{
    (void)state;
    scene s = play("{\"wall_s\": 8, \"workers\": [" WORKER("0", "4", FIGURE("computing", "2") FIGURE("waiting", "6")
                   FIGURE("stalled_for_lanes", "6")) ", " WORKER("1", "4", FIGURE("computing", "8")) "], "
                   "\"servers\": []}",
                   "{\"distributed\": {\"rebalance\": false}}");
    double slower;
    assert_true(fabs(share(&s, SHARE_STRAGGLERS) - 0.75) <= 1e-9);
    assert_true(fabs(share(&s, SHARE_COMPUTE) - 0.25) <= 1e-9);
    const json_t *late = explain_late_worker(&s.facts, &slower);
    assert_string_equal(json_string_value(json_object_get(late, "task")), "worker.1");
    assert_true(fabs(slower - 4) <= 1e-9);
    expect_try(&s, "see to worker.1 on h1, or leave it out", 0.75);
    /* four slots: three by the one and one by the other take 2 s in place of 4 s */
    expect_try(&s, "distributed.rebalance: true", 0.5);
    buf said[EXPLAIN_SENTENCES] = {BUF_INIT};
    explain_sentences(&s.facts, &s.tries, said);
    static const char *const want[EXPLAIN_SENTENCES] = {
        "What bounds this job is stragglers: of the 16 s that its 2 lanes had, 75.0 % went to waiting for the "
        "gradients of other lanes.",
        "Then come compute with 25.0 %.",
        "The late one is worker.1 on h1, which waits for others in 0.0 % of its time and spends most of it with "
        "computing; a slot takes it 2000.0 ms, 4.0 times as long as the others.",
        "It is 75.0 % of the time of each worker.",
        "Without it the job would be 4.00 times as fast; what could be tried comes below.",
    };
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++)
        assert_string_equal(said[i].data, want[i]);
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++)
        buf_fini(&said[i]);
    end(&s);
}

static bool says(const scene *s, const char *what)
{
    buf said[EXPLAIN_SENTENCES] = {BUF_INIT};
    bool is = false;
    explain_sentences(&s->facts, &s->tries, said);
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++) {
        is = is || strcmp(said[i].data, what) == 0;
        buf_fini(&said[i]);
    }
    return is;
}

/* Shares of workers, weighed by their time, are the job's. */
static void shares_of_workers_add_up(void **state)
{
    (void)state;
    scene s = play("{\"workers\": [" WORKER("0", "4", FIGURE("computing", "2") FIGURE("waiting", "7")
                   FIGURE("stalled_for_lanes", "6") FIGURE("stalled_for_wire", "1")) ", "
                   WORKER("1", "4", FIGURE("computing", "8") FIGURE("loading", "1")) ", "
                   WORKER("2", "4", FIGURE("computing", "3") FIGURE("waiting", "5") FIGURE("stalled_for_lanes", "5"))
                   "]}", "{}");
    json_t *told = explain_json(&s.facts, &s.tries), *one;
    for (int k = 0; k < SHARE_COUNT; k++) {
        double seconds = 0;
        size_t i;
        json_array_foreach(json_object_get(told, "workers"), i, one)
            seconds += json_number_value(json_object_get(one, "lane_s")) *
                       json_number_value(json_object_get(json_object_get(one, "shares"), time_share_rows[k].key));
        assert_true(fabs(seconds - s.facts.shares.seconds[k]) <= 1e-9);
    }
    /* 8 s less 4 slots of the others' 5/8 s are longer than the others' 11/17 of worker.1's 9 s */
    assert_true(fabs(s.facts.shares.seconds[SHARE_COMPUTE] - (2 + 3 + 8 - 5.5)) <= 1e-9);
    json_decref(told);
    end(&s);
}

/* Whoever waits least is not late for that: it is no slower. But it is where its examples are. */
static void nobody_is_late(void **state)
{
    (void)state;
    double slower;
    scene s = play("{\"workers\": [" WORKER("0", "4", FIGURE("computing", "2") FIGURE("waiting", "7")
                   FIGURE("stalled_for_lanes", "7")) ", " WORKER("1", "4", FIGURE("computing", "2.1")
                   FIGURE("waiting", "6") FIGURE("stalled_for_lanes", "6")) "]}", "{}");
    assert_null(explain_late_worker(&s.facts, &slower));
    assert_int_equal(time_shares_bound(&s.facts.shares), SHARE_STRAGGLERS);
    assert_true(says(&s, "No worker is clearly slower than the others: lanes wait for each other, now for one and now "
                         "for another."));
    for (size_t i = 0; i < s.tries.n; i++)
        assert_null(strstr(s.tries.at[i].what, "leave it out"));
    end(&s);
    s = play("{\"workers\": [" WORKER("0", "4", FIGURE("computing", "2") FIGURE("waiting", "7")
             FIGURE("stalled_for_lanes", "7")) ", " WORKER("1", "4", FIGURE("computing", "2") FIGURE("loading", "6")
             FIGURE("waiting", "1") FIGURE("stalled_for_lanes", "1")) "]}", "{}");
    const json_t *late = explain_late_worker(&s.facts, &slower);
    assert_string_equal(json_string_value(json_object_get(late, "task")), "worker.1");
    assert_true(fabs(slower - 4) <= 1e-9);
    end(&s);
}

static void idle_without_steps(void **state)
{
    (void)state;
    static const char live[] = "{\"workers\": [" WORKER("0", "4", FIGURE("computing", "2") FIGURE("idle", "7")) "]}";
    scene s = play(live, "{\"distributed\": {\"mode\": \"async\"}}");
    assert_true(says(&s, "Batches are leased one by one, and a lane without a lease waits until the master gives it "
                         "one: there were too few for 1 lanes, or they came late."));
    end(&s);
    s = play(live, "{}");
    assert_true(says(&s, "A step has 4 slots for 1 lanes, and a lane without one waits for the next step."));
    end(&s);
}

/* Two that are alike wait for each other by turns: nobody is late, and nothing of their computing is moved. */
static void workers_that_are_alike(void **state)
{
    (void)state;
    scene s = play("{\"workers\": [" WORKER("0", "4", FIGURE("computing", "6") FIGURE("waiting", "2")
                   FIGURE("stalled_for_lanes", "2")) ", " WORKER("1", "4", FIGURE("computing", "6")
                   FIGURE("waiting", "2") FIGURE("stalled_for_lanes", "2")) "]}", "{}");
    assert_true(fabs(share(&s, SHARE_STRAGGLERS) - 0.25) <= 1e-9);
    assert_true(fabs(share(&s, SHARE_COMPUTE) - 0.75) <= 1e-9);
    end(&s);
}

static void servers_and_the_wire(void **state)
{
    (void)state;
    scene s = play("{\"wall_s\": 10, \"workers\": [" WORKER("0", "4", FIGURE("computing", "1") FIGURE("idle", "9")
                   FIGURE("stalled_for_servers", "6") FIGURE("stalled_for_wire", "3")) ", "
                   WORKER("1", "0", "") "], \"servers\": [{\"task\": \"ps.0\", \"figures\": "
                   "{\"tequio_ps_busy_seconds_total\": 7}}]}",
                   "{\"distributed\": {\"ps_threads\": 3}}");
    const char *who;
    assert_true(fabs(explain_busiest_server(&s.facts, &who) - 0.7) <= 1e-9);
    assert_string_equal(who, "ps.0");
    assert_int_equal(time_shares_bound(&s.facts.shares), SHARE_SERVERS);
    expect_try(&s, "distributed.ps_threads: 6", 0.3);
    expect_try(&s, "distributed.ps: 2", 0.45);
    expect_try(&s, "trainer.batches_per_step: 8", 0.45);
    end(&s);
}

/* What cannot be, as anybody may have written the file: nothing is concluded, and nothing goes wrong. */
static void documents_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{}", "{\"workers\": 3}", "{\"workers\": [1, null, {\"figures\": []}]}",
        "{\"workers\": [" WORKER("0", "-4", FIGURE("computing", "-1") FIGURE("idle", "\"much\"")) "], \"master\": 7}",
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        scene s = play(documents[i], "[]");
        json_t *told = explain_json(&s.facts, &s.tries);
        assert_true(s.facts.shares.lane_s <= 0);
        assert_int_equal(s.tries.n, 0);
        json_decref(told);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_all_there_is), cmocka_unit_test(a_late_worker),
        cmocka_unit_test(how_much_workers_differ),
        cmocka_unit_test(workers_that_are_alike),  cmocka_unit_test(servers_and_the_wire),
        cmocka_unit_test(shares_of_workers_add_up), cmocka_unit_test(nobody_is_late),
        cmocka_unit_test(idle_without_steps),      cmocka_unit_test(documents_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
