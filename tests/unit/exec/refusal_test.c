/* What exec_create refuses: every error with its text, and nothing stays open. */
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void expect_refusal(rig *r, const graph *second, const flat *f, status expected,
                           const char *text)
{
    error err = ERROR_INIT;
    assert_int_equal(rig_create(r, r->model.graph, second, f, &err), expected);
    assert_string_equal(err.text, text);
    assert_null(r->exec);
    assert_int_equal(stub.n_open, 0);
}

static void test_backend_errors_name_what_failed(void **state)
{
    rig *r = *state;
    stub.open_fails = true;
    expect_refusal(r, NULL, r->flat, E_DEVICE, "backend stub: the stub does not open");
    stub.open_fails = false;
    stub.load_fails = true;
    expect_refusal(r, NULL, r->flat, E_UNSUPPORTED, "cannot be written down");
    expect_refusal(r, r->small.graph, r->flat, E_UNSUPPORTED, "variant 0: cannot be written down");
    stub.load_fails = false;
    stub.prepare_fails = 2;
    expect_refusal(r, NULL, r->flat, E_UNSUPPORTED, "fc2: no such word");
}

/* The flat vector of a graph whose tensors were changed. */
static void expect_layout_refusal(rig *r, int64_t rows, tensor_kind kind, const char *name,
                                  const char *text)
{
    error err = ERROR_INIT;
    flat *other = NULL;
    tensor_decl tensors[8];
    for (int32_t i = 0; i < r->flat->n_tensors; i++) {
        tensors[i] = r->flat->tensors[i];
        if (strcmp(tensors[i].name, "w2") != 0)
            continue;
        tensors[i].name = name;
        tensors[i].dim[0] = rows;
        tensors[i].kind = kind;
    }
    must(flat_create(tensors, (size_t)r->flat->n_tensors, &other, &err), &err);
    expect_refusal(r, NULL, other, E_CONFIG, text);
    flat_destroy(&other);
}

static void test_a_foreign_flat_vector_is_refused(void **state)
{
    rig *r = *state;
    expect_layout_refusal(r, WIDE, TENSOR_TRAINABLE, "w3",
                          "parameter 'w2' is not in the flat vector");
    expect_layout_refusal(r, 9, TENSOR_TRAINABLE, "w2",
                          "parameter 'w2' is [700,200] here and [9,200] in the flat vector");
    expect_layout_refusal(r, WIDE, TENSOR_STATE, "w2",
                          "parameter 'w2' is of another kind in the flat vector");
    expect_refusal(r, NULL, NULL, E_CONFIG,
                   "parameter 'w1': there is no flat vector to read it from");
}

static void test_a_variant_without_a_gradient_is_refused(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    graph_val v;
    tensor_decl more = {.name = "more", .rank = 1, .dim = {3}};
    must(graph_param(r->model.graph, &more, &v, &err), &err);
    flat *longer = layout_of(r->model.graph);
    expect_refusal(r, NULL, longer, E_CONFIG, "no gradient is made for 'more' of the flat vector");
    flat_destroy(&longer);
}

int main(void)
{
#define WITHOUT(test) cmocka_unit_test_setup_teardown(test, set_up_without_exec, tear_down)
    const struct CMUnitTest tests[] = {
        WITHOUT(test_backend_errors_name_what_failed),
        WITHOUT(test_a_foreign_flat_vector_is_refused),
        WITHOUT(test_a_variant_without_a_gradient_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
