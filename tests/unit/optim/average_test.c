/* The moving average of weights against its formula in double, for spans that move, that do not, and statistics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "optim/optim.h"
#include "optim/update.h"

#include <math.h>
#include <string.h>

enum { N = 96, STEPS = 50, MOVING = 40, STILL = 64 }; /* [0, 40) move, [40, 64) do not, the rest are statistics */

static const optim adam = {.kind = OPTIM_ADAM,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .eps = 1e-8,
                           .average = {.is_kept = true, .decay = 0.9, .numerator = 1, .denominator = 10}};

/* What a part has, one step after the other; moved in pieces that end at `cut`. */
typedef struct part {
    float w[N], slots[3][N];
} part;

static void begin(part *p)
{
    rng r = rng_make(29, RNG_TEST, 0);
    memset(p, 0, sizeof *p);
    for (uint64_t i = 0; i < N; i++)
        p->w[i] = p->slots[2][i] = rng_normal(&r, i);
}

static void move(part *p, int64_t step, size_t cut)
{
    const update_span spans[] = {{.first = 0, .n = MOVING, .how = 0},
                                 {.first = MOVING, .n = STILL - MOVING, .how = UPDATE_NOT},
                                 {.first = STILL, .n = N - STILL, .how = UPDATE_AVERAGE, .keep = 0.75f, .take = 0.25f}};
    const update rule = update_make(&adam, &(optim_call){.step = step, .rate = 0.05f, .scale = 1});
    update_part u = {.rules = &rule, .slots = optim_slots(&adam), .spans = spans, .n_spans = 3};
    rng r = rng_make(31, RNG_TEST, (uint64_t)step);
    float grad[N], *state[] = {p->slots[0], p->slots[1], p->slots[2]};
    for (uint64_t i = 0; i < N; i++)
        grad[i] = rng_normal(&r, i);
    update_average(&adam, step, &u);
    optim_update(&u, 0, cut, grad, p->w, p->w, state, state);
    optim_update(&u, cut, N, grad, p->w, p->w, state, state);
}

static void average_is_that_of_the_formula(void **state)
{
    (void)state;
    part p, first;
    double want[N];
    begin(&p);
    first = p;
    for (int i = 0; i < N; i++)
        want[i] = (double)p.w[i];
    for (int64_t t = 1; t <= STEPS; t++) {
        double d = fmin(0.9, (1 + (double)t) / (10 + (double)t));
        move(&p, t, N);
        for (int i = 0; i < N; i++) {
            want[i] = i < STILL ? d * want[i] + (1 - d) * (double)p.w[i] : (double)p.w[i];
            assert_true(fabs((double)p.slots[2][i] - want[i]) < 2e-6);
        }
    }
    for (int i = MOVING; i < STILL; i++)
        assert_true(p.w[i] == first.w[i]);
    assert_true(p.slots[2][0] != p.w[0]);
}

static void average_does_not_depend_on_the_cut(void **state)
{
    (void)state;
    part whole;
    begin(&whole);
    for (int64_t t = 1; t <= 5; t++)
        move(&whole, t, N);
    for (size_t cut = 0; cut <= N; cut += 4) {
        part p;
        begin(&p);
        for (int64_t t = 1; t <= 5; t++)
            move(&p, t, cut);
        assert_memory_equal(&p, &whole, sizeof p);
    }
}

static void average_is_the_last_slot(void **state)
{
    (void)state;
    optim o = {.kind = OPTIM_RMSPROP, .momentum = 0.9, .centered = true, .average = {.is_kept = true}};
    assert_int_equal(optim_slots(&o), OPTIM_SLOTS);
    assert_string_equal(optim_slot_name(&o, 3), "average");
    assert_true(optim_slot_is_average(&o, 3) && !optim_slot_is_average(&o, 2));
    o.average.is_kept = false;
    assert_false(optim_slot_is_average(&o, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_is_that_of_the_formula),
        cmocka_unit_test(average_does_not_depend_on_the_cut),
        cmocka_unit_test(average_is_the_last_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
