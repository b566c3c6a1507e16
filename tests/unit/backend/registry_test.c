/* Names of devices, as TensorFlow, PyTorch and AllenNLP write them. */
#include "backend/registry.h"

#include "backend/cuda/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *name, const backend_ops *ops, int device)
{
    error err = ERROR_INIT;
    backend_choice c;
    if (backend_named(name, 3, &c, &err) != OK)
        fail_msg("%s", err.text);
    assert_ptr_equal(c.ops, ops);
    assert_int_equal(c.options.device, device);
    assert_int_equal(c.options.threads, 3);
}

static void test_names_of_the_cpu(void **state)
{
    (void)state;
    static const char *const names[] = {
        "cpu", "CPU", "cpu:0", "/cpu:0", "/device:CPU:0", "/job:localhost/device:cpu:0",
        "-1",  "-2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], &backend_cpu, 0);
}

static void test_names_of_gpus(void **state)
{
    (void)state;
    expect("cuda", &backend_cuda, 0);
    expect("gpu", &backend_cuda, 0);
    expect("0", &backend_cuda, 0);
    expect("12", &backend_cuda, 12);
    expect("cuda:1", &backend_cuda, 1);
    expect("gpu:2", &backend_cuda, 2);
    expect("/gpu:3", &backend_cuda, 3);
    expect("/GPU:3", &backend_cuda, 3);
    expect("/device:GPU:1", &backend_cuda, 1);
    expect("/job:localhost/replica:0/task:0/device:GPU:1", &backend_cuda, 1);
}

static void test_what_is_no_device(void **state)
{
    (void)state;
    static const char *const names[] = {"",       "gpus",     "gpu:",   "gpu:x",         "gpu:-1",
                                        "cpu:1",  "cuda:1x",  "1x",     "/device:1",     "tpu:0",
                                        "cuda 0", "/device:", "gpu:0 ", "/device:GPU:0/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        error err = ERROR_INIT;
        backend_choice c = {.ops = NULL};
        if (backend_named(names[i], 1, &c, &err) != E_CONFIG)
            fail_msg("'%s' is taken", names[i]);
        assert_null(c.ops);
    }
    error err = ERROR_INIT;
    backend_choice c;
    assert_int_equal(backend_named("tpu:0", 1, &c, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "'tpu:0' is no device; expected 'cpu', or a GPU as '0', 'cuda:0', "
                        "'/gpu:0' or '/device:GPU:0'");
}

static void test_numbers(void **state)
{
    (void)state;
    char name[BACKEND_NAME];
    backend_choice c = backend_numbered(2, 4);
    assert_ptr_equal(c.ops, &backend_cuda);
    assert_int_equal(c.options.threads, 4);
    assert_string_equal(backend_name(&c, name), "cuda:2");
    c = backend_numbered(INT64_MIN, 1);
    assert_string_equal(backend_name(&c, name), "cpu");
    c = backend_numbered(INT64_MAX, 1);
    assert_string_equal(backend_name(&c, name), "cuda:2147483647");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_the_cpu),
        cmocka_unit_test(test_names_of_gpus),
        cmocka_unit_test(test_what_is_no_device),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
