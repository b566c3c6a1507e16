/*
 * Going back in event files: what is beyond a step leaves every file of a folder, whole records
 * stay as they were, and damage of any kind neither crashes nor takes more than itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "common/store/events.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, MOST = 256 };

typedef struct seen {
    size_t n;
    int64_t steps[MOST];
    event_kind kinds[MOST];
} seen;

/* Without waiting for the disk, as fs_write_atomic does. */
static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static status remember(void *user, const event_record *r, error *err)
{
    (void)err;
    seen *s = user;
    assert_true(s->n < MOST);
    s->steps[s->n] = r->step;
    s->kinds[s->n++] = r->kind;
    return OK;
}

/* Steps 1 to STEPS, two scalars each; the histogram of every fourth comes two steps late. */
static void write_events(const char *dir)
{
    const float values[] = {1, 2, 3};
    events_histogram *h = events_histogram_create();
    events_histogram_add(h, values, COUNT_OF(values));
    events *e = NULL;
    assert_int_equal(events_open(dir, &e, NULL), OK);
    for (int64_t t = 1; t <= STEPS; t++) {
        events_scalar(e, t, "loss", (float)t);
        events_scalar(e, t, "rate", (float)t);
        if (t % 4 == 2)
            events_add_histogram(e, t - 2, "weights", h);
    }
    events_close(&e);
    events_histogram_destroy(&h);
}

/* The n-th event file of a folder, by name; the caller frees it. */
static char *file_in(const char *dir, size_t at, size_t expected)
{
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(dir, &names, &n, NULL), OK);
    assert_int_equal(n, expected);
    char *path = xasprintf("%s/%s", dir, names[at]);
    fs_list_free(names, n);
    return path;
}

static void check_file(const char *path, int64_t scalars, int64_t others)
{
    seen s = {.n = 0};
    assert_int_equal(events_read(path, remember, &s, NULL), OK);
    size_t i = 0;
    assert_int_equal(s.kinds[i++], EVENT_VERSION);
    for (int64_t t = 1; t <= STEPS; t++) {
        for (int k = 0; k < 2 && t <= scalars; k++, i++) {
            assert_int_equal(s.kinds[i], EVENT_SCALAR);
            assert_int_equal(s.steps[i], t);
        }
        if (t % 4 == 2 && t - 2 <= others) {
            assert_int_equal(s.kinds[i], EVENT_HISTOGRAM);
            assert_int_equal(s.steps[i++], t - 2);
        }
    }
    assert_int_equal(s.n, i);
}

static void later_steps_leave_every_file(void **state)
{
    (void)state;
    for (int64_t step = -1; step <= STEPS + 1; step++) {
        char *dir = folder_file("every-%lld", (long long)step);
        write_events(dir);
        write_events(dir);
        assert_int_equal(events_rewind(dir, &(events_bounds){step, step}, NULL), OK);
        for (size_t i = 0; i < 2; i++) {
            char *path = file_in(dir, i, 2);
            check_file(path, step, step);
            free(path);
        }
        int64_t last = -2, expected = step > STEPS ? STEPS : step > 0 ? step : -1;
        assert_int_equal(events_last_step(dir, "rate", &last, NULL), OK);
        assert_int_equal(last, expected);
        assert_int_equal(events_last_step(dir, "weights", &last, NULL), OK);
        assert_int_equal(last, -1);
        free(dir);
    }
}

static void scalars_go_back_alone(void **state)
{
    (void)state;
    char *dir = folder_file("alone");
    write_events(dir);
    assert_int_equal(events_rewind(dir, &(events_bounds){3, INT64_MAX}, NULL), OK);
    char *path = file_in(dir, 0, 1);
    check_file(path, 3, STEPS);
    free(path);
    free(dir);
}

static void nothing_there_is_fine(void **state)
{
    (void)state;
    int64_t last = 0;
    char *dir = folder_file("nowhere");
    assert_int_equal(events_rewind(dir, &(events_bounds){3, 3}, NULL), OK);
    assert_int_equal(events_last_step(dir, "loss", &last, NULL), OK);
    assert_int_equal(last, -1);
    free(dir);
}

/* Cut anywhere: whole records of steps that count stay, half of one goes. */
static void half_a_record_goes(void **state)
{
    (void)state;
    char *dir = folder_file("half");
    write_events(dir);
    char *path = file_in(dir, 0, 1);
    buf bytes = BUF_INIT, left = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &bytes, NULL), OK);
    for (size_t n = 0; n <= bytes.size; n += n < 200 ? 1 : 13) {
        write_file(path, bytes.data, n);
        seen before = {.n = 0}, after = {.n = 0};
        assert_int_equal(events_read(path, remember, &before, NULL), OK);
        assert_int_equal(events_rewind(dir, &(events_bounds){5, 5}, NULL), OK);
        assert_int_equal(events_read(path, remember, &after, NULL), OK);
        size_t kept = 0;
        for (size_t i = 0; i < before.n; i++)
            if (before.steps[i] <= 5)
                assert_int_equal(after.steps[kept++], before.steps[i]);
        assert_int_equal(after.n, kept);
        buf_clear(&left);
        assert_int_equal(fs_read(path, 1 << 20, &left, NULL), OK);
        assert_true(left.size <= n);
        if (before.n == 0)
            assert_int_equal(left.size, n); /* no event file: not ours to cut */
    }
    buf_fini(&left);
    buf_fini(&bytes);
    free(path);
    free(dir);
}

/* Bits flip anywhere: what stands before them is kept, and nothing that never was there appears. */
static void damage_takes_no_more_than_itself(void **state)
{
    (void)state;
    char *dir = folder_file("damage");
    write_events(dir);
    char *path = file_in(dir, 0, 1);
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &bytes, NULL), OK);
    rng r = rng_make(5, RNG_TEST, 1);
    char *damaged = xmalloc(bytes.size);
    for (uint64_t c = 0; c < 400; c++) {
        memcpy(damaged, bytes.data, bytes.size);
        for (uint64_t k = 0; k <= c % 3; k++)
            damaged[rng_below(&r, 8 * c + k, bytes.size)] ^= (char)(1 << c % 8);
        write_file(path, damaged, bytes.size);
        seen before = {.n = 0}, after = {.n = 0};
        assert_int_equal(events_read(path, remember, &before, NULL), E_DATA);
        assert_int_equal(events_rewind(dir, &(events_bounds){7, 7}, NULL), OK);
        status st = events_read(path, remember, &after, NULL);
        assert_int_equal(st, before.n ? OK : E_DATA);
        size_t kept = 0;
        for (size_t i = 0; i < before.n; i++)
            if (before.steps[i] <= 7)
                assert_int_equal(after.steps[kept++], before.steps[i]);
        assert_int_equal(after.n, kept);
    }
    free(damaged);
    buf_fini(&bytes);
    free(path);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_steps_leave_every_file),
        cmocka_unit_test(scalars_go_back_alone),
        cmocka_unit_test(nothing_there_is_fine),
        cmocka_unit_test(half_a_record_goes),
        cmocka_unit_test(damage_takes_no_more_than_itself),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
