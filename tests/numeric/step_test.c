/*
 * Whole steps of small models on the backend the program is linked with (support_tested.h).
 *
 *   gradients   every element of every parameter against central differences of the double
 *               reference; state tensors against the batch's statistics
 *   bits        two lanes in two threads, in any order of batches and variants, give what one gives
 *   hooks       each part is needed before it is read and ready after it was last read or written:
 *               its weights are NaN at every other moment, and that must not show
 *
 * Tolerance of the gradients: 1e-4 of the tensor's size. A batch norm over few examples divides by
 * small deviations and so enlarges the roundings of what comes before it.
 */
#include "common/base/rng.h"
#include "common/base/thread.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_models.h"
#include "numeric/support_reference.h"
#include "numeric/support_tested.h"

#include "graph/attrs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-4;

/* Skips the test if the backend lacks kernels of the model. */
static void need_kernels(const model_size *size)
{
    graph *g = model_build(size, 1, true);
    bool takes = tested_takes(g);
    graph_destroy(&g);
    if (!takes)
        skip();
}

static double *as_doubles(const float *x, int64_t n)
{
    double *d = xcalloc((size_t)n, sizeof *d);
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)x[i];
    return d;
}

/* What the slab should hold for a parameter. */
static void expected_gradient(reference *r, const graph *forward, const char *name, double weight,
                              double *ret)
{
    graph_val x = graph_find(forward, name), loss = graph_find(forward, "loss");
    int64_t n = reference_elements(r, x);
    bool is_mean = strstr(name, ".mean") != NULL;
    char statistic[64];
    if (graph_value_at(forward, x)->param->kind == TENSOR_STATE) {
        int stem = (int)(strrchr(name, '.') - name);
        snprintf(statistic, sizeof statistic, "%.*s.%d", stem, name, is_mean ? 1 : 2);
        reference_run(r);
        for (int64_t i = 0; i < n; i++)
            ret[i] = weight * reference_named(r, statistic)[i];
        return;
    }
    double *direction = xcalloc((size_t)n, sizeof *direction);
    for (int64_t i = 0; i < n; i++) {
        direction[i] = 1;
        ret[i] = weight * reference_derivative(r, loss, x, direction);
        direction[i] = 0;
    }
    free(direction);
}

static int count_wrong_gradients(const lane *l, reference *r, const graph *forward, double weight)
{
    int wrong = 0;
    for (int32_t t = 0; t < l->layout->n_tensors; t++) {
        const tensor_decl *decl = &l->layout->tensors[t];
        if (decl->kind == TENSOR_FROZEN)
            continue;
        int64_t n = l->layout->count[t];
        double *want = xcalloc((size_t)n, sizeof *want);
        double *got = as_doubles(lane_grad(l, decl->name), n);
        expected_gradient(r, forward, decl->name, weight, want);
        wrong += !is_close(decl->name, got, want, n, TOLERANCE);
        free(want);
        free(got);
    }
    return wrong;
}

static void check_gradients(const model_size *size)
{
    enum { BATCH = 3 };
    const double weight = 0.375;
    need_kernels(size);
    graph *g = model_build(size, BATCH, true), *forward = model_build(size, BATCH, false);
    reference *r = reference_create(forward);
    lane l;
    lane_init(&l, (const graph *const *)&g, 1, 1);
    model_fill_params(g, &l, r);
    model_fill_batch(g, 17, weight, &l, 0, r);
    lane_run(&l, 0, NULL);
    reference_run(r);
    double loss;
    lane_get(&l, 0, "loss", &loss);
    assert_true(is_close("loss", &loss, reference_named(r, "loss"), 1, 1e-5));
    assert_int_equal(count_wrong_gradients(&l, r, forward, weight), 0);
    lane_fini(&l);
    reference_destroy(&r);
    graph_destroy(&g);
    graph_destroy(&forward);
}

static void test_gradients_of_a_cnn(void **state)
{
    (void)state;
    check_gradients(&small_cnn);
}

static void test_gradients_of_an_mlp(void **state)
{
    (void)state;
    check_gradients(&small_mlp);
}

/* Bits */

enum { FULL = 4, LAST = 3, RUNS = 6 };

typedef struct shared {
    const graph *graphs[2];
    const flat *layout; /* of every lane: the graphs are the same */
    int threads;
    float *grads[RUNS]; /* by batch id */
} shared;

static size_t variant_of(int batch)
{
    return batch % 3 == 2; /* the smaller one stands in between */
}

static void run_batch(shared *s, lane *l, int batch)
{
    size_t variant = variant_of(batch);
    model_fill_batch(s->graphs[variant], (uint64_t)batch, variant ? 0.2 : 0.4, l, variant, NULL);
    lane_run(l, variant, NULL);
    memcpy(s->grads[batch], exec_grad(l->exec), (size_t)s->layout->n_live * sizeof(float));
}

typedef struct lane_thread {
    shared *shared;
    int first, stride, end;
} lane_thread;

static void *run_lane(void *arg)
{
    const lane_thread *t = arg;
    lane l;
    lane_init(&l, t->shared->graphs, 2, t->shared->threads);
    model_fill_params(t->shared->graphs[0], &l, NULL);
    for (int batch = t->first; batch != t->end; batch += t->stride)
        run_batch(t->shared, &l, batch);
    lane_fini(&l);
    return NULL;
}

static void make_grads(shared *s)
{
    for (int i = 0; i < RUNS; i++)
        s->grads[i] = xcalloc((size_t)s->layout->n_live, sizeof(float));
}

static void drop_grads(shared *s)
{
    for (int i = 0; i < RUNS; i++)
        free(s->grads[i]);
}

static void check_lanes(const model_size *size, int threads)
{
    error err = ERROR_INIT;
    need_kernels(size);
    graph *full = model_build(size, FULL, true), *last = model_build(size, LAST, true);
    flat *layout = lane_layout(full);
    shared one = {.graphs = {full, last}, .layout = layout, .threads = threads};
    shared two = one, reversed = one;
    make_grads(&one);
    make_grads(&two);
    make_grads(&reversed);
    run_lane(&(lane_thread){&one, 0, 1, RUNS});
    run_lane(&(lane_thread){&reversed, RUNS - 1, -1, -1});
    lane_thread even = {&two, 0, 2, RUNS}, odd = {&two, 1, 2, RUNS + 1};
    pthread_t ids[2];
    must(thread_start(&ids[0], "lane.0", run_lane, &even, &err), &err);
    must(thread_start(&ids[1], "lane.1", run_lane, &odd, &err), &err);
    pthread_join(ids[0], NULL);
    pthread_join(ids[1], NULL);
    for (int i = 0; i < RUNS; i++) {
        size_t bytes = (size_t)layout->n_live * sizeof(float);
        assert_memory_equal(one.grads[i], two.grads[i], bytes);
        assert_memory_equal(one.grads[i], reversed.grads[i], bytes);
        assert_true(i == 0 || memcmp(one.grads[i], one.grads[i - 1], bytes) != 0);
    }
    drop_grads(&one);
    drop_grads(&two);
    drop_grads(&reversed);
    flat_destroy(&layout);
    graph_destroy(&full);
    graph_destroy(&last);
}

static void test_two_lanes_give_the_bits_of_one(void **state)
{
    (void)state;
    check_lanes(&large_cnn, 1);
    check_lanes(&large_mlp, 1);
}

static void test_two_lanes_of_two_threads_give_the_bits_of_one(void **state)
{
    (void)state;
    check_lanes(&large_cnn, 2);
    check_lanes(&large_mlp, 2);
}

static void test_a_variant_gives_the_bits_it_gives_alone(void **state)
{
    (void)state;
    need_kernels(&large_cnn);
    graph *full = model_build(&large_cnn, FULL, true), *last = model_build(&large_cnn, LAST, true);
    const graph *both[] = {full, last};
    lane together, alone;
    lane_init(&together, both, 2, 1);
    lane_init(&alone, &both[1], 1, 1);
    assert_int_equal(together.layout->n_live, alone.layout->n_live);
    model_fill_params(full, &together, NULL);
    model_fill_params(last, &alone, NULL);
    model_fill_batch(full, 1, 1, &together, 0, NULL);
    lane_run(&together, 0, NULL);
    model_fill_batch(last, 2, 1, &together, 1, NULL);
    model_fill_batch(last, 2, 1, &alone, 0, NULL);
    lane_run(&together, 1, NULL);
    lane_run(&alone, 0, NULL);
    assert_memory_equal(exec_grad(together.exec), exec_grad(alone.exec),
                        (size_t)alone.layout->n_live * sizeof(float));
    lane_fini(&together);
    lane_fini(&alone);
    graph_destroy(&full);
    graph_destroy(&last);
}

/* Hooks */

enum { MOST_PARTS = 64 };

typedef struct guard {
    lane *lane;
    const float *values; /* the true weights */
    float *sent;         /* gradients as they were when ready */
    int needed[MOST_PARTS], readied[MOST_PARTS];
} guard;

static void poison(lane *l, int32_t part)
{
    const part_range *range = &l->layout->parts[part];
    for (int64_t i = range->begin; i < range->end; i++)
        l->params[i] = NAN;
}

static status give_part(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)ret_edition, (void)err;
    guard *s = user;
    const part_range *range = &s->lane->layout->parts[part];
    s->needed[part]++;
    assert_int_equal(s->readied[part], 0);
    memcpy(s->lane->params + range->begin, s->values + range->begin,
           (size_t)(range->end - range->begin) * sizeof(float));
    return OK;
}

static status take_part(void *user, int32_t part, const float *grad, error *err)
{
    (void)err;
    guard *s = user;
    const part_range *range = &s->lane->layout->parts[part];
    s->readied[part]++;
    assert_ptr_equal(grad, exec_grad(s->lane->exec) + range->begin);
    memcpy(s->sent + range->begin, grad, (size_t)(range->end - range->begin) * sizeof(float));
    poison(s->lane, part);
    return OK;
}

/* Gaps between tensors are zero; NaN nowhere. */
static void check_slab(const lane *l)
{
    const float *grad = exec_grad(l->exec);
    int64_t at = 0;
    for (int32_t t = 0; t < l->layout->n_tensors; t++) {
        if (l->layout->tensors[t].kind == TENSOR_FROZEN)
            continue;
        for (; at < l->layout->offset[t]; at++)
            assert_true(grad[at] == 0);
        for (int64_t end = at + l->layout->count[t]; at < end; at++)
            assert_true(isfinite(grad[at]));
    }
    for (; at < l->layout->n_live; at++)
        assert_true(grad[at] == 0);
}

static void check_hooks(const model_size *size)
{
    need_kernels(size);
    graph *g = model_build(size, FULL, true);
    lane plain, guarded;
    lane_init(&plain, (const graph *const *)&g, 1, 1);
    lane_init(&guarded, (const graph *const *)&g, 1, 1);
    const flat *layout = plain.layout;
    assert_in_range(layout->n_live_parts, 2, MOST_PARTS);
    assert_in_range(layout->n_parts, 2, MOST_PARTS);
    model_fill_params(g, &plain, NULL);
    model_fill_batch(g, 5, 1, &plain, 0, NULL);
    lane_run(&plain, 0, NULL);
    check_slab(&plain);
    guard s = {.lane = &guarded, .values = plain.params};
    s.sent = xcalloc((size_t)layout->n_live, sizeof *s.sent);
    for (int32_t part = 0; part < layout->n_parts; part++)
        poison(&guarded, part);
    model_fill_batch(g, 5, 1, &guarded, 0, NULL);
    lane_run(&guarded, 0, &(exec_hooks){.need = give_part, .ready = take_part, .user = &s});
    size_t bytes = (size_t)layout->n_live * sizeof(float);
    assert_memory_equal(s.sent, exec_grad(guarded.exec), bytes);
    assert_memory_equal(s.sent, exec_grad(plain.exec), bytes);
    for (int32_t part = 0; part < layout->n_parts; part++) {
        assert_int_equal(s.readied[part], part < layout->n_live_parts);
        assert_in_range(s.needed[part], 0, 1);
    }
    free(s.sent);
    lane_fini(&plain);
    lane_fini(&guarded);
    graph_destroy(&g);
}

static void test_weights_are_read_between_need_and_ready_only(void **state)
{
    (void)state;
    check_hooks(&large_cnn);
    check_hooks(&large_mlp);
}

/* Dropout */

static void run_dropout(uint64_t batch, const dropout_attr *attr, int64_t n, double *ret_y,
                        double *ret_mask)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[2], out[2];
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){1, {n}}, &in[0], &err), &err);
    must(graph_input(g, "batch", DT_I64, (graph_shape){.rank = 0}, &in[1], &err), &err);
    must(graph_add(g, OP_DROPOUT, "dropout", in, 2, attr, out, &err), &err);
    graph_keep(g, out[0]);
    graph_keep(g, out[1]);
    if (!tested_takes(g)) {
        graph_destroy(&g);
        skip();
    }
    lane l;
    lane_init(&l, (const graph *const *)&g, 1, 1);
    double *ones = xcalloc((size_t)n, sizeof *ones);
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1;
    lane_set(&l, 0, "x", ones);
    lane_set(&l, 0, "batch", &(double){(double)batch});
    lane_run(&l, 0, NULL);
    lane_get(&l, 0, graph_value_at(g, out[0])->name, ret_y);
    lane_get(&l, 0, graph_value_at(g, out[1])->name, ret_mask);
    free(ones);
    lane_fini(&l);
    graph_destroy(&g);
}

static void test_dropout_masks_are_those_of_the_batch(void **state)
{
    (void)state;
    enum { N = 1003 };
    const dropout_attr attr = {.ratio = 0.3f, .seed = 11, .stream = 5};
    double y[N], mask[N];
    for (uint64_t batch = 0; batch < 3; batch++) {
        run_dropout(batch, &attr, N, y, mask);
        rng r = rng_make(attr.seed, RNG_DROPOUT, rng_mix(attr.stream, batch));
        int kept = 0;
        for (int i = 0; i < N; i++) {
            bool stays = (double)rng_u32(&r, (uint64_t)i) >= (double)attr.ratio * 0x1p32;
            assert_true(mask[i] == stays);
            assert_true(stays ? fabs(y[i] - 1 / 0.7) < 1e-6 : y[i] == 0);
            kept += stays;
        }
        assert_in_range(kept, N * 6 / 10, N * 8 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_a_cnn),
        cmocka_unit_test(test_gradients_of_an_mlp),
        cmocka_unit_test(test_two_lanes_give_the_bits_of_one),
        cmocka_unit_test(test_two_lanes_of_two_threads_give_the_bits_of_one),
        cmocka_unit_test(test_a_variant_gives_the_bits_it_gives_alone),
        cmocka_unit_test(test_weights_are_read_between_need_and_ready_only),
        cmocka_unit_test(test_dropout_masks_are_those_of_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
