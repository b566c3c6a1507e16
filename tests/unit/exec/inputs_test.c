/*
 * Inputs on their way to a device that computes apart: beside the run before, written over, as
 * bytes.
 */
#include "unit/exec/support_device.h"
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs of both variants in turn, the inputs of each written while the one before is at work. */
typedef struct pipeline {
    rig *rig;
    size_t variant;
    int turn, n_looked;
    bool again; /* what was uploaded was not what comes next */
} pipeline;

static const model *model_of(const rig *r, size_t variant)
{
    return variant ? &r->small : &r->model;
}

static void write_inputs(rig *r, size_t variant, int turn)
{
    const graph_value *value = NULL;
    float *x = exec_input(r->exec, variant, "x", &value);
    for (int64_t i = 0; i < graph_shape_elements(&value->shape); i++)
        x[i] = (float)(1000 * turn + i);
    *(float *)exec_input(r->exec, variant, "weight", NULL) = 1.0f;
}

static status need_nothing_new(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)user, (void)part, (void)err;
    *ret_edition = 1;
    return OK;
}

static status write_next(void *user, error *err)
{
    pipeline *p = user;
    if (p->again) {
        TRY(exec_refill(p->rig->exec, err));
        write_inputs(p->rig, p->variant, 77);
        TRY(exec_upload_inputs(p->rig->exec, p->variant, err));
    }
    TRY(exec_refill(p->rig->exec, err));
    write_inputs(p->rig, !p->variant, p->turn + 1);
    return exec_upload_inputs(p->rig->exec, !p->variant, err);
}

static void look_at_turn(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)workspace;
    pipeline *p = user;
    const model *m = model_of(p->rig, p->variant);
    const float *x = addresses[m->x];
    int64_t n = graph_shape_elements(&graph_value_at(m->graph, m->x)->shape);
    for (int64_t i = 0; node == 0 && i < n; i++)
        assert_true(x[i] == (float)(1000 * p->turn + i));
    p->n_looked += node == 0;
}

static void play_pipeline(rig *r, bool again)
{
    error err = ERROR_INIT;
    pipeline p = {.rig = r, .again = again};
    exec_hooks hooks = {.need = need_nothing_new, .ahead = write_next, .user = &p};
    stub.ran = look_at_turn;
    stub.user = &p;
    must(exec_refill(r->exec, &err), &err);
    write_inputs(r, 0, 0);
    for (; p.turn < 6; p.turn++) {
        p.variant = (size_t)p.turn % 2;
        must(exec_run(r->exec, p.variant, &hooks, &err), &err);
        const model *m = model_of(r, p.variant);
        assert_true(*(const float *)exec_value(r->exec, p.variant, "loss", NULL) ==
                    (float)(graph_value_at(m->graph, m->loss)->def + 1));
    }
    assert_int_equal(p.n_looked, 6);
}

static void test_the_next_inputs_go_up_beside_a_run(void **state)
{
    rig *r = *state;
    for (int keen = 0; keen < 2; keen++) {
        device.keen = keen;
        play_pipeline(r, false);
        int before = device.n_copies[QUEUE_UP];
        play_pipeline(r, false);
        assert_int_equal(device.n_copies[QUEUE_UP] - before, 7 * 2); /* nothing goes up twice */
    }
}

static void test_inputs_that_were_uploaded_may_be_others(void **state)
{
    play_pipeline(*state, true);
}

static void test_a_run_that_failed_wants_its_inputs_anew(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    pipeline p = {.rig = r, .variant = 1, .turn = 3};
    write_inputs(r, 1, 3);
    stub.ran = look_at_turn;
    stub.user = &p;
    device.wait_fails = 2; /* behind that of refill */
    exec_hooks hooks = {.ahead = write_next, .user = &p};
    assert_int_equal(exec_run(r->exec, 1, &hooks, &err), E_DEVICE);
    assert_true(device_is_idle());
    p = (pipeline){.rig = r, .turn = 9};
    write_inputs(r, 0, 9);
    must(exec_run(r->exec, 0, NULL, &err), &err);
    assert_int_equal(p.n_looked, 1);
}

static void look_at_numbers(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)workspace;
    pipeline *p = user;
    const float *x = addresses[p->rig->model.x], halves[] = {0.5f, 2, 0.25f, 8};
    for (int i = 0; node == 0 && i < 400; i++) {
        int c = i / 25 % 4;
        assert_true(x[i] == (float)(i % 256) * halves[c] + (float)c);
    }
    p->n_looked += node == 0;
}

static void test_a_device_makes_numbers_of_bytes(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    pipeline p = {.rig = r};
    const backend_bytes meaning = {
        .channels = 4, .inner = 25, .scale = {0.5f, 2, 0.25f, 8}, .offset = {0, 1, 2, 3}};
    assert_true(exec_takes_bytes(r->exec));
    exec_input_as_bytes(r->exec, "x", &meaning);
    uint8_t *x = exec_input(r->exec, 0, "x", NULL);
    for (int i = 0; i < 400; i++)
        x[i] = (uint8_t)i;
    stub.ran = look_at_numbers;
    stub.user = &p;
    must(exec_run(r->exec, 0, NULL, &err), &err);
    assert_int_equal(p.n_looked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_DEVICES(test_the_next_inputs_go_up_beside_a_run),
        OVER_DEVICES(test_inputs_that_were_uploaded_may_be_others),
        OVER_DEVICES(test_a_run_that_failed_wants_its_inputs_anew),
        OVER_DEVICES(test_a_device_makes_numbers_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
