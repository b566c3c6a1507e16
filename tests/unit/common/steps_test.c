/* Every slot of several epochs against a plain walk over the examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/parts/steps.h"

/* The walk: cut each epoch into batches, the batches into steps, and compare everything. */
static void walk(const steps *s, int64_t epochs)
{
    int64_t batch_id = 0, step = 0;
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        int64_t first = 0, index = 0, steps_here = 0;
        bool more = true;
        while (more) {
            int64_t examples = 0, until = batch_id;
            uint32_t slot = 0;
            assert_int_equal(steps_epoch_of(s, step), epoch);
            for (; slot < (uint64_t)s->per_step && more; slot++) {
                int64_t n =
                    s->examples - first < s->batch_size ? s->examples - first : s->batch_size;
                step_slot got = steps_slot(s, step, slot);
                assert_int_equal(got.batch_id, batch_id);
                assert_int_equal(got.epoch, epoch);
                assert_int_equal(got.index, index);
                assert_int_equal(got.first, first);
                assert_int_equal(got.n, n);
                batch_id++;
                index++;
                first += n;
                examples += n;
                int64_t left = s->examples - first;
                more = s->drop_last ? left >= s->batch_size : left > 0;
            }
            assert_int_equal(steps_slots(s, step), slot);
            assert_int_equal(steps_examples(s, step), examples);
            assert_int_equal(steps_batches_until(s, step), until);
            step++;
            steps_here++;
        }
        assert_int_equal(steps_batches_per_epoch(s), index);
        assert_int_equal(steps_per_epoch(s), steps_here);
    }
}

static void slots_match_a_plain_walk(void **state)
{
    (void)state;
    for (int64_t examples = 1; examples <= 40; examples++)
        for (int64_t batch = 1; batch <= 12; batch++)
            for (int64_t k = 1; k <= 9; k++)
                for (int drop = 0; drop < 2; drop++)
                    walk(&(steps){.examples = examples, .batch_size = batch, .per_step = k, .drop_last = drop}, 3);
}

static void an_epoch_smaller_than_a_batch_keeps_it(void **state)
{
    (void)state;
    steps s = {.examples = 3, .batch_size = 10, .per_step = 4, .drop_last = true};
    assert_int_equal(steps_batches_per_epoch(&s), 1);
    assert_int_equal(steps_examples(&s, 7), 3);
}

/* Each epoch has every batch of every kind once, in an order of its own. */
static void kinds_are_cut_by_themselves(void **state)
{
    (void)state;
    steps s = {.examples = 40, .batch_size = 8, .per_step = 3, .seed = 5, .shuffle = true,
               .kinds = {3, {{17, 8}, {20, 4}, {3, 5}}}}; /* 8 8 1, 4 4 4 4 4, 3 */
    int64_t step = 0, orders[2][9];
    assert_int_equal(steps_batches_per_epoch(&s), 9);
    assert_int_equal(steps_per_epoch(&s), 3);
    assert_int_equal(steps_mean_examples(&s), 13);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        char seen[40] = {0};
        int64_t batches = 0, examples = 0;
        for (int i = 0; i < 3; i++, step++) {
            int64_t here = 0;
            for (uint32_t slot = 0; slot < steps_slots(&s, step); slot++) {
                step_slot got = steps_slot(&s, step, slot);
                size_t kind = steps_kind_of(&s, &got);
                assert_int_equal(got.epoch, epoch);
                assert_int_equal(kind, got.first < 17 ? 0 : got.first < 37 ? 1 : 2);
                assert_int_equal(got.n, kind == 0 ? (got.first < 16 ? 8 : 1) : kind == 1 ? 4 : 3);
                for (int64_t p = got.first; p < got.first + got.n; p++)
                    assert_int_equal(seen[p]++, 0);
                orders[epoch][batches++] = got.first;
                here += got.n;
            }
            assert_int_equal(steps_examples(&s, step), here);
            examples += here;
        }
        assert_int_equal(examples, 40);
    }
    assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
    s.shuffle = false;
    assert_int_equal(steps_slot(&s, 0, 0).first, 0);
    assert_int_equal(steps_slot(&s, 2, 2).first, 37);
}

static void large_numbers_do_not_overflow(void **state)
{
    (void)state;
    steps s = {.examples = INT64_MAX, .batch_size = INT64_MAX, .per_step = UINT32_MAX};
    assert_int_equal(steps_per_epoch(&s), 1);
    assert_int_equal(steps_examples(&s, 0), INT64_MAX);

    s = (steps){.examples = INT64_C(1) << 40, .batch_size = 3, .per_step = 8};
    int64_t last = steps_per_epoch(&s) - 1;
    assert_int_equal(steps_slot(&s, last, steps_slots(&s, last) - 1).n, 1);
    assert_int_equal(steps_batches_until(&s, last + 1), steps_batches_per_epoch(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_match_a_plain_walk),
        cmocka_unit_test(an_epoch_smaller_than_a_batch_keeps_it),
        cmocka_unit_test(kinds_are_cut_by_themselves),
        cmocka_unit_test(large_numbers_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
