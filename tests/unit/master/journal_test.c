/*
 * The journal: cut or damaged anywhere it reads as what was written before, taken back it tells of
 * nothing that is computed again, and a ledger opened from it is the one that nobody disturbed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "master/books/journal.h"
#include "master/books/ledger.h"
#include "unit/master/support_books.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 37 examples in batches of 4, up to 4 a step: steps of 4, 4 and 2 slots, the last batch of 1 */
static const steps job = {.examples = 37, .batch_size = 4, .per_step = 4};
enum { PER_EPOCH = 3, STEPS = 12 * PER_EPOCH, MOST = 4096 };

/* What a slot has to say: numbers of all magnitudes, so that another order of sums shows. */
static slot_report report_of(int64_t step, uint32_t slot)
{
    rng r = rng_make(3, RNG_TEST, (uint64_t)(step * 100 + slot));
    slot_report s = {.step = step, .slot = slot, .examples = steps_slot(&job, step, slot).n};
    metric_add(&s.metrics, "loss", (double)rng_normal(&r, 0) * (double)(1u << rng_below(&r, 1, 30)),
               (double)s.examples);
    metric_add(&s.metrics, "accuracy", (double)rng_below(&r, 2, 5), (double)s.examples);
    return s;
}

static void check_metrics(const metric_set *a, const metric_set *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->at[i].name, b->at[i].name);
        assert_memory_equal(&a->at[i].sum, &b->at[i].sum, sizeof(double));
        assert_memory_equal(&a->at[i].count, &b->at[i].count, sizeof(double));
    }
}

static void check_sums(const tally_sums *a, const tally_sums *b)
{
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->examples, b->examples);
    check_metrics(&a->last_step, &b->last_step);
    check_metrics(&a->epoch, &b->epoch);
    for (size_t i = 0; i < TALLY_EPOCHS; i++)
        check_metrics(&a->epochs[i], &b->epochs[i]);
}

/* --- the file alone --- */

typedef struct seen {
    size_t n;
    journal_record records[MOST];
} seen;

static status remember(void *user, const journal_record *r, error *err)
{
    (void)err;
    seen *s = user;
    assert_true(s->n < MOST);
    s->records[s->n++] = *r;
    return OK;
}

/* Without waiting for the disk, as fs_write_atomic does. */
static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static size_t read_all(const char *path, seen *s)
{
    error err = ERROR_INIT;
    size_t end = 0;
    s->n = 0;
    must(journal_read(path, 7, remember, s, &end, &err), &err);
    return end;
}

static journal *open_at(const char *path, int64_t saved, int64_t until, bool expect_found)
{
    error err = ERROR_INIT;
    journal *j = NULL;
    bool found = !expect_found;
    tally_sums base = tally_sums_at(&job, saved);
    journal_place place = {.path = path, .job_id = 7, .saved = saved, .until = until};
    must(journal_open(&place, &base, &j, &found, &err), &err);
    assert_int_equal(found, expect_found);
    return j;
}

/* `n` steps, a BASE with the sums after every fourth, and a step that is closed. */
static void write_steps(journal *j, int64_t n)
{
    error err = ERROR_INIT;
    tally_sums zero = {.step = 0};
    tally *t = tally_create(&job, &zero);
    for (int64_t step = 0; step < n; step++) {
        for (uint32_t slot = step == 5; slot < steps_slots(&job, step); slot++) {
            slot_report r = report_of(step, slot);
            must(journal_report(j, &r, &err), &err);
            assert_true(tally_take(t, &r));
        }
        if (step == 5)
            must(journal_closed(j, step, &err), &err);
        assert_true(tally_advance(t, step == 5));
        if (step % 4 == 3)
            must(journal_base(j, tally_sums_of(t), &err), &err);
    }
    tally_destroy(&t);
}

static void check_same_records(const seen *whole, const seen *part)
{
    for (size_t i = 0; i < part->n; i++) {
        const journal_record *a = &whole->records[i], *b = &part->records[i];
        assert_int_equal(a->kind, b->kind);
        if (a->kind == JOURNAL_BASE) {
            check_sums(&a->base, &b->base);
            continue;
        }
        assert_int_equal(a->report.step, b->report.step);
        assert_int_equal(a->report.slot, b->report.slot);
        assert_int_equal(a->report.examples, b->report.examples);
        check_metrics(&a->report.metrics, &b->report.metrics);
    }
}

static void every_cut_is_a_clean_prefix(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    books b = books_make();
    char *path = jobdir_file(b.dir, "journal"), *cut = jobdir_file(b.dir, "cut");
    journal *j = open_at(path, 0, 0, false);
    write_steps(j, 10);
    journal_close(&j);
    seen *whole = xcalloc(1, sizeof *whole), *part = xcalloc(1, sizeof *part);
    buf bytes = BUF_INIT;
    must(fs_read(path, 1 << 20, &bytes, &err), &err);
    assert_int_equal(read_all(path, whole), bytes.size);
    assert_int_equal(whole->n, 1 + 3 * 10 + 4 - 1 + 1 + 2);
    size_t before = 0;
    for (size_t n = 0; n <= bytes.size; n++) {
        write_file(cut, bytes.data, n);
        size_t end = read_all(cut, part);
        assert_true(end <= n);
        assert_true(part->n == before || part->n == before + 1);
        check_same_records(whole, part);
        before = part->n;
    }
    assert_int_equal(before, whole->n);
    buf_fini(&bytes);
    free(whole);
    free(part);
    free(cut);
    free(path);
    books_fini(&b);
}

static void damage_ends_it(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    books b = books_make();
    char *path = jobdir_file(b.dir, "journal"), *bad = jobdir_file(b.dir, "bad");
    journal *j = open_at(path, 0, 0, false);
    write_steps(j, 6);
    journal_close(&j);
    seen *whole = xcalloc(1, sizeof *whole), *part = xcalloc(1, sizeof *part);
    buf bytes = BUF_INIT;
    must(fs_read(path, 1 << 20, &bytes, &err), &err);
    read_all(path, whole);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] = (char)(bytes.data[i] ^ (1 << i % 8));
        write_file(bad, bytes.data, bytes.size);
        size_t end = read_all(bad, part);
        assert_true(end <= i);
        check_same_records(whole, part);
        bytes.data[i] = (char)(bytes.data[i] ^ (1 << i % 8));
    }
    /* opened, it goes on behind the damage */
    bytes.data[bytes.size - 1] ^= 1;
    write_file(bad, bytes.data, bytes.size);
    j = open_at(bad, 0, 6, true);
    slot_report r = report_of(5, 3);
    must(journal_report(j, &r, &err), &err);
    journal_close(&j);
    assert_true(read_all(bad, part) > 0);
    assert_int_equal(part->records[part->n - 1].report.slot, 3);
    buf_fini(&bytes);
    free(whole);
    free(part);
    free(bad);
    free(path);
    books_fini(&b);
}

static void none_of_ours_begins_anew(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    books b = books_make();
    char *path = jobdir_file(b.dir, "journal");
    seen *s = xcalloc(1, sizeof *s);
    const char *const texts[] = {"", "TQJ", "something else entirely", "TQJ\2\0\0\0\0\7\0\0\0\0\0"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        write_file(path, texts[i], strlen(texts[i]));
        assert_int_equal(read_all(path, s), 0);
        journal *j = open_at(path, 4, 4, false);
        journal_close(&j);
        assert_true(read_all(path, s) > 0);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->records[0].base.step, 4);
    }
    size_t end = 1;
    s->n = 0;
    must(journal_read(path, 8, remember, s, &end, &err), &err); /* another job's */
    assert_int_equal(end, 0);
    assert_int_equal(s->n, 0);
    free(s);
    free(path);
    books_fini(&b);
}

/* Taken back to a checkpoint and a version, it holds just what leads there. */
static void taken_back_it_tells_of_no_later_step(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    books b = books_make();
    char *path = jobdir_file(b.dir, "journal");
    seen *s = xcalloc(1, sizeof *s);
    for (int64_t saved = 0; saved <= 13; saved += 1 + saved % 2) {
        must(fs_remove_tree(path, &err), &err);
        journal *j = open_at(path, 0, 0, false);
        write_steps(j, 14);
        journal_close(&j);
        int64_t until = saved + saved % 3;
        j = open_at(path, saved, until, true);
        read_all(path, s);
        assert_int_equal(s->records[0].kind, JOURNAL_BASE);
        int64_t base = saved / 4 * 4;
        assert_int_equal(s->records[0].base.step, base);
        size_t n = 1;
        for (int64_t t = base; t < until && t < 14; t++)
            n += steps_slots(&job, t);
        assert_int_equal(s->n, n); /* the closing stands for the report that is missing */
        assert_int_equal(journal_since_base(j), n - 1);
        journal_close(&j);
    }
    free(s);
    free(path);
    books_fini(&b);
}

static void a_checkpoint_trims_it(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    books b = books_make();
    char *path = jobdir_file(b.dir, "journal");
    seen *before = xcalloc(1, sizeof *before), *after = xcalloc(1, sizeof *after);
    journal *j = open_at(path, 0, 0, false);
    write_steps(j, 14);
    read_all(path, before);
    must(journal_trim(j, 3, &err), &err); /* the base at 0 is still needed */
    assert_int_equal(read_all(path, after), before->records[before->n - 1].end);
    must(journal_trim(j, 9, &err), &err);
    read_all(path, after);
    assert_int_equal(after->records[0].base.step, 8);
    check_sums(&after->records[0].base, &before->records[before->n - after->n].base);
    must(journal_trim(j, 13, &err), &err);
    slot_report r = report_of(14, 0);
    must(journal_report(j, &r, &err), &err);
    must(journal_sync(j, &err), &err);
    journal_close(&j);
    read_all(path, after);
    assert_int_equal(after->records[0].base.step, 12);
    assert_int_equal(after->records[after->n - 1].report.step, 14);
    free(before);
    free(after);
    free(path);
    books_fini(&b);
}

/* --- a ledger that lives on it --- */

static ledger *ledger_at(const books *b, int64_t saved, int64_t step)
{
    error err = ERROR_INIT;
    ledger *l = NULL;
    ledger_options o = {.dir = b->dir, .steps = job, .summary_steps = 2};
    must(ledger_open(&o, saved, step, &l, &err), &err);
    return l;
}

static void report(ledger *l, int64_t step, uint32_t slot)
{
    error err = ERROR_INIT;
    int64_t done;
    slot_report r = report_of(step, slot);
    must(ledger_report(l, step, slot, &r.metrics, r.examples, &done, &err), &err);
}

/* metrics.jsonl without what the clock has put there; the caller frees it. */
static char *lines_of(const books *b)
{
    char *text = books_text(b, "metrics.jsonl");
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
static char *scalars_of(const books *b)
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

/* Masters come and go at any moment: some reports are said, in a mixed order; then the books are
 * opened again, at a checkpoint all go back to or at the version that servers have by then. */
static void a_life_of_deaths(const books *b, uint64_t number)
{
    error err = ERROR_INIT;
    rng r = rng_make(17, RNG_TEST, number);
    int64_t saved = 0, step = 0;
    uint64_t at = 0;
    ledger *l = ledger_at(b, 0, 0);
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
        assert_int_equal(ledger_totals_of(l)->step, step);
        if (rng_below(&r, at++, 2)) { /* a checkpoint, of now or a little ago */
            saved += (int64_t)rng_below(&r, at++, (uint64_t)(step - saved + 1));
            must(ledger_sync(l, &err), &err);
            must(ledger_saved(l, saved, &err), &err);
        }
        if (rng_below(&r, at++, 2))
            step = saved; /* all go back */
        ledger_close(&l);
        l = ledger_at(b, saved, step);
        assert_int_equal(ledger_totals_of(l)->step, step);
    }
    ledger_close(&l);
}

static void deaths_do_not_show(void **state)
{
    (void)state;
    books b = books_make();
    ledger *whole = ledger_at(&b, 0, 0);
    for (int64_t t = 0; t < STEPS; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            report(whole, t, s);
    char *lines = lines_of(&b), *scalars = scalars_of(&b);
    assert_true(strlen(lines) > 1000 && strlen(scalars) > 1000);
    for (uint64_t c = 0; c < 2; c++) {
        books other = books_make();
        a_life_of_deaths(&other, c);
        ledger *l = ledger_at(&other, STEPS, STEPS);
        const ledger_totals *x = ledger_totals_of(whole), *y = ledger_totals_of(l);
        assert_int_equal(x->examples, y->examples);
        check_metrics(&x->last_step, &y->last_step);
        check_metrics(&x->last_epoch, &y->last_epoch);
        check_metrics(&x->epoch, &y->epoch);
        for (int64_t e = STEPS / PER_EPOCH - TALLY_EPOCHS; e < STEPS / PER_EPOCH; e++)
            check_metrics(ledger_epoch(whole, e), ledger_epoch(l, e));
        char *same_lines = lines_of(&other), *same_scalars = scalars_of(&other);
        assert_string_equal(lines, same_lines);
        assert_string_equal(scalars, same_scalars);
        free(same_lines);
        free(same_scalars);
        ledger_close(&l);
        books_fini(&other);
    }
    free(lines);
    free(scalars);
    ledger_close(&whole);
    books_fini(&b);
}

/* Reports that the old master heard but not all of: the rest is said again, or given up. */
static void the_open_steps_stay_open(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    int64_t done;
    books b = books_make();
    ledger *l = ledger_at(&b, 0, 0);
    for (int64_t t = 0; t < 5; t++)
        for (uint32_t s = 0; s < steps_slots(&job, t); s++)
            if (t != 2 || s != 1)
                report(l, t, s);
    assert_int_equal(ledger_totals_of(l)->step, 2);
    ledger_close(&l);
    l = ledger_at(&b, 0, 4); /* servers are at version 4 */
    assert_int_equal(ledger_totals_of(l)->step, 2);
    report(l, 2, 1);
    assert_int_equal(ledger_totals_of(l)->step, 4); /* step 4 is computed again */
    ledger_close(&l);
    l = ledger_at(&b, 0, 4);
    assert_int_equal(ledger_totals_of(l)->step, 4);
    report(l, 4, 0);
    must(ledger_settle(l, 5, &done, &err), &err);
    assert_int_equal(done, 1);
    int64_t examples = ledger_totals_of(l)->examples;
    ledger_close(&l);
    l = ledger_at(&b, 0, 5); /* what was given up stays so */
    assert_int_equal(ledger_totals_of(l)->step, 5);
    assert_int_equal(ledger_totals_of(l)->examples, examples);
    ledger_close(&l);
    books_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_a_clean_prefix),
        cmocka_unit_test(damage_ends_it),
        cmocka_unit_test(none_of_ours_begins_anew),
        cmocka_unit_test(taken_back_it_tells_of_no_later_step),
        cmocka_unit_test(a_checkpoint_trims_it),
        cmocka_unit_test(deaths_do_not_show),
        cmocka_unit_test(the_open_steps_stay_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
