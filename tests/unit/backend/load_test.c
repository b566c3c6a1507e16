/* Opening and loading: what is refused, and how it is said. */
#include "unit/backend/support_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static void test_a_lane_needs_a_thread(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    backend *b = NULL;
    assert_int_equal(backend_cpu.open(&(backend_options){.threads = 0}, &b, &err), E_CONFIG);
    assert_string_equal(err.text, "a CPU lane needs at least 1 thread, not 0");
    assert_null(b);
}

static void test_fingerprint_names_what_decides_bits(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    backend *b = NULL;
    assert_int_equal(backend_cpu.open(&(backend_options){.threads = 3}, &b, &err), OK);
    char text[128], again[128];
    backend_cpu.fingerprint(b, text, sizeof text);
    backend_cpu.fingerprint(b, again, sizeof again);
    assert_string_equal(text, again);
    assert_ptr_equal(strstr(text, "oneDNN "), text);
    assert_non_null(strstr(text, " isa="));
    assert_non_null(strstr(text, " threads=3"));
    backend_cpu.close(&b);
    assert_null(b);
}

static void test_the_cpu_is_described(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    backend_device d;
    assert_int_equal(backend_cpu.describe(0, &d, &err), OK);
    assert_string_equal(d.name, "CPU");
    assert_true(strlen(d.arch) > 0);
    assert_true(d.free > 0 && d.free < d.memory);
    assert_int_equal(backend_cpu.describe(1, &d, &err), E_DEVICE);
    assert_string_equal(err.text, "there is one CPU, number 0, and no number 1");
}

static void test_all_nodes_without_a_kernel_are_listed(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val bits = program_input(&p, "bits", DT_BOOL, (graph_shape){2, {4, 4}});
    graph_val d = program_input(&p, "d", DT_F64, (graph_shape){2, {4, 4}});
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {4, 4}});
    graph_val y = program_node(&p, OP_RELU, "double", NULL, 1, &d, NULL);
    program_node(&p, OP_TANH, "fine", NULL, 1, &x, NULL);
    program_node(&p, OP_TANH, "behind", NULL, 1, &y, NULL);
    program_node(&p, OP_ADD, "and", NULL, 2, (graph_val[]){bits, bits}, NULL);
    assert_int_equal(program_try_load(&p, 1), E_UNSUPPORTED);
    assert_string_equal(
        p.err.text,
        "the CPU has no kernel for double (Relu): it makes float64; the only floating type "
        "known is float32; behind (Tanh): it makes float64; the only floating type known is "
        "float32; and (Add): arithmetic in bool");
    program_fini(&p);
}

static void test_a_label_out_of_range_is_named(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {4, 10}});
    graph_val labels = program_input(&p, "labels", DT_I64, (graph_shape){1, {4}});
    sce_attr attr = {.has_ignore_index = true, .ignore_index = -100};
    graph_val loss = program_node(&p, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", &attr, 2,
                                  (graph_val[]){x, labels}, NULL);
    graph_keep(p.g, loss);
    program_load(&p, 1);
    program_fill_sources(&p);
    const int64_t good[4] = {0, 9, -100, 3}, bad[4] = {0, 9, 12, 3};
    memcpy(program_ints(&p, labels), good, sizeof good);
    program_run(&p);
    float before = program_floats(&p, loss)[0];
    assert_true(before > 0.0f && before < 10.0f);
    memcpy(program_ints(&p, labels), bad, sizeof bad);
    error err = ERROR_INIT;
    assert_int_equal(p.kernels[0].run(p.kernels[0].state, p.addresses, p.workspace, &err), E_DATA);
    assert_string_equal(err.text, "row 2: label 12 is outside 0..9");
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lane_needs_a_thread),
        cmocka_unit_test(test_fingerprint_names_what_decides_bits),
        cmocka_unit_test(test_the_cpu_is_described),
        cmocka_unit_test(test_all_nodes_without_a_kernel_are_listed),
        cmocka_unit_test(test_a_label_out_of_range_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
