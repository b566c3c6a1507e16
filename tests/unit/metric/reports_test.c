/* Reports: said until they are recorded, however the connections and eras come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "metric/reports.h"

#include <stdlib.h>

enum { MOST = 8192 };

typedef struct said {
    size_t n;
    int64_t steps[MOST];
    uint32_t slots[MOST];
} said;

static status hear(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *payload,
                   error *err)
{
    (void)err;
    said *s = user;
    const Wire__Report *r = (const Wire__Report *)payload;
    assert_true(s->n < MOST);
    assert_int_equal(r->examples, step * 10 + slot);
    assert_int_equal(r->lane, slot + 1);
    assert_true(r->seconds == 0.25);
    assert_int_equal(r->n_metrics, 2);
    assert_string_equal(r->metrics[0]->name, "loss");
    assert_true(r->metrics[0]->sum == (double)step);
    assert_string_equal(r->metrics[1]->name, "accuracy");
    assert_true(r->metrics[1]->count == 3);
    s->steps[s->n] = step;
    s->slots[s->n++] = slot;
    return OK;
}

static void add(reports *r, int64_t step, uint32_t slot, said *s)
{
    slot_report m = {.step = step,
                     .slot = slot,
                     .lane = (int32_t)slot + 1,
                     .examples = step * 10 + slot,
                     .seconds = 0.25};
    metric_add(&m.metrics, "loss", (double)step, 1);
    metric_add(&m.metrics, "accuracy", 2, 3);
    assert_int_equal(reports_add(r, &m, s ? hear : NULL, s, NULL), OK);
}

/* Those of few steps and slots. */
static size_t count(const reports *r)
{
    size_t n = 0;
    for (int64_t t = 0; t < 8; t++)
        for (uint32_t k = 0; k < 8; k++)
            n += reports_have(r, t, k, k + 1);
    return n;
}

static void check(const said *s, const int64_t *reported, size_t n)
{
    assert_int_equal(s->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s->steps[i], reported[i]);
}

static void what_is_not_recorded_is_said_again(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    add(r, 0, 0, s);
    add(r, 0, 1, s);
    add(r, 1, 0, NULL); /* nobody to say it to */
    check(s, (int64_t[]){0, 0}, 2);
    s->n = 0;
    assert_int_equal(reports_say_all(r, hear, s, NULL), OK);
    check(s, (int64_t[]){0, 0, 1}, 3);
    assert_int_equal(s->slots[1], 1);

    s->n = 0;
    assert_int_equal(reports_recorded(r, 1, 1, hear, s, NULL), OK);
    assert_int_equal(count(r), 1);
    check(s, NULL, 0);
    assert_int_equal(reports_say_all(r, hear, s, NULL), OK);
    check(s, (int64_t[]){1}, 1);
    assert_int_equal(reports_recorded(r, 2, 2, hear, s, NULL), OK);
    assert_int_equal(count(r), 0);
    reports_destroy(&r);
    reports_destroy(&r);
    free(s);
}

/* One that the master goes without is said again, less often with time. */
static void what_got_lost_is_said_again(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    add(r, 5, 0, s);
    s->n = 0;
    const size_t expected[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(reports_recorded(r, 5, 5, hear, s, NULL), OK);
        assert_int_equal(s->n, expected[i]);
    }
    reports_destroy(&r);
    free(s);
}

static void an_era_takes_back_what_is_computed_again(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    for (int64_t t = 0; t < 6; t++)
        add(r, t, 0, NULL);
    reports_begin(r, 4);
    assert_int_equal(reports_say_all(r, hear, s, NULL), OK);
    check(s, (int64_t[]){0, 1, 2, 3}, 4);
    reports_destroy(&r);
    free(s);
}

/* A master that is away for long: nothing is lost. */
static void all_are_kept(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    for (int64_t t = 0; t < MOST; t++)
        add(r, t, (uint32_t)(t % 3), NULL);
    assert_int_equal(reports_say_all(r, hear, s, NULL), OK);
    assert_int_equal(s->n, MOST);
    for (int64_t t = 0; t < MOST; t++)
        assert_int_equal(s->steps[t], t);
    reports_destroy(&r);
    free(s);
}

/* What a push may still go out with is kept though it is recorded, and not said again. */
static void what_is_recorded_may_be_kept(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    for (int64_t t = 0; t < 4; t++)
        add(r, t, 0, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(reports_recorded(r, 3, 1, hear, s, NULL), OK);
    assert_int_equal(count(r), 3);
    check(s, (int64_t[]){3}, 1);
    reports_destroy(&r);
    free(s);
}

static void slots_of_a_node_are_found(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    add(r, 7, 3, NULL);
    add(r, 6, 1, NULL);
    add(r, 7, 1, NULL);
    add(r, 7, 2, NULL);
    add(r, 7, 2, NULL); /* takes the place of the first */
    assert_int_equal(count(r), 4);
    assert_true(reports_have(r, 7, 1, 4));
    assert_true(reports_have(r, 7, 2, 3));
    assert_false(reports_have(r, 7, 0, 2));
    assert_false(reports_have(r, 7, 3, 5));
    assert_false(reports_have(r, 6, 0, 2));
    assert_false(reports_have(r, 8, 0, 1));
    assert_int_equal(reports_say_of(r, 7, 0, 3, hear, s, NULL), OK);
    check(s, (int64_t[]){7, 7}, 2);
    assert_int_equal(s->slots[0], 1);
    assert_int_equal(s->slots[1], 2);
    reports_destroy(&r);
    free(s);
}

static void a_step_goes_to_another_list(void **state)
{
    (void)state;
    reports *from = reports_create(), *to = reports_create();
    add(from, 4, 0, NULL);
    add(from, 5, 0, NULL);
    add(from, 5, 1, NULL);
    add(from, 6, 0, NULL);
    reports_move(from, 5, to, 2);
    assert_int_equal(count(from), 2);
    assert_false(reports_have(from, 5, 0, 1));
    assert_true(reports_have(from, 6, 0, 1));
    assert_int_equal(count(to), 2);
    assert_true(reports_have(to, 2, 0, 2));
    reports_move(from, 5, to, 2);
    assert_int_equal(count(to), 2);
    reports_destroy(&from);
    reports_destroy(&to);
}

/* Another master may know less than the last one: at its first word all that it goes without is said. */
static void all_is_said_to_the_next_master(void **state)
{
    (void)state;
    reports *r = reports_create();
    said *s = xcalloc(1, sizeof *s);
    add(r, 0, 0, NULL);
    add(r, 1, 0, NULL);
    reports_renew(r);
    assert_int_equal(reports_recorded(r, 1, 1, hear, s, NULL), OK);
    check(s, (int64_t[]){1}, 1);
    reports_clear(r);
    assert_int_equal(count(r), 0);
    reports_destroy(&r);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_recorded_is_said_again),
        cmocka_unit_test(what_got_lost_is_said_again),
        cmocka_unit_test(an_era_takes_back_what_is_computed_again),
        cmocka_unit_test(all_are_kept),
        cmocka_unit_test(what_is_recorded_may_be_kept),
        cmocka_unit_test(slots_of_a_node_are_found),
        cmocka_unit_test(a_step_goes_to_another_list),
        cmocka_unit_test(all_is_said_to_the_next_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
