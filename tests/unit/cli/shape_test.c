/* The shape of a run: defaults that depend on the number of CPUs, and what does not fit. */
#include "cli/run/shape.h"
#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#define BASE "{train_data_path: 'x', model: {type: 'mlp'}, data_loader: {batch_size: 8}} + "

static status shape_from(const char *more, const shape_host *host, shape *ret, error *err)
{
    char *text = xasprintf("%s%s", BASE, more);
    config_source source = {.text = text};
    config *c = NULL;
    assert_int_equal(config_load(&source, &c, err), OK);
    status st = shape_of(c, host, ret, err);
    config_destroy(&c);
    free(text);
    return st;
}

static void expect_on(shape_host host, const char *more, shape wanted)
{
    shape s;
    assert_int_equal(shape_from(more, &host, &s, NULL), OK);
    assert_int_equal(s.workers, wanted.workers);
    assert_int_equal(s.ps, wanted.ps);
    assert_int_equal(s.evaluators, wanted.evaluators);
    assert_int_equal(s.lanes, wanted.lanes);
    assert_int_equal(s.threads, wanted.threads);
    assert_int_equal(s.batches_per_step, wanted.batches_per_step);
}

static void expect(const char *more, int cpus, shape wanted)
{
    expect_on((shape_host){.cpus = cpus}, more, wanted);
}

static void defaults_follow_the_cpus(void **state)
{
    (void)state;
    expect("{}", 4, (shape){.lanes = 4, .threads = 1, .batches_per_step = 4});
    expect("{trainer: {threads: 3}}", 4, (shape){.lanes = 1, .threads = 3, .batches_per_step = 1});
    expect("{trainer: {threads: 8}}", 4, (shape){.lanes = 1, .threads = 8, .batches_per_step = 1});
    expect("{distributed: {workers: 2}}", 8,
           (shape){.workers = 2, .ps = 1, .lanes = 4, .threads = 1, .batches_per_step = 8});
    expect("{distributed: {workers: 3, ps: 2, evaluators: 1, lanes: 2}, "
           "trainer: {num_gradient_accumulation_steps: 2}}",
           1,
           (shape){.workers = 3,
                   .ps = 2,
                   .evaluators = 1,
                   .lanes = 2,
                   .threads = 1,
                   .batches_per_step = 12});
    expect("{distributed: {workers: 2, ps_replicas: 1}}", 8,
           (shape){.workers = 2, .ps = 2, .lanes = 4, .threads = 1, .batches_per_step = 8});
    expect("{trainer: {batches_per_step: 5}}", 2,
           (shape){.lanes = 2, .threads = 1, .batches_per_step = 5});
}

static void each_of_several_devices_has_a_worker(void **state)
{
    (void)state;
    expect("{distributed: {cuda_devices: [0, 1, 2, 3]}}", 64,
           (shape){.workers = 4, .ps = 1, .lanes = 1, .threads = 1, .batches_per_step = 4});
    expect("{distributed: {cuda_devices: [2]}}", 64,
           (shape){.lanes = 1, .threads = 1, .batches_per_step = 1});
    expect("{distributed: {cuda_devices: ['cuda:0', 'cuda:1'], lanes: 2}}", 64,
           (shape){.lanes = 2, .threads = 1, .batches_per_step = 2});
    expect("{distributed: {cuda_devices: [0, 1, 2, 3], workers: 2}}", 64,
           (shape){.workers = 2, .ps = 1, .lanes = 2, .threads = 1, .batches_per_step = 4});
    expect("{distributed: {cuda_devices: [0], workers: 2}}", 64,
           (shape){.workers = 2, .ps = 1, .lanes = 1, .threads = 1, .batches_per_step = 2});
}

static void gpus_nobody_named_are_taken(void **state)
{
    (void)state;
    shape_host host = {.cpus = 64, .gpus = 4};
    expect_on(host, "{}", (shape){.lanes = 1, .threads = 1, .batches_per_step = 1});
    expect_on(host, "{distributed: {lanes: 4}}",
              (shape){.lanes = 4, .threads = 1, .batches_per_step = 4});
    expect_on(host, "{distributed: {workers: 2}}",
              (shape){.workers = 2, .ps = 1, .lanes = 2, .threads = 1, .batches_per_step = 4});
    expect_on(host, "{distributed: {workers: 8}}",
              (shape){.workers = 8, .ps = 1, .lanes = 1, .threads = 1, .batches_per_step = 8});
}

#define CLUSTER(chief)                                                                             \
    "{\"cluster\": {" chief "\"ps\": [\"p:1\", \"q:1\", \"r:1\"], \"worker\": [\"a:1\", \"b:1\", "       \
    "\"c:1\", \"d:1\", \"e:1\", \"f:1\", \"g:1\", \"h:1\", \"i:1\"]}, "                             \
    "\"task\": {\"type\": \"worker\", \"index\": 3}}"

/* The founding document's example: a master and nine workers with four GPUs each. */
static void ten_machines_of_four_gpus_have_forty_slots(void **state)
{
    (void)state;
    cluster *ten, *nine;
    assert_int_equal(cluster_from_tf_config(CLUSTER("\"chief\": [\"m:1\"], "), &ten, NULL), OK);
    assert_int_equal(cluster_from_tf_config(CLUSTER(""), &nine, NULL), OK);
    shape_host host = {.cpus = 16, .gpus = 4, .cluster = ten};
    expect_on(host, "{}",
              (shape){.workers = 10, .ps = 3, .lanes = 4, .threads = 1, .batches_per_step = 40});
    expect_on(host, "{distributed: {master_trains: false, workers: 2}}",
              (shape){.workers = 9, .ps = 3, .lanes = 4, .threads = 1, .batches_per_step = 36});
    host.cluster = nine;
    expect_on(host, "{distributed: {cuda_devices: [0, 1]}}",
              (shape){.workers = 9, .ps = 3, .lanes = 2, .threads = 1, .batches_per_step = 18});
    cluster_destroy(&ten);
    cluster_destroy(&nine);
}

/* Tasks of one machine, as a launcher starts them, do not each take all of it. */
static void neighbours_share_their_machine(void **state)
{
    (void)state;
    cluster *k;
    assert_int_equal(
        cluster_from_tf_config("{\"cluster\": {\"chief\": [\"m:1\"], \"ps\": [\"m:2\"], "
                               "\"worker\": [\"m:3\", \"w:1\", \"m:4\"]}, "
                               "\"task\": {\"type\": \"worker\", \"index\": 0}}",
                               &k, NULL),
        OK);
    shape_host host = {.cpus = 12, .cluster = k};
    expect_on(host, "{}",
              (shape){.workers = 4, .ps = 1, .lanes = 4, .threads = 1, .batches_per_step = 16});
    expect_on(host, "{distributed: {master_trains: false}}",
              (shape){.workers = 3, .ps = 1, .lanes = 6, .threads = 1, .batches_per_step = 18});
    host.gpus = 3;
    expect_on(host, "{}",
              (shape){.workers = 4, .ps = 1, .lanes = 1, .threads = 1, .batches_per_step = 4});
    host.gpus_are_own = true; /* a launcher has dealt them out */
    expect_on(host, "{}",
              (shape){.workers = 4, .ps = 1, .lanes = 3, .threads = 1, .batches_per_step = 12});
    cluster_destroy(&k);
}

static void expect_readers(shape_host host, const char *more, int wanted)
{
    shape s;
    assert_int_equal(shape_from(more, &host, &s, NULL), OK);
    assert_int_equal(s.readers, wanted);
}

/* Data are read by what lanes leave of the processors, or by as many as were asked for. */
static void readers_get_what_lanes_leave(void **state)
{
    (void)state;
    expect_readers((shape_host){.cpus = 4}, "{}", 1);
    expect_readers((shape_host){.cpus = 1}, "{}", 1);
    expect_readers((shape_host){.cpus = 8}, "{distributed: {lanes: 2}}", 3);
    expect_readers((shape_host){.cpus = 16}, "{distributed: {workers: 2, lanes: 2}, trainer: {threads: 2}}", 2);
    expect_readers((shape_host){.cpus = 6, .gpus = 1}, "{trainer: {threads: 4}}", 5);
    expect_readers((shape_host){.cpus = 64, .gpus = 1}, "{}", 8);
    expect_readers((shape_host){.cpus = 16}, "{distributed: {workers: 4, cuda_devices: [0, 1, 2, 3]}}", 3);
    expect_readers((shape_host){.cpus = 4}, "{data_loader: {batch_size: 8, workers: 12}}", 12);
    expect_readers((shape_host){.cpus = 4}, "{data_loader: {batch_size: 8, workers: 0}}", 0);
}

static void expect_here(const cluster *k, const char *more, int here, double servers)
{
    shape s;
    shape_host host = {.cpus = 4, .cluster = k};
    assert_int_equal(shape_from(more, &host, &s, NULL), OK);
    assert_int_equal(s.here, here);
    assert_true(fabs(s.servers_here - servers) < 1e-9);
}

/* Who computes on a machine shares what servers on it hold. */
static void servers_are_shared_by_who_computes_beside_them(void **state)
{
    (void)state;
    cluster *k;
    expect_here(NULL, "{}", 1, 1.0);
    expect_here(NULL, "{distributed: {workers: 4, ps: 2}}", 4, 0.25);
    assert_int_equal(
        cluster_from_tf_config("{\"cluster\": {\"chief\": [\"m:1\"], \"ps\": [\"m:2\", \"n:1\"], "
                               "\"worker\": [\"m:3\", \"w:1\", \"m:4\"]}, "
                               "\"task\": {\"type\": \"worker\", \"index\": 0}}",
                               &k, NULL),
        OK);
    expect_here(k, "{}", 3, 0.5 / 3);
    expect_here(k, "{distributed: {master_trains: false}}", 2, 0.25);
    k->task.index = 1;
    expect_here(k, "{}", 1, 0.0);
    cluster_destroy(&k);
    assert_int_equal(cluster_from_tf_config("{\"cluster\": {\"worker\": [\"m:1\", \"m:2\", \"m:3\"]}, "
                                            "\"task\": {\"type\": \"worker\", \"index\": 1}}",
                                            &k, NULL),
                     OK);
    expect_here(k, "{}", 3, 0.5);
    cluster_destroy(&k);
}

/* Four ranks on two hosts; each host has 8 CPUs. */
static void ranks_share_their_host(void **state)
{
    (void)state;
    cluster *k;
    cluster_world world = {.by = "torchrun", .meeting = "a:1", .local_rank = 1, .local_size = 2};
    assert_int_equal(cluster_from_ranks(&world, 1, 4, NULL, &k, NULL), OK);
    shape_host host = {.cpus = 8, .cluster = k};
    shape of_cpus = {.workers = 4, .ps = 3, .lanes = 4, .threads = 1, .batches_per_step = 16};
    shape of_gpus = {.workers = 4, .ps = 3, .lanes = 1, .threads = 1, .batches_per_step = 4};
    expect_on(host, "{}", of_cpus);
    expect_on(host, "{distributed: {cuda_devices: [0, 1, 2, 3]}}", of_gpus);
    host.gpus = 8; /* a local rank has one */
    expect_on(host, "{}", of_gpus);
    cluster_destroy(&k);

    world = (cluster_world){.by = "--nnodes", .meeting = "a:1", .local_rank = -1};
    assert_int_equal(cluster_from_ranks(&world, 1, 4, NULL, &k, NULL), OK);
    host.cluster = k; /* alone on its host */
    expect_on(host, "{}",
              (shape){.workers = 4, .ps = 3, .lanes = 8, .threads = 1, .batches_per_step = 32});
    host.gpus = 0;
    expect_on(host, "{distributed: {rendezvous: '127.0.0.1:1'}}",
              (shape){.workers = 4, .ps = 3, .lanes = 2, .threads = 1, .batches_per_step = 8});
    cluster_destroy(&k);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    shape s;
    shape_host host = {.cpus = 4};
    error err = ERROR_INIT;
    assert_int_equal(shape_from("{distributed: {ps: 2}}", &host, &s, &err), E_USAGE);
    assert_string_equal(err.text, "2 parameter servers without workers: add --workers N, or leave "
                                  "out --ps to train in one process");
    error_clear(&err);
    assert_int_equal(shape_from("{distributed: {evaluators: 1}}", &host, &s, &err), E_USAGE);
    assert_string_equal(err.text, "an evaluator without workers: add --workers N, or leave out "
                                  "--evaluators: one process evaluates by itself");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_follow_the_cpus),
        cmocka_unit_test(each_of_several_devices_has_a_worker),
        cmocka_unit_test(gpus_nobody_named_are_taken),
        cmocka_unit_test(ten_machines_of_four_gpus_have_forty_slots),
        cmocka_unit_test(neighbours_share_their_machine),
        cmocka_unit_test(readers_get_what_lanes_leave),
        cmocka_unit_test(servers_are_shared_by_who_computes_beside_them),
        cmocka_unit_test(ranks_share_their_host),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
