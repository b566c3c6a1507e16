/*
 * A accounting that lives on its journal: opened again, by whomever and wherever it stopped, it is the
 * one that nobody disturbed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "master/accounting/accounting.h"
#include "unit/master/support_accounts.h"
#include "unit/master/support_reports.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PER_EPOCH = 3, STEPS = 12 * PER_EPOCH, MOST = 4096 };

static accounting *accounting_at(const accounts *b, int64_t saved, int64_t step)
{
    error err = ERROR_INIT;
    accounting *l = NULL;
    accounting_options o = {.dir = b->dir, .steps = job, .summary_steps = 2};
    must(accounting_open(&o, saved, step, &l, &err), &err);
    return l;
}

static void report(accounting *l, int64_t step, uint32_t slot)
{
    slot_report r = report_of(step, slot);
    accounting_report(l, &r);
}

/* metrics.jsonl without what the clock has put there; the caller frees it. */
static char *lines_of(const accounts *b)
{
    char *text = accounts_text(b, "metrics.jsonl");
    buf all = BUF_INIT;
    buf_adds(&all, "");
    for (char *line = text, *end; *line; line = end + 1) {
        json_t *value = NULL;
        end = strchr(line, '\n');
        assert_non_null(end);
        assert_int_equal(json_parse(line, (size_t)(end - line), "a line", E_DATA, &value, NULL),
                         OK);
        json_object_del(value, "examples_per_s");
        json_object_del(value, "wall_s");
        char *bare = json_text(value);
        buf_addf(&all, "%s\n", bare);
        free(bare);
        json_decref(value);
    }
    free(text);
    return buf_detach(&all);
}

typedef struct scalar_list {
    char *at[MOST];
    size_t n;
} scalar_list;

static status add_scalar(void *user, const event_record *r, error *err)
{
    (void)err;
    scalar_list *s = user;
    assert_true(s->n < MOST);
    if (r->kind == EVENT_SCALAR && strcmp(r->tag, "training/examples_per_s") != 0)
        s->at[s->n++] = xasprintf("%06lld %s %a\n", (long long)r->step, r->tag, r->value);
    return OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The scalars of all event files by step and tag; the caller frees it. */
static char *scalars_of(const accounts *b)
{
    error err = ERROR_INIT;
    char **names = NULL;
    size_t n = 0;
    scalar_list s = {.n = 0};
    buf all = BUF_INIT;
    buf_adds(&all, "");
    must(fs_list(jobdir_path(b->dir), &names, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], "events.out", 10) == 0) {
            char *path = jobdir_file(b->dir, "%s", names[i]);
            must(events_read(path, add_scalar, &s, &err), &err);
            free(path);
        }
    fs_list_free(names, n);
    qsort(s.at, s.n, sizeof *s.at, by_text);
    for (size_t i = 0; i < s.n; i++) {
        buf_adds(&all, s.at[i]);
        free(s.at[i]);
    }
    return buf_detach(&all);
}

/* Masters come and go at any moment: some reports are said, in a mixed order; then the accounts are
 * opened again, at a checkpoint all go back to or at the version that servers have by then. */
static void a_life_of_deaths(const accounts *b, uint64_t number)
{
    error err = ERROR_INIT;
    rng r = rng_make(17, RNG_TEST, number);
    int64_t saved = 0, step = 0;
    uint64_t at = 0;
    accounting *l = accounting_at(b, 0, 0);
    while (step < STEPS) {
        int64_t until = step + 1 + (int64_t)rng_below(&r, at++, 6);
        for (; step < until && step < STEPS; step++)
            for (uint32_t k = steps_slots(&job, step), first = (uint32_t)rng_below(&r, at++, k),
                          i = 0;
                 i < k; i++)
                report(l, step, (first + i) % k);
        for (uint32_t s = 0; step < STEPS && s < rng_below(&r, at, 4); s++)
            if (s + 1 < steps_slots(&job, step))
                report(l, step, s); /* of a step that does not come to its end */
        at++;
        assert_int_equal(accounting_totals_of(l)->step, step);
        if (rng_below(&r, at++, 2)) { /* a checkpoint, of now or a little ago */
            saved += (int64_t)rng_below(&r, at++, (uint64_t)(step - saved + 1));
            must(accounting_sync(l, &err), &err);
            must(accounting_saved(l, saved, &err), &err);
        }
        if (rng_below(&r, at++, 2))
            step = saved; /* all go back */
        accounting_close(&l);
        l = accounting_at(b, saved, step);
        assert_int_equal(accounting_totals_of(l)->step, step);
    }
    accounting_close(&l);
}

static void deaths_do_not_show(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *whole = accounting_at(&b, 0, 0);
    for (int64_t t = 0; t < STEPS; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            report(whole, t, s);
    char *lines = lines_of(&b), *scalars = scalars_of(&b);
    assert_true(strlen(lines) > 1000 && strlen(scalars) > 1000);
    for (uint64_t c = 0; c < 2; c++) {
        accounts other = accounts_make();
        a_life_of_deaths(&other, c);
        accounting *l = accounting_at(&other, STEPS, STEPS);
        const accounting_totals *x = accounting_totals_of(whole), *y = accounting_totals_of(l);
        assert_int_equal(x->examples, y->examples);
        check_metrics(&x->last_step, &y->last_step);
        check_metrics(&x->last_epoch, &y->last_epoch);
        check_metrics(&x->epoch, &y->epoch);
        for (int64_t e = STEPS / PER_EPOCH - METRIC_SUMS_EPOCHS; e < STEPS / PER_EPOCH; e++)
            check_metrics(accounting_epoch(whole, e), accounting_epoch(l, e));
        char *same_lines = lines_of(&other), *same_scalars = scalars_of(&other);
        assert_string_equal(lines, same_lines);
        assert_string_equal(scalars, same_scalars);
        free(same_lines);
        free(same_scalars);
        accounting_close(&l);
        accounts_fini(&other);
    }
    free(lines);
    free(scalars);
    accounting_close(&whole);
    accounts_fini(&b);
}

/* Reports that the old master heard but not all of: the rest is said again, or given up. */
static void the_open_steps_stay_open(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounting *l = accounting_at(&b, 0, 0);
    for (int64_t t = 0; t < 5; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            if (t != 2 || s != 1)
                report(l, t, s);
    assert_int_equal(accounting_totals_of(l)->step, 2);
    accounting_close(&l);
    l = accounting_at(&b, 0, 4); /* servers are at version 4 */
    assert_int_equal(accounting_totals_of(l)->step, 2);
    report(l, 2, 1);
    assert_int_equal(accounting_totals_of(l)->step, 4); /* step 4 is computed again */
    accounting_close(&l);
    l = accounting_at(&b, 0, 4);
    assert_int_equal(accounting_totals_of(l)->step, 4);
    report(l, 4, 0);
    assert_int_equal(accounting_settle(l, 5), 1);
    int64_t examples = accounting_totals_of(l)->examples;
    accounting_close(&l);
    l = accounting_at(&b, 0, 5); /* what was given up stays so */
    assert_int_equal(accounting_totals_of(l)->step, 5);
    assert_int_equal(accounting_totals_of(l)->examples, examples);
    accounting_close(&l);
    accounts_fini(&b);
}

/* While the disk takes nothing, what is reported waits in memory and counts as not recorded; then every line is
 * there once. */
static void a_full_disk_is_waited_out(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts whole = accounts_make(), b = accounts_make();
    accounting *undisturbed = accounting_at(&whole, 0, 0), *l = accounting_at(&b, 0, 0);
    struct rlimit before, none = {.rlim_cur = 0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int64_t t = 0; t < 4; t++) {
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            report(undisturbed, t, s);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, t > 1 ? &none : &before), 0);
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            report(l, t, s);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    }
    assert_true(accounting_waiting(l) > 0);
    assert_int_equal(accounting_totals_of(l)->step, 4);
    assert_int_equal(accounting_recorded(l), 2); /* nobody may forget what comes from there on */
    must(accounting_flush(l, &err), &err);
    signal(SIGXFSZ, handler);
    assert_int_equal(accounting_waiting(l), 0);
    assert_int_equal(accounting_recorded(l), 4);
    accounting_close(&l);
    accounting_close(&undisturbed);
    char *lines = lines_of(&b), *expected = lines_of(&whole);
    assert_string_equal(lines, expected);
    l = accounting_at(&b, 0, 4);
    assert_int_equal(accounting_totals_of(l)->step, 4);
    accounting_close(&l);
    free(lines);
    free(expected);
    accounts_fini(&b);
    accounts_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deaths_do_not_show),
        cmocka_unit_test(the_open_steps_stay_open),
        cmocka_unit_test(a_full_disk_is_waited_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
