/*
 * Master, servers, workers and lanes as threads of one process: whatever the cluster's shape, the
 * weights are those of one process alone, bit by bit, and every batch counts once; in the modes ssp
 * and async it is the batches alone that count once.
 *
 * CTest labels: smoke
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "support/inproc_cluster.h"

/* 37 examples in batches of 4, up to 4 batches a step: an epoch has 10 batches, the last one of a
 * single example, in steps of 4, 4 and 2; the weights fill three parts. */
static const char *const everything =
    "model: {type: 'mlp', hidden: [300, 450], dropout: 0.3, batch_norm: true},"
    "data_loader: {batch_size: 4},"
    "trainer: {num_epochs: 3, batches_per_step: 4, grad_norm: 0.5, save_checkpoints_steps: 2,"
    "          save_summary_steps: 1,"
    "          optimizer: {type: 'sgd', lr: 0.05, momentum: 0.9}}";

static void check_shapes(const char *text, const inproc_cluster_shape *shapes, size_t n)
{
    inproc_cluster v = inproc_cluster_make(text);
    inproc_cluster_result alone = inproc_cluster_train_alone(&v);
    for (size_t i = 0; i < n; i++) {
        inproc_cluster_result r = inproc_cluster_train(&v, &shapes[i]);
        assert_string_equal(r.params_sha256, alone.params_sha256);
        assert_int_equal(r.steps, alone.steps);
        assert_int_equal(r.batches_applied, alone.batches_applied);
    }
    inproc_cluster_fini(&v);
}

static void no_shape_changes_the_weights(void **state)
{
    (void)state;
    static const inproc_cluster_shape shapes[] = {
        {.servers = 1, .workers = 1, .lanes = 1},
        {.servers = 2, .workers = 2, .lanes = 2},
        {.servers = 3, .workers = 1, .lanes = 3},
    };
    check_shapes(everything, shapes, COUNT_OF(shapes));
}

static void every_batch_counts_once(void **state)
{
    (void)state;
    inproc_cluster v = inproc_cluster_make(everything);
    inproc_cluster_result r = inproc_cluster_train(&v, &(inproc_cluster_shape){.servers = 2, .workers = 2, .lanes = 2});
    assert_int_equal(r.steps, 9);
    assert_int_equal(r.batches_applied, 30);
    inproc_cluster_fini(&v);
}

/* More lanes than slots, whole epochs ending in the middle of what fits a step, and a stop short
 * of an epoch's end. */
static void idle_lanes_only_wait(void **state)
{
    (void)state;
    static const inproc_cluster_shape shape = {.servers = 2, .workers = 2, .lanes = 2};
    check_shapes(
        "model: {type: 'mlp', hidden: [20], dropout: 0.5},"
        "data_loader: {batch_size: 10, drop_last: true},"
        "dataset_reader+: {augment: {shift: 1, flip: true}},"
        "trainer: {max_steps: 5, batches_per_step: 2, optimizer: {type: 'adam', lr: 0.01}}",
        &shape, 1);
}

static void an_evaluator_beside_them_changes_nothing(void **state)
{
    (void)state;
    static const inproc_cluster_shape shape = {.servers = 2, .workers = 2, .lanes = 1, .evaluator = true};
    check_shapes("validation_data_path: self.train_data_path,"
                 "model: {type: 'mlp', hidden: [20], batch_norm: true},"
                 "data_loader: {batch_size: 8},"
                 "trainer: {num_epochs: 2, batches_per_step: 2}",
                 &shape, 1);
}

/* Its slots are taken from lanes in the middle of their work. */
static void a_worker_that_comes_late_changes_nothing(void **state)
{
    (void)state;
    static const inproc_cluster_shape shape = {.servers = 2, .workers = 2, .lanes = 2, .late = 1};
    check_shapes("model: {type: 'mlp', hidden: [300, 450], dropout: 0.3},"
                 "data_loader: {batch_size: 4},"
                 "trainer: {num_epochs: 8, batches_per_step: 4, save_checkpoints_steps: 2}",
                 &shape, 1);
}

static void a_job_told_to_leave_goes_on_in_another_shape(void **state)
{
    (void)state;
    inproc_cluster v = inproc_cluster_make(everything);
    inproc_cluster_result alone = inproc_cluster_train_alone(&v);
    inproc_cluster_result r = inproc_cluster_train(
        &v, &(inproc_cluster_shape){.servers = 2, .workers = 2, .lanes = 1, .preempt_at = 1});
    assert_int_equal(r.steps, -1);
    r = inproc_cluster_train(&v, &(inproc_cluster_shape){.servers = 3, .workers = 1, .lanes = 2});
    assert_string_equal(r.params_sha256, alone.params_sha256);
    assert_int_equal(r.batches_applied, alone.batches_applied);
    inproc_cluster_fini(&v);
}

/* The same job in a mode in which 30 batches are 30 steps. */
#define UNORDERED(mode, k)                                                                         \
    "validation_data_path: self.train_data_path,"                                                  \
    "model: {type: 'mlp', hidden: [300, 450], dropout: 0.3, batch_norm: true},"                    \
    "data_loader: {batch_size: 4}, distributed: {" mode "},"                                       \
    "trainer: {num_epochs: 3, batches_per_step: " k ", save_checkpoints_steps: 4,"                 \
    "          save_summary_steps: 1,"                                                             \
    "          optimizer: {type: 'sgd', lr: 0.05, momentum: 0.9}}"

static const char *const unordered[] = {
    UNORDERED("mode: 'async'", "4"),
    UNORDERED("mode: 'ssp', staleness: 1", "4"),
    UNORDERED("mode: 'ssp'", "2"),
};

static void batches_in_any_order_count_once(void **state)
{
    (void)state;
    static const inproc_cluster_shape shapes[] = {
        {.servers = 2, .workers = 2, .lanes = 2, .evaluator = true},
        {.servers = 3, .workers = 3, .lanes = 1, .late = 1},
        {.servers = 1, .workers = 2, .lanes = 1, .late = 1, .evaluator = true},
    };
    for (size_t i = 0; i < COUNT_OF(unordered); i++) {
        inproc_cluster v = inproc_cluster_make(unordered[i]);
        inproc_cluster_result r = inproc_cluster_train(&v, &shapes[i]);
        assert_int_equal(r.steps, 30);
        assert_int_equal(r.batches_applied, 30);
        inproc_cluster_fini(&v);
    }
}

/* One lane meets the weights it has just moved: no other order is possible, and the bits are those
 * of mode sync with steps of one batch. */
static void one_lane_alone_is_as_in_sync(void **state)
{
    (void)state;
    inproc_cluster v = inproc_cluster_make(UNORDERED("mode: 'sync'", "1"));
    inproc_cluster_result sync = inproc_cluster_train_alone(&v);
    inproc_cluster_fini(&v);
    for (size_t i = 0; i < COUNT_OF(unordered); i++) {
        v = inproc_cluster_make(unordered[i]);
        inproc_cluster_shape shape = {.servers = 2, .workers = 1, .lanes = 1};
        inproc_cluster_result r = inproc_cluster_train(&v, &shape);
        assert_string_equal(r.params_sha256, sync.params_sha256);
        inproc_cluster_fini(&v);
    }
}

static void it_goes_on_in_another_shape_with_what_each_part_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        inproc_cluster v = inproc_cluster_make(unordered[i]);
        inproc_cluster_result r = inproc_cluster_train(
            &v, &(inproc_cluster_shape){.servers = 2, .workers = 2, .lanes = 2, .preempt_at = 7});
        assert_int_equal(r.steps, -1);
        r = inproc_cluster_train(&v, &(inproc_cluster_shape){.servers = 3, .workers = 1, .lanes = 2});
        assert_int_equal(r.steps, 30);
        assert_int_equal(r.batches_applied, 30);
        inproc_cluster_fini(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_shape_changes_the_weights),
        cmocka_unit_test(every_batch_counts_once),
        cmocka_unit_test(idle_lanes_only_wait),
        cmocka_unit_test(an_evaluator_beside_them_changes_nothing),
        cmocka_unit_test(a_worker_that_comes_late_changes_nothing),
        cmocka_unit_test(a_job_told_to_leave_goes_on_in_another_shape),
        cmocka_unit_test(batches_in_any_order_count_once),
        cmocka_unit_test(one_lane_alone_is_as_in_sync),
        cmocka_unit_test(it_goes_on_in_another_shape_with_what_each_part_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
