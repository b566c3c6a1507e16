/*
 * The journal: cut or damaged anywhere it reads as what was written before, and taken back it tells
 * of nothing that is computed again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "master/accounting/journal.h"
#include "unit/master/support_accounts.h"
#include "unit/master/support_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static void check_sums(const completed_steps *a, const completed_steps *b)
{
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->examples, b->examples);
    check_metrics(&a->last_step, &b->last_step);
    check_metrics(&a->epoch, &b->epoch);
    for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++)
        check_metrics(&a->epochs[i], &b->epochs[i]);
}

typedef struct seen {
    size_t n;
    journal_record records[MOST];
} seen;

static void remember(void *user, const journal_record *r)
{
    seen *s = user;
    assert_true(s->n < MOST);
    s->records[s->n++] = *r;
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
    completed_steps base = completed_steps_at(&job, saved);
    journal_place place = {.path = path, .job_id = 7, .saved = saved, .until = until};
    must(journal_open(&place, &base, &j, &found, &err), &err);
    assert_int_equal(found, expect_found);
    return j;
}

/* `n` steps, a BASE with the sums after every fourth, and a step that is closed. */
static void write_steps(journal *j, int64_t n)
{
    completed_steps zero = {.step = 0};
    metric_sums *t = metric_sums_create(&job, &zero, NULL);
    for (int64_t step = 0; step < n; step++) {
        for (uint32_t slot = step == 5; slot < steps_slots(&job, step); slot++) {
            slot_report r = report_of(step, slot);
            journal_report(j, &r);
            assert_true(metric_sums_take(t, &r));
        }
        if (step == 5)
            journal_closed(j, step);
        assert_true(metric_sums_advance(t, step == 5));
        if (step % 4 == 3)
            journal_base(j, metric_sums_completed(t));
    }
    metric_sums_destroy(&t);
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
    accounts b = accounts_make();
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
    accounts_fini(&b);
}

static void damage_ends_it(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
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
    journal_report(j, &r);
    journal_close(&j);
    assert_true(read_all(bad, part) > 0);
    assert_int_equal(part->records[part->n - 1].report.slot, 3);
    buf_fini(&bytes);
    free(whole);
    free(part);
    free(bad);
    free(path);
    accounts_fini(&b);
}

static void none_of_ours_begins_anew(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
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
    accounts_fini(&b);
}

/* Puts the head of another version there: 1 has no checksum, later ones have it in its place. */
static void set_version(buf *file, int version)
{
    unsigned char *head = (unsigned char *)file->data;
    head[3] = (unsigned char)version;
    uint32_t crc = version > 1 ? crc32c(crc32c(0, head, 4), head + 8, 8) : 0;
    memcpy(head + 4, &crc, 4);
}

/* Without counts records are those of version 1. What is taken back has the version of this program. */
static void an_older_version_goes_on(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
    char *path = jobdir_file(b.dir, "journal"), *old = jobdir_file(b.dir, "old");
    journal *j = open_at(path, 0, 0, false);
    write_steps(j, 10);
    journal_close(&j);
    seen *whole = xcalloc(1, sizeof *whole), *part = xcalloc(1, sizeof *part);
    buf bytes = BUF_INIT, after = BUF_INIT;
    must(fs_read(path, 1 << 20, &bytes, &err), &err);
    assert_int_equal(bytes.data[3], 2);
    read_all(path, whole);
    set_version(&bytes, 1);
    write_file(old, bytes.data, bytes.size);
    assert_int_equal(read_all(old, part), bytes.size);
    assert_int_equal(part->n, whole->n);
    check_same_records(whole, part);
    j = open_at(old, 0, 10, true);
    journal_close(&j);
    must(fs_read(old, 1 << 20, &after, &err), &err);
    assert_int_equal(after.data[3], 2);
    read_all(old, part);
    assert_int_equal(part->n, whole->n - 2); /* the sums that follow from the others */
    buf_fini(&bytes);
    buf_fini(&after);
    free(whole);
    free(part);
    free(old);
    free(path);
    accounts_fini(&b);
}

/* Nothing of it is lost to this program. */
static void a_newer_version_is_refused(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
    char *path = jobdir_file(b.dir, "journal");
    journal *j = open_at(path, 0, 0, false);
    write_steps(j, 4);
    journal_close(&j);
    seen *s = xcalloc(1, sizeof *s);
    buf bytes = BUF_INIT, after = BUF_INIT;
    must(fs_read(path, 1 << 20, &bytes, &err), &err);
    set_version(&bytes, 3);
    write_file(path, bytes.data, bytes.size);
    size_t end = 0;
    bool found = false;
    completed_steps base = completed_steps_at(&job, 0);
    journal_place place = {.path = path, .job_id = 7};
    assert_int_equal(journal_read(path, 7, remember, s, &end, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "is a journal of version 3, and this program reads those up to 2: go on with the "
                                     "program that wrote it"));
    assert_int_equal(s->n, 0);
    error_clear(&err);
    assert_int_equal(journal_open(&place, &base, &j, &found, &err), E_CONFIG);
    error_clear(&err);
    must(fs_read(path, 1 << 20, &after, &err), &err);
    assert_true(after.size == bytes.size && memcmp(after.data, bytes.data, bytes.size) == 0);
    must(journal_read(path, 8, remember, s, &end, &err), &err); /* another job's */
    buf_fini(&bytes);
    buf_fini(&after);
    free(s);
    free(path);
    accounts_fini(&b);
}

/* Taken back to a checkpoint and a version, it holds just what leads there. */
static void taken_back_it_tells_of_no_later_step(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
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
    accounts_fini(&b);
}

/* Older checkpoints than the newest can be gone back to as well: what leads to them stays, if it is there. */
static void it_reaches_back_to_older_checkpoints(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
    char *path = jobdir_file(b.dir, "journal");
    seen *s = xcalloc(1, sizeof *s);
    static const int64_t begins[][2] = {{0, 12}, {3, 8}, {8, 4}, {12, 0}, {13, 0}}; /* behind; of BASE */
    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        bool found = false;
        must(fs_remove_tree(path, &err), &err);
        journal *j = open_at(path, 0, 0, false);
        write_steps(j, 14);
        journal_close(&j);
        completed_steps base = completed_steps_at(&job, 12);
        journal_place place = {
            .path = path, .job_id = 7, .saved = 12, .behind = begins[i][0], .until = 14};
        must(journal_open(&place, &base, &j, &found, &err), &err);
        assert_true(found);
        read_all(path, s);
        assert_int_equal(s->records[0].base.step, begins[i][1]);
        journal_close(&j);
    }
    free(s);
    free(path);
    accounts_fini(&b);
}

static void a_checkpoint_trims_it(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    accounts b = accounts_make();
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
    journal_report(j, &r);
    must(journal_sync(j, &err), &err);
    journal_close(&j);
    read_all(path, after);
    assert_int_equal(after->records[0].base.step, 12);
    assert_int_equal(after->records[after->n - 1].report.step, 14);
    free(before);
    free(after);
    free(path);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_a_clean_prefix),
        cmocka_unit_test(damage_ends_it),
        cmocka_unit_test(none_of_ours_begins_anew),
        cmocka_unit_test(an_older_version_goes_on),
        cmocka_unit_test(a_newer_version_is_refused),
        cmocka_unit_test(taken_back_it_tells_of_no_later_step),
        cmocka_unit_test(it_reaches_back_to_older_checkpoints),
        cmocka_unit_test(a_checkpoint_trims_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
