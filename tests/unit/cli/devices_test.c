/* distributed.cuda_devices, and work in a process of its own. */
#include "cli/run/devices.h"

#include "backend/cuda/cuda.h"
#include "job/process/subprocess.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static config *load_as(const char *list, const char *precision)
{
    char text[300];
    error err = ERROR_INIT;
    config *c = NULL;
    snprintf(text, sizeof text,
             "{train_data_path: 'x', model: {type: 'mlp'}, data_loader: {batch_size: 8}, "
             "trainer: {threads: 3, precision: '%s'}, distributed: {cuda_devices: %s}}",
             precision, list);
    if (config_load(&(config_source){.text = text}, &c, &err) != OK)
        fail_msg("%s", err.text);
    return c;
}

static config *load(const char *list)
{
    return load_as(list, "f32");
}

static const cuda_gpus no_gpus, three_of_four = {.n = 3, .visible = 4, .number = {0, 1, 3}};

static void expect(const char *list, const cuda_gpus *gpus, const char *const *names, int64_t n)
{
    config *c = load(list);
    devices d = {.config = c, .gpus = *gpus};
    for (int64_t lane = 0; lane < n; lane++) {
        char name[BACKEND_NAME];
        error err = ERROR_INIT;
        backend_choice choice;
        if (devices_of_lane(&d, lane, &choice, &err) != OK)
            fail_msg("%s", err.text);
        assert_string_equal(backend_name(&choice, name), names[lane]);
        assert_int_equal(choice.options.threads, 3);
    }
    config_destroy(&c);
}

static void test_lanes_take_entries_in_turn(void **state)
{
    (void)state;
    expect("null", &no_gpus, (const char *const[]){"cpu", "cpu"}, 2);
    expect("[]", &no_gpus, (const char *const[]){"cpu", "cpu"}, 2);
    expect("[-1]", &no_gpus, (const char *const[]){"cpu", "cpu"}, 2);
    expect("[2]", &no_gpus, (const char *const[]){"cuda:2", "cuda:2"}, 2);
    expect("[1, 0, 3]", &no_gpus, (const char *const[]){"cuda:1", "cuda:0", "cuda:3", "cuda:1"}, 4);
    expect("['/gpu:0', 'cuda:1']", &no_gpus, (const char *const[]){"cuda:0", "cuda:1", "cuda:0"}, 3);
    expect("null", &three_of_four, (const char *const[]){"cuda:0", "cuda:1", "cuda:3", "cuda:0"}, 4);
}

/* Rank 5 is the second of its host. */
static void test_a_local_rank_is_the_number_of_its_gpu(void **state)
{
    (void)state;
    cluster *k = NULL;
    cluster_world world = {.by = "torchrun", .local_rank = 1, .local_size = 4};
    assert_int_equal(cluster_from_ranks(&world, 5, 8, NULL, &k, NULL), OK);
    assert_int_equal(devices_first_lane(k, 5, 1), 1);
    assert_int_equal(devices_first_lane(k, 5, 2), 2);
    cluster_destroy(&k);
    world.local_rank = -1;
    assert_int_equal(cluster_from_ranks(&world, 5, 8, NULL, &k, NULL), OK);
    assert_int_equal(devices_first_lane(k, 5, 2), 10);
    cluster_destroy(&k);
}

static void expect_refusal(const char *list, const char *text)
{
    config *c = load(list);
    devices d = {.config = c};
    error err = ERROR_INIT;
    backend_choice choice;
    assert_int_equal(devices_of_lane(&d, 0, &choice, &err), E_CONFIG);
    assert_string_equal(err.text, text);
    config_destroy(&c);
}

static void test_lists_that_are_refused(void **state)
{
    (void)state;
    expect_refusal("[0, -1]",
                   "distributed.cuda_devices: names GPUs and the CPU, whose bits differ; "
                   "name one kind only");
    expect_refusal("['cpu', 'tpu']",
                   "distributed.cuda_devices[1]: 'tpu' is no device; expected "
                   "'cpu', or a GPU as '0', 'cuda:0', '/gpu:0' or '/device:GPU:0'");
}

static void test_float16_is_not_for_lanes_of_the_cpu(void **state)
{
    (void)state;
    config *c = load_as("[-1]", "f16"), *named = load_as("[0]", "f16");
    error err = ERROR_INIT;
    backend_choice choice;
    devices d;
    assert_int_equal(devices_find(c, false, &d, &err), OK);
    assert_int_equal(devices_of_evaluator(&d, &choice, &err), OK);
    assert_int_equal(devices_find(c, true, &d, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "trainer.precision: the CPU does not multiply float16; use \"bf16\" or "
                        "\"f32\", or a GPU (distributed.cuda_devices)");
    error_clear(&err);
    d = (devices){.config = named};
    assert_int_equal(devices_of_lane(&d, 0, &choice, &err), OK);
    config_destroy(&c);
    config_destroy(&named);
}

static void test_a_gpu_that_is_not_there(void **state)
{
    (void)state;
    config *cpu = load("[-1]"), *far = load("[1000]");
    error err = ERROR_INIT;
    devices d;
    assert_int_equal(devices_find(cpu, true, &d, &err), OK);
    backend_choice choice;
    assert_int_equal(devices_of_lane(&d, 3, &choice, &err), OK);
    assert_string_equal(choice.ops->name, "cpu");
    assert_int_equal(devices_find(far, false, &d, &err), OK);
    assert_int_equal(devices_find(far, true, &d, &err), E_CONFIG);
    assert_ptr_equal(strstr(err.text, "distributed.cuda_devices[0]: "), err.text);
    config_destroy(&cpu);
    config_destroy(&far);
}

/* --- a process of its own --- */

typedef struct doubled {
    int number, pid;
} doubled;

static status double_it(void *user, error *err)
{
    doubled *t = user;
    if (t->number < 0)
        return FAIL(err, E_DATA, "%d is too small", t->number);
    if (t->number == 0)
        raise(SIGKILL);
    t->number *= 2;
    t->pid = (int)getpid();
    return OK;
}

static void test_what_is_done_apart_comes_back(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    doubled t = {.number = 21};
    assert_int_equal(subprocess_run(double_it, &t, &t, sizeof t, &err), OK);
    assert_int_equal(t.number, 42);
    assert_int_not_equal(t.pid, (int)getpid());
    assert_int_equal(subprocess_run(double_it, &t, NULL, 0, &err), OK);
    assert_int_equal(t.number, 42);
}

static void test_what_fails_apart_is_told(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    doubled t = {.number = -1};
    assert_int_equal(subprocess_run(double_it, &t, &t, sizeof t, &err), E_DATA);
    assert_string_equal(err.text, "-1 is too small");
    error_clear(&err);
    t.number = 0;
    assert_int_equal(subprocess_run(double_it, &t, &t, sizeof t, &err), E_FAIL);
    assert_string_equal(err.text, "the process died by signal 9 (Killed)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_take_entries_in_turn),
        cmocka_unit_test(test_a_local_rank_is_the_number_of_its_gpu),
        cmocka_unit_test(test_lists_that_are_refused),
        cmocka_unit_test(test_float16_is_not_for_lanes_of_the_cpu),
        cmocka_unit_test(test_a_gpu_that_is_not_there),
        cmocka_unit_test(test_what_is_done_apart_comes_back),
        cmocka_unit_test(test_what_fails_apart_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
