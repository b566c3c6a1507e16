/*
 * The accounting: steps complete in their order, metrics are added in the order of the slots whoever
 * reports when, and the files tell of exactly the steps that count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "master/accounting/accounting.h"
#include "unit/master/support_accounts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 37 examples in batches of 4, up to 4 a step: steps of 4, 4 and 2 slots, the last batch of 1 */
static const steps job = {.examples = 37, .batch_size = 4, .per_step = 4};
enum { PER_EPOCH = 3, STEPS = 9, TOTAL = 7 };

static accounting *accounting_at(const accounts *b, int64_t step, int64_t summary_steps)
{
    error err = ERROR_INIT;
    accounting *l = NULL;
    accounting_options o = {.dir = b->dir,
                        .steps = job,
                        .rates = {.schedules = {{.kind = LR_SCHEDULE_CONSTANT, .base = 0.5}}},
                        .summary_steps = summary_steps,
                        .total = TOTAL};
    must(accounting_open(&o, step, step, &l, &err), &err);
    return l;
}

/* What a slot has to say: numbers of all magnitudes, so that another order of sums shows. */
static metric_set metrics_of(int64_t step, uint32_t slot)
{
    rng r = rng_make(3, RNG_TEST, (uint64_t)(step * 100 + slot));
    metric_set m = {.n = 0};
    double n = (double)steps_slot(&job, step, slot).n;
    metric_add(&m, "loss", (double)rng_normal(&r, 0) * (double)(1u << rng_below(&r, 1, 30)), n);
    metric_add(&m, "accuracy", (double)rng_below(&r, 2, 5), n);
    return m;
}

static int64_t report(accounting *l, int64_t step, uint32_t slot)
{
    slot_report r = {.step = step,
                     .slot = slot,
                     .examples = steps_slot(&job, step, slot).n,
                     .metrics = metrics_of(step, slot)};
    return accounting_report(l, &r);
}

static void report_steps(accounting *l, int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            report(l, t, s);
}

static void check_same(const metric_set *a, const metric_set *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->at[i].name, b->at[i].name);
        assert_memory_equal(&a->at[i].sum, &b->at[i].sum, sizeof(double));
        assert_memory_equal(&a->at[i].count, &b->at[i].count, sizeof(double));
    }
}

static metric_set step_sum(int64_t step)
{
    metric_set sum = {.n = 0};
    for (uint32_t s = 0; s < steps_slots(&job, step); s++) {
        metric_set m = metrics_of(step, s);
        metric_merge(&sum, &m);
    }
    return sum;
}

typedef struct timed_report {
    int64_t step;
    uint32_t slot;
    uint64_t when;
} timed_report;

static int by_when(const void *a, const void *b)
{
    const timed_report *x = a, *y = b;
    return x->when < y->when ? -1 : x->when > y->when;
}

/* Lanes are at most a step ahead of each other, else any order; some reports come twice. */
static size_t random_order(uint64_t number, timed_report *ret)
{
    rng r = rng_make(11, RNG_TEST, number);
    size_t n = 0;
    uint64_t at = 0;
    for (int64_t t = 0; t < STEPS; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            for (uint64_t copies = 1 + rng_below(&r, at++, 2); copies; copies--)
                ret[n++] = (timed_report){t, s, (uint64_t)t * 1000 + rng_below(&r, at++, 1999)};
    qsort(ret, n, sizeof *ret, by_when);
    return n;
}

static void the_order_of_reports_does_not_show(void **state)
{
    (void)state;
    for (uint64_t c = 0; c < 30; c++) {
        accounts b = accounts_make();
        accounting *l = accounting_at(&b, 0, 4);
        timed_report said[2 * STEPS * 4];
        size_t n = random_order(c, said);
        metric_set epoch = {.n = 0};
        for (size_t i = 0; i < n; i++) {
            int64_t before = accounting_totals_of(l)->step;
            int64_t done = report(l, said[i].step, said[i].slot);
            const accounting_totals *t = accounting_totals_of(l);
            assert_int_equal(t->step, before + done);
            for (int64_t k = before; k < t->step; k++) {
                metric_set sum = step_sum(k);
                metric_merge(&epoch, &sum);
                if (k == t->step - 1)
                    check_same(&t->last_step, &sum);
                if ((k + 1) % PER_EPOCH)
                    continue;
                if (t->step - 1 < k + PER_EPOCH)
                    check_same(&t->last_epoch, &epoch);
                metric_reset(&epoch);
            }
        }
        assert_int_equal(accounting_totals_of(l)->step, STEPS);
        assert_int_equal(accounting_totals_of(l)->examples, 3 * 37);
        assert_int_equal(accounting_totals_of(l)->seen, 3 * 37);
        accounting_close(&l);
        accounts_fini(&b);
    }
}

static void a_step_waits_for_those_before_it(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 100);
    char missing[32];
    for (uint32_t s = 1; s < 4; s++)
        assert_int_equal(report(l, 0, s), 0);
    for (uint32_t s = 0; s < 4; s++)
        assert_int_equal(report(l, 1, s), 0);
    accounting_missing(l, missing, sizeof missing);
    assert_string_equal(missing, "0");
    assert_int_equal(report(l, 0, 0), 2); /* both at once */
    accounting_missing(l, missing, sizeof missing);
    assert_string_equal(missing, "0,1"); /* the epoch's last step has two slots */
    accounting_close(&l);
    accounting_close(&l);
    accounts_fini(&b);
}

static void what_does_not_count_is_ignored(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 100);
    report_steps(l, 0, 2);
    assert_int_equal(report(l, 0, 1), 0);  /* of a step that is over */
    assert_int_equal(report(l, 10, 0), 0); /* nonsense */
    slot_report r = {.step = 2, .slot = 2, .examples = 4, .metrics = metrics_of(2, 0)};
    assert_int_equal(accounting_report(l, &r), 0); /* it has slots 0 and 1 */
    r.slot = 0;
    assert_int_equal(accounting_report(l, &r), 0);
    r = (slot_report){.step = 2, .examples = 99, .metrics = metrics_of(1, 3)};
    assert_int_equal(accounting_report(l, &r), 0); /* computed twice */
    assert_int_equal(report(l, 2, 1), 1);
    metric_set sum = step_sum(2);
    check_same(&accounting_totals_of(l)->last_step, &sum);
    assert_int_equal(accounting_totals_of(l)->examples, 37);
    accounting_close(&l);
    accounts_fini(&b);
}

/* A report that was lost with its worker holds nobody up once it is known that none will come. */
static void lost_reports_are_given_up(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 100);
    report(l, 0, 0);
    report_steps(l, 1, 4);
    assert_int_equal(accounting_totals_of(l)->step, 0);
    assert_int_equal(accounting_applied(l), 3);
    assert_int_equal(accounting_settle(l, 0), 0);
    assert_int_equal(accounting_settle(l, 1), 4); /* and those behind it */
    assert_int_equal(accounting_totals_of(l)->step, 4);
    assert_int_equal(accounting_totals_of(l)->lost, 3);
    assert_int_equal(accounting_totals_of(l)->last_lost, 0);
    accounting *whole = accounting_at(&b, 4, 100);
    assert_int_equal(accounting_totals_of(l)->examples, accounting_totals_of(whole)->examples);
    accounting_close(&whole);
    accounting_close(&l);
    accounts_fini(&b);
}

/* The line of such a step says how many, and the next master knows it too. */
static void what_is_lost_is_marked(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 1);
    report_steps(l, 0, 1);
    report(l, 1, 0);
    report(l, 1, 2);
    assert_int_equal(accounting_settle(l, 3), 2);
    assert_int_equal(accounting_totals_of(l)->lost, 4); /* the third step has two slots */
    accounting_close(&l);
    char *text = accounts_text(&b, "metrics.jsonl"), *second = strchr(text, '\n') + 1,
         *third = strchr(second, '\n') + 1;
    second[-1] = third[-1] = '\0';
    assert_null(strstr(text, "lost_slots"));
    assert_non_null(strstr(second, "\"loss\":"));
    assert_non_null(strstr(second, "\"lost_slots\":2"));
    assert_null(strstr(third, "\"loss\":"));
    assert_non_null(strstr(third, "\"lost_slots\":2"));
    free(text);
    accounting_options o = {.dir = b.dir, .steps = job, .summary_steps = 1, .total = TOTAL};
    must(accounting_open(&o, 0, 3, &l, &err), &err);
    assert_int_equal(accounting_totals_of(l)->step, 3);
    assert_int_equal(accounting_totals_of(l)->lost, 4);
    accounting_close(&l);
    char *journal = jobdir_file(b.dir, "journal");
    assert_int_equal(remove(journal), 0);
    free(journal);
    must(accounting_open(&o, 2, 2, &l, &err), &err); /* of its epoch nothing is known */
    assert_int_equal(accounting_totals_of(l)->lost, 8);
    accounting_close(&l);
    accounts_fini(&b);
}

/* The steps metrics.jsonl tells of. */
static size_t line_steps(const accounts *b, int64_t *ret)
{
    size_t n = 0;
    char *text = accounts_text(b, "metrics.jsonl");
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        json_t *value = NULL;
        assert_int_equal(json_parse(line, (size_t)(end - line), "a line", E_DATA, &value, NULL),
                         OK);
        ret[n++] = json_integer_value(json_object_get(value, "step"));
        json_decref(value);
    }
    free(text);
    return n;
}

static void check_lines(const accounts *b, const int64_t *expected, size_t n)
{
    int64_t found[64];
    assert_int_equal(line_steps(b, found), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i], expected[i]);
}

static void lines_come_by_steps_and_at_ends(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 4);
    report_steps(l, 0, STEPS);
    accounting_close(&l);
    check_lines(&b, (int64_t[]){1, 3, 4, 6, TOTAL, 8, 9}, 7);

    char *text = accounts_text(&b, "metrics.jsonl"), *third = strchr(text, '\n') + 1;
    json_t *line = NULL;
    assert_int_equal(
        json_parse(third, (size_t)(strchr(third, '\n') - third), "a line", E_DATA, &line, NULL), OK);
    metric_set sum = step_sum(2);
    assert_int_equal(json_integer_value(json_object_get(line, "epoch")), 0);
    assert_int_equal(json_integer_value(json_object_get(line, "examples")), 37);
    assert_true(json_real_value(json_object_get(line, "learning_rate")) == 0.5);
    assert_true(json_real_value(json_object_get(line, "loss")) == metric_result(&sum, "loss"));
    assert_true(json_is_real(json_object_get(line, "examples_per_s")));
    assert_true(json_is_real(json_object_get(line, "wall_s")));
    json_decref(line);
    free(text);
    accounts_fini(&b);
}

/* Whatever becomes of the journal: its line is always there. */
static void the_first_loss_is_remembered(void **state)
{
    (void)state;
    accounts b = accounts_make();
    metric_set first = step_sum(0);
    double loss = metric_result(&first, "loss");
    accounting *l = accounting_at(&b, 0, 4);
    assert_true(isnan(accounting_totals_of(l)->first_loss));
    report_steps(l, 0, 5);
    assert_true(accounting_totals_of(l)->first_loss == loss);
    assert_int_equal(accounting_totals_of(l)->first_examples, 16);
    accounting_close(&l);
    char *journal = jobdir_file(b.dir, "journal");
    assert_int_equal(remove(journal), 0);
    free(journal);
    l = accounting_at(&b, 5, 4);
    assert_true(accounting_totals_of(l)->first_loss == loss);
    assert_int_equal(accounting_totals_of(l)->first_examples, 16);
    accounting_close(&l);
    l = accounting_at(&b, 0, 4); /* again from the beginning */
    assert_true(isnan(accounting_totals_of(l)->first_loss));
    accounting_close(&l);
    accounts_fini(&b);
}

static void a_restart_takes_lines_back(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 1);
    report_steps(l, 0, 7);
    accounting_close(&l);
    char *text = accounts_text(&b, "metrics.jsonl");
    char *torn = xasprintf("%s{\"step\": 8, \"lo", text);
    accounts_write(&b, "metrics.jsonl", torn);
    free(torn);

    l = accounting_at(&b, 5, 1); /* in the middle of the second epoch */
    check_lines(&b, (int64_t[]){1, 2, 3, 4, 5}, 5);
    assert_int_equal(accounting_totals_of(l)->step, 5);
    assert_int_equal(accounting_totals_of(l)->examples, 37 + 32);
    assert_int_equal(accounting_totals_of(l)->seen, 37 + 32); /* as the last line tells, */
    assert_true(accounting_totals_of(l)->wall_s > 0);         /* with the time they took */
    report_steps(l, 5, 7);
    check_lines(&b, (int64_t[]){1, 2, 3, 4, 5, 6, 7}, 7);
    assert_int_equal(accounting_totals_of(l)->examples, 2 * 37 + 16);

    /* and back to the beginning */
    accounting_close(&l);
    l = accounting_at(&b, 0, 1);
    check_lines(&b, NULL, 0);
    assert_int_equal(accounting_totals_of(l)->examples, 0);
    report_steps(l, 0, 1);
    check_lines(&b, (int64_t[]){1}, 1);
    accounting_close(&l);
    free(text);
    accounts_fini(&b);
}

/* What was reported is known before the accounts are opened, and forgotten with what is taken back. */
static void what_was_told(void **state)
{
    (void)state;
    accounts b = accounts_make();
    error err = ERROR_INIT;
    int64_t told = 7;
    must(accounting_told(b.dir, &told, &err), &err);
    assert_int_equal(told, -1);
    accounting *l = accounting_at(&b, 0, 1);
    report_steps(l, 0, 2);
    must(accounting_told(b.dir, &told, &err), &err);
    assert_int_equal(told, 1);
    report(l, 3, 1);
    must(accounting_told(b.dir, &told, &err), &err);
    assert_int_equal(told, 3);
    accounting_close(&l);
    l = accounting_at(&b, 2, 1);
    must(accounting_told(b.dir, &told, &err), &err);
    assert_int_equal(told, 1);
    accounting_close(&l);
    accounts_fini(&b);
}

static void dropped_batches_are_not_counted(void **state)
{
    (void)state;
    accounts b = accounts_make();
    error err = ERROR_INIT;
    accounting *l = NULL;
    accounting_options o = {.dir = b.dir, .steps = job, .summary_steps = 1};
    o.steps.drop_last = true;
    must(accounting_open(&o, 4, 4, &l, &err), &err);
    assert_int_equal(accounting_totals_of(l)->examples, 36 + 16);
    accounting_close(&l);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_reports_does_not_show),
        cmocka_unit_test(a_step_waits_for_those_before_it),
        cmocka_unit_test(what_does_not_count_is_ignored),
        cmocka_unit_test(lost_reports_are_given_up),
        cmocka_unit_test(what_is_lost_is_marked),
        cmocka_unit_test(lines_come_by_steps_and_at_ends),
        cmocka_unit_test(the_first_loss_is_remembered),
        cmocka_unit_test(a_restart_takes_lines_back),
        cmocka_unit_test(dropped_batches_are_not_counted),
        cmocka_unit_test(what_was_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
