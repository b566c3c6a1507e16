/*
 * Inputs on their way to a device that computes apart: beside the run before, written over, as
 * bytes, as images that are finished there.
 */
#include "unit/exec/support_device.h"
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

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
    exec_input_as_bytes(r->exec, "x", &meaning);
    uint8_t *x = exec_input(r->exec, 0, "x", NULL);
    for (int i = 0; i < 400; i++)
        x[i] = (uint8_t)i;
    stub.ran = look_at_numbers;
    stub.user = &p;
    must(exec_run(r->exec, 0, NULL, &err), &err);
    assert_int_equal(p.n_looked, 1);
}

static const finish_form image = {.kind = FINISH_BYTES,
                                  .planes = 4,
                                  .height = 5,
                                  .width = 5,
                                  .planes_a_channel = 1,
                                  .scale = {0.5f, 2, 0.25f, 8},
                                  .offset = {0, 1, 2, 3},
                                  .background = -1};

/* What is read of a batch, and drawn. */
typedef struct images {
    uint8_t bytes[400];
    finish_draw draws[4];
} images;

static images images_of(int turn)
{
    images m;
    for (int i = 0; i < 400; i++)
        m.bytes[i] = (uint8_t)(i + 3 * turn);
    for (int i = 0; i < 4; i++)
        m.draws[i] = (finish_draw){.dx = i - turn % 3,
                                   .is_mirrored = turn & 1,
                                   .mixing = FINISH_BLENDED,
                                   .share = 0.75f,
                                   .rest = 0.25f};
    return m;
}

typedef struct image_pipeline {
    pipeline base;
    finish_draw *draws;
} image_pipeline;

static void write_images(image_pipeline *p, size_t variant, int turn)
{
    images m = images_of(turn);
    int64_t n = graph_value_at(model_of(p->base.rig, variant)->graph, p->base.rig->model.x)->shape.dim[0];
    memcpy(exec_input(p->base.rig->exec, variant, "x", NULL), m.bytes, (size_t)n * 100);
    memcpy(p->draws, m.draws, (size_t)n * sizeof *m.draws);
}

static status write_next_images(void *user, error *err)
{
    image_pipeline *p = user;
    TRY(exec_refill(p->base.rig->exec, err));
    write_images(p, !p->base.variant, p->base.turn + 1);
    return exec_upload_inputs(p->base.rig->exec, !p->base.variant, err);
}

static void look_at_images(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)workspace;
    image_pipeline *p = user;
    const model *m = model_of(p->base.rig, p->base.variant);
    const float *x = addresses[m->x];
    images made = images_of(p->base.turn);
    int64_t n = graph_value_at(m->graph, m->x)->shape.dim[0];
    for (int64_t i = 0; node == 0 && i < n * 100; i++)
        assert_true(x[i] == finish_mixed(&image, FINISH_BYTES, made.draws, made.bytes, n, i / 100,
                                         (uint32_t)(i % 100 / 25), (int32_t)(i % 5), (int32_t)(i % 25 / 5)));
    p->base.n_looked += node == 0;
}

static void test_a_device_finishes_images(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    finish_draw *none = NULL;
    image_pipeline p = {.base = {.rig = r}};
    must(exec_input_unfinished(r->exec, "x", &image, &p.draws, &err), &err);
    must(exec_input_unfinished(r->exec, "no such input", &image, &none, &err), &err);
    assert_non_null(p.draws);
    assert_null(none);
    exec_hooks hooks = {.need = need_nothing_new, .ahead = write_next_images, .user = &p};
    stub.ran = look_at_images;
    stub.user = &p;
    for (int keen = 0; keen < 2; keen++) {
        device.keen = keen;
        p.base.turn = p.base.n_looked = 0;
        must(exec_refill(r->exec, &err), &err);
        write_images(&p, 0, 0);
        for (; p.base.turn < 6; p.base.turn++) {
            p.base.variant = (size_t)p.base.turn % 2;
            must(exec_run(r->exec, p.base.variant, &hooks, &err), &err);
        }
        assert_int_equal(p.base.n_looked, 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_DEVICES(test_the_next_inputs_go_up_beside_a_run),
        OVER_DEVICES(test_inputs_that_were_uploaded_may_be_others),
        OVER_DEVICES(test_a_run_that_failed_wants_its_inputs_anew),
        OVER_DEVICES(test_a_device_makes_numbers_of_bytes),
        OVER_DEVICES(test_a_device_finishes_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
