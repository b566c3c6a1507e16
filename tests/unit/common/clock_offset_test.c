/* Offsets of clocks: what is said holds for clocks that drift and ways that are unequal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "common/live/clock_offset.h"

#include <math.h>

/* Two clocks over true time, whose rates differ from it. */
typedef struct clocks {
    double begin_us, ours_ppm, theirs_ppm, offset_us;
} clocks;

static double ours(const clocks *c, double t)
{
    return c->begin_us + t * (1 + c->ours_ppm * 1e-6);
}

static double theirs(const clocks *c, double t)
{
    return c->begin_us + c->offset_us + t * (1 + c->theirs_ppm * 1e-6);
}

/* The longest of some ways is a hundred times the shortest. */
static double way_us(const rng *r, uint64_t number, double least)
{
    double u = (double)rng_uniform(r, number);
    return least * (1 + 99 * u * u * u * u);
}

/* A trip a second for ten minutes, there and back unequal; between them what is said holds, and is not vague. */
static void check_clocks(const clocks *c, double there_us, double back_us)
{
    enum { TRIPS = 600 };
    const rng r = rng_make(7, RNG_TEST, 0);
    clock_offset o = {.n = 0};
    clock_estimate e;
    assert_false(clock_offset_now(&o, 5, &e));
    for (uint64_t i = 0; i < TRIPS; i++) {
        double sent = (double)i * 1e6, read = sent + way_us(&r, 2 * i, there_us);
        double back = read + way_us(&r, 2 * i + 1, back_us);
        clock_offset_add(&o, (int64_t)ours(c, sent), (int64_t)theirs(c, read), (int64_t)ours(c, back));
        for (int k = 1; k <= 5; k++) {
            double t = back + k * 1e5, truth = theirs(c, t) - ours(c, t);
            assert_true(clock_offset_now(&o, (int64_t)ours(c, t), &e));
            assert_true(fabs((double)e.offset_us - truth) <= (double)e.error_us);
            /* the best of sixteen ways, half of it, and of its age */
            assert_true((double)e.error_us <= 50 * (there_us + back_us) + 200);
        }
    }
    double shortest = (there_us + back_us) / 2;
    assert_true((double)e.error_us < 10 * shortest + 16 * 200);
}

static void what_is_said_holds(void **state)
{
    (void)state;
    static const clocks cases[] = {
        {1e9, 0, 0, 0},
        {1e12, 0, 0, -9e11},          /* theirs began long after ours */
        {1e6, 100, -100, 5e12},
        {1e6, -100, 100, 5e5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_clocks(&cases[i], 50, 50);
        check_clocks(&cases[i], 20, 2000); /* a hundred times as long back */
        check_clocks(&cases[i], 30000, 100);
    }
}

static void nonsense_is_left_out(void **state)
{
    (void)state;
    clock_offset o = {.n = 0};
    clock_estimate e;
    clock_offset_add(&o, 10, 20, 9);
    clock_offset_add(&o, -1, 20, 9);
    clock_offset_add(&o, 1, INT64_MAX, 9);
    clock_offset_add(&o, 1, INT64_MIN, 9);
    clock_offset_add(&o, 1, 2, INT64_MAX);
    assert_false(clock_offset_now(&o, 11, &e));
    clock_offset_add(&o, 10, 115, 20);
    assert_true(clock_offset_now(&o, 20, &e));
    assert_int_equal(e.offset_us, 100);
    assert_true(e.error_us >= 5 && e.error_us < 10);
}

static void a_bound_ages_and_a_masters_own_is_exact(void **state)
{
    (void)state;
    clock_estimate e, said = {.offset_us = -300, .error_us = 40, .at_us = 1000};
    assert_false(clock_master_now(1000, &e));
    clock_master_learn(&said);
    assert_true(clock_master_now(1000, &e));
    assert_true(e.offset_us == -300 && e.error_us == 40);
    assert_true(clock_master_now(1000 + 10 * CLOCK_DRIFT, &e));
    assert_true(e.offset_us == -300 && e.error_us == 50);
    clock_master_learn(&(clock_estimate){.error_us = 0});
    assert_false(clock_master_now(1000, &e));
    clock_master_is_here();
    clock_master_learn(&said);
    assert_true(clock_master_now(2000, &e));
    assert_true(e.offset_us == 0 && e.error_us == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_holds),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(a_bound_ages_and_a_masters_own_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
