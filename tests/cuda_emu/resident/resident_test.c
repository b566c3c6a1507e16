/*
 * A server whose parts are on the device: bit for bit what one process makes of the same gradients on
 * the host. And a lane's engine beside it, of whose weights and gradients nothing crosses.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/stream.h"
#include "exec/exec.h"
#include "exec/resident.h"
#include "graph/attrs.h"
#include "unit/ps/support_table.h"

#include <math.h>
#include <string.h>

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

static resident *made(void)
{
    const backend_choice device = {.ops = &backend_cuda, .options = {.threads = 1}};
    return resident_create(&device);
}

static resident *opened(const flat *f)
{
    error err = ERROR_INIT;
    resident *r = made();
    assert_ptr_equal(part_store_or_host(resident_store(r)), part_store_host());
    must(resident_open(r, f, &err), &err);
    assert_ptr_equal(part_store_or_host(resident_store(r)), resident_store(r));
    return r;
}

/* --- the server --- */

static double norms[8];

static void note_norm(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)user, (void)step;
    norms[part] = square_sum;
}

static servers servers_of(const shape *s)
{
    table_hooks hooks = quiet_hooks;
    hooks.voted = note_norm;
    return servers_make(s, 1, &hooks, 0, NULL);
}

/* The same steps there and on the host; of every third one the vote says that it is skipped. */
static void play(shape *s, resident *r, int64_t n_steps)
{
    error err = ERROR_INIT;
    servers host = servers_of(s);
    s->store = resident_store(r);
    servers there = servers_of(s);
    whole w = whole_make(s);
    for (int64_t step = 0; step < n_steps; step++) {
        double expected[COUNT_OF(norms)];
        verdict v = {.scale = 0.5f, .skip = step % 3 == 2};
        s->factor = loss_scale_factor(table_scale(there.tables[0], 0, step));
        servers_push_all(&there, step);
        while (table_is_summing(there.tables[0]))
            must(table_say_summed(there.tables[0], &err), &err);
        memcpy(expected, norms, sizeof norms);
        s->store = NULL;
        servers_push_all(&host, step);
        s->store = resident_store(r);
        if (s->votes) {
            assert_memory_equal(norms, expected, sizeof norms);
            must(table_verdict(there.tables[0], step, v, &err), &err);
            must(table_verdict(host.tables[0], step, v, &err), &err);
        }
        if (s->votes && v.skip)
            whole_skip(&w);
        else
            whole_step(&w, s->votes ? v.scale : 1);
        servers_check(&there, &w);
    }
    servers_fini(&there);
    servers_fini(&host);
    s->store = NULL;
    assert_int_equal(hands_out(), 0);
    whole_fini(&w);
}

static const optim optims[] = {
    {.kind = OPTIM_SGD, .weight_decay = 0.01},
    {.kind = OPTIM_SGD, .momentum = 0.9, .nesterov = true},
    {.kind = OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01},
    {.kind = OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1},
    {.kind = OPTIM_ADAGRAD, .eps = 1e-10, .lr_decay = 0.01},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .centered = true, .momentum = 0.9},
};

static void test_every_optimizer_has_the_hosts_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(optims); i++) {
        shape s = shape_small(3);
        resident *r = opened(s.flat);
        s.optim = optims[i];
        s.clip_value = i % 2 ? 3.0f : 0;
        play(&s, r, 3);
        shape_fini(&s);
        resident_destroy(&r);
    }
}

/* Several parts, state and frozen ones among them, gradients with a scale, norms and skipped steps. */
static void test_votes_and_loss_scales_have_the_hosts_bits(void **state)
{
    (void)state;
    shape s = shape_large(2);
    resident *r = opened(s.flat);
    s.votes = true;
    s.scaling = (loss_scale_rule){.dynamic = true, .start = 4, .window = 2};
    play(&s, r, 4);
    shape_fini(&s);
    resident_destroy(&r);
}

/* What a cut holds stays as it was; loaded into another table it goes on from there. */
static void test_what_is_frozen_is_the_hosts(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    shape s = shape_small(1);
    resident *r = opened(s.flat), *other = opened(s.flat);
    s.store = resident_store(r);
    servers v = servers_of(&s);
    whole w = whole_make(&s);
    servers_push_all(&v, 0);
    whole_step(&w, 1);

    span *weights, *slots[OPTIM_SLOTS];
    must(table_freeze(v.tables[0], 0, &weights, slots, &err), &err);
    servers_push_all(&v, 1);
    size_t bytes = weights->bytes;
    assert_memory_equal(weights->data, w.weights, bytes);
    s.store = resident_store(other);
    servers next = servers_make(&s, 1, &quiet_hooks, 1, NULL);
    must(table_load(next.tables[0], 0, 0, weights->data, bytes, &err), &err);
    for (size_t i = 0; i < optim_slots(&s.optim); i++) {
        assert_memory_equal(slots[i]->data, w.slots[i], bytes);
        must(table_load(next.tables[0], 0, 1 + i, slots[i]->data, bytes, &err), &err);
        span_drop(slots[i]);
    }
    span_drop(weights);
    servers_push_all(&next, 1);
    whole_step(&w, 1);
    servers_check(&v, &w);
    servers_check(&next, &w);
    s.store = resident_store(r);
    servers_push_all(&v, 2);
    servers_fini(&next);
    servers_fini(&v);
    whole_fini(&w);
    shape_fini(&s);
    resident_destroy(&r);
    resident_destroy(&other);
}

/* A copy says nothing itself; no weights are made any more of what it may have spoilt. */
static void test_after_a_failure_nothing_is_updated(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    shape s = shape_small(1);
    resident *r = opened(s.flat);
    part_store *e = resident_store(r);
    s.store = e;
    servers v = servers_of(&s);
    span *grad = hand(&s, 0, 0, (tree_node){0}, false);
    e->memory->copy(e, grad->floats, grad->floats, 2 * span_n(grad)); /* more than is there */
    emu_faults_forget();
    push_result result;
    assert_int_equal(table_push(v.tables[0], 0, 0, 1, (tree_node){0}, grad, &result, &err), E_DEVICE);
    assert_int_equal(table_version(v.tables[0], 0), 0);
    servers_fini(&v);
    shape_fini(&s);
    resident_destroy(&r);
}

/* --- the lane --- */

typedef struct lane {
    exec *e;
    table *server;
    resident *r;
    flat *flat;
    graph *graph;
    int64_t step;
} lane;

static void given_back(span *b)
{
    b->release = NULL;
}

/* The server has this version, or is about to: it has been told what makes it. */
static status need(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)err;
    lane *l = user;
    assert_int_equal(table_version(l->server, part), l->step);
    *ret_edition = l->step;
    return OK;
}

/* It is lent, and given back before the next run. */
static status ready(void *user, int32_t part, const float *grad, error *err)
{
    lane *l = user;
    push_result result;
    span lent = {.data = (float *)(uintptr_t)grad,
                 .bytes = (size_t)flat_part_elements(l->flat, part) * sizeof *grad,
                 .refs = 1,
                 .release = given_back};
    assert_ptr_equal(grad, exec_grad(l->e) + l->flat->parts[part].begin);
    TRY(table_push(l->server, part, l->step, 1, (tree_node){0}, &lent, &result, err));
    assert_int_equal(result, PUSH_TAKEN);
    assert_null(lent.release);
    return OK;
}

enum { FEW_PARTS = 3, MOST_PARTS = 9, N = PART_MIN };

/* The loss is the sum of exp(w) over all tensors, a part each; so that is its gradient too. */
static void rise(lane *l, size_t n_parts)
{
    error err = ERROR_INIT;
    static const char *const names[MOST_PARTS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    char power[] = "power of ?", sum[] = "sum of ?", total[] = "up to ?";
    tensor_decl decl[MOST_PARTS];
    graph_val loss = GRAPH_NONE, y, weight;
    const reduce_attr all = {0};
    must(graph_create(&l->graph, &err), &err);
    for (size_t i = 0; i < n_parts; i++) {
        decl[i] = (tensor_decl){
            .name = names[i], .rank = 1, .dim = {N}, .decay = i % 2, .init = {INIT_UNIFORM, -1, 1}};
        power[sizeof power - 2] = sum[sizeof sum - 2] = total[sizeof total - 2] = *names[i];
        must(graph_param(l->graph, &decl[i], &y, &err), &err);
        must(graph_add_1(l->graph, OP_EXP, power, &y, 1, NULL, &y, &err), &err);
        must(graph_add_1(l->graph, OP_REDUCE_SUM, sum, &y, 1, &all, &y, &err), &err);
        const graph_val both[] = {loss, y};
        if (i)
            must(graph_add_1(l->graph, OP_ADD, total, both, 2, NULL, &y, &err), &err);
        loss = y;
    }
    graph_keep(l->graph, loss);
    must(graph_input(l->graph, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(l->graph, loss, weight, &err), &err);
    must(flat_create(decl, n_parts, &l->flat, &err), &err);
    assert_int_equal(l->flat->n_live_parts, n_parts);
}

/* Steps of rate 1 / 16: w becomes w - exp(w) / 16. */
static lane lane_of(size_t n_parts)
{
    error err = ERROR_INIT;
    lane l = {.r = made()};
    rise(&l, n_parts);
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .flat = l.flat,
                      .graphs = (const graph *const *)&l.graph,
                      .n_graphs = 1,
                      .weights = resident_weights(l.r),
                      .beside = resident_bytes(l.flat, 0)};
    must(exec_create(&o, &l.e, &err), &err);
    part_hold held[MOST_PARTS];
    for (size_t p = 0; p < n_parts; p++)
        held[p] = PART_HELD;
    table_options t = {.flat = l.flat,
                       .parts = held,
                       .steps = {.examples = 100, .batch_size = 1, .per_step = 1},
                       .schedule = {.in_order = true},
                       .groups = &(optim_group){
                           .optim = {.kind = OPTIM_SGD},
                           .rates = {.schedules = {{.kind = LR_SCHEDULE_CONSTANT, .base = 0.0625}}},
                           .share = 1.0},
                       .n_groups = 1,
                       .seed = SEED,
                       .store = resident_store(l.r)};
    must(table_create(&t, &quiet_hooks, &l.server, &err), &err);
    return l;
}

static void lane_end(lane *l)
{
    table_destroy(&l->server);
    exec_destroy(&l->e);
    resident_destroy(&l->r);
    flat_destroy(&l->flat);
    graph_destroy(&l->graph);
}

static void run(lane *l)
{
    error err = ERROR_INIT;
    const exec_hooks hooks = {.need = need, .ready = ready, .user = l};
    *(float *)exec_input(l->e, 0, "weight", NULL) = 1;
    must(exec_run(l->e, 0, &hooks, &err), &err);
    l->step++;
}

static void check_weights(const lane *l)
{
    error err = ERROR_INIT;
    static float now[N], first[N];
    for (int32_t p = 0; p < l->flat->n_live_parts; p++) {
        span *b = table_weights(l->server, p, l->step);
        const float *w = NULL;
        must(table_read(l->server, b->data, N, now, &w, &err), &err);
        span_drop(b);
        flat_part_init(l->flat, p, SEED, first);
        for (int i = 0; i < N; i++) {
            for (int64_t s = 0; s < l->step; s++)
                first[i] -= expf(first[i]) / 16;
            assert_true(fabs(w[i] - first[i]) <= 1e-4);
        }
    }
}

static size_t memory_free(void)
{
    error err = ERROR_INIT;
    backend_device d;
    must(backend_cuda.describe(0, &d, &err), &err);
    return d.free;
}

/* Forward and backward, from which the server hears nothing. */
static uint64_t kernels_of_the_model(lane *l)
{
    error err = ERROR_INIT;
    const float *w;
    float one;
    uint64_t before = emu_kernels_run();
    part_store *e = resident_store(l->r);
    must(exec_run(l->e, 0, NULL, &err), &err);
    for (int32_t p = 0; p < l->flat->n_live_parts; p++)
        must(e->memory->take(e, p, &err), &err);
    must(table_read(l->server, e->weights, 1, &one, &w, &err), &err);
    return emu_kernels_run() - before;
}

/* The host learns the loss and a word about the data, and waits for that alone, once, whatever the number of
 * parts; of the last step it has not seen the end. A part's update is one kernel. */
static void of_a_step(size_t n_parts)
{
    enum { STEPS = 3 };
    lane l = lane_of(n_parts);
    run(&l);
    check_weights(&l);
    uint64_t model = kernels_of_the_model(&l), kernels = emu_kernels_run();
    uint64_t up = emu_bytes_up(), down = emu_bytes_down(), waits = emu_host_waits();
    size_t left = memory_free();
    for (int i = 0; i < STEPS; i++)
        run(&l);
    assert_true(emu_host_waits() - waits <= STEPS);
    assert_int_equal(memory_free(), left);
    check_weights(&l);
    assert_int_equal(emu_kernels_run() - kernels, STEPS * (model + n_parts));
    assert_int_equal(emu_bytes_up() - up, STEPS * sizeof(float));
    assert_int_equal(emu_bytes_down() - down,
                     STEPS * (sizeof(float) + sizeof(uint64_t)) + n_parts * N * sizeof(float));
    lane_end(&l);
}

static void test_of_a_step_the_host_awaits_the_loss_alone(void **state)
{
    (void)state;
    of_a_step(1);
    of_a_step(FEW_PARTS);
}

/* Of a graph's weights on the host. */
static exec *engine_from_the_host(const flat *f, const graph *g)
{
    error err = ERROR_INIT;
    static float weights[MOST_PARTS * N];
    exec *e = NULL;
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .flat = f,
                      .graphs = &g,
                      .n_graphs = 1};
    must(exec_create(&o, &e, &err), &err);
    exec_bind_params(e, weights);
    return e;
}

/* A process has 8 queues of a GPU's hardware, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise: of streams
 * beyond, two share one, and wait for each other. With an evaluator in the process they are all taken. */
static void test_a_lane_its_parts_and_an_evaluator_have_few_streams(void **state)
{
    (void)state;
    unsigned before = emu_streams();
    lane l = lane_of(1);
    run(&l);
    assert_int_equal(emu_streams() - before, 5);
    exec *evaluator = engine_from_the_host(l.flat, l.graph);
    assert_int_equal(emu_streams() - before, 8);
    exec_destroy(&evaluator);
    lane_end(&l);
}

/* What the host asks of the runtime to begin a step. */
typedef struct calls {
    uint64_t launches, records, follows, down;
} calls;

static calls calls_now(void)
{
    return (calls){.launches = emu_graph_launches(),
                   .records = emu_event_records(),
                   .follows = emu_event_follows(),
                   .down = emu_bytes_down()};
}

static calls calls_since(calls before)
{
    calls now = calls_now();
    return (calls){.launches = now.launches - before.launches,
                   .records = now.records - before.records,
                   .follows = now.follows - before.follows,
                   .down = now.down - before.down};
}

/* Nine parts are needed at nine places, and ready behind nine. Of each nine the first two stay, the fourth,
 * the sixth and the last two; in front of the first node there is nothing to be cut off, nor behind the last.
 * So gradients are ready at six places. */
enum { PLACES = 6 };

/* The server marks what it has done with each part; the lane what it has made at each place, which the server
 * follows. All that the server did of the step before comes in front of what it did last, of the part that is
 * needed first: so the lane follows that alone. The rest is inputs that go up, and the loss and a word that
 * come down. */
static void calls_of_a_step(size_t n_parts, uint64_t places)
{
    lane l = lane_of(n_parts);
    run(&l);
    calls before = calls_now();
    run(&l);
    calls step = calls_since(before);
    assert_int_equal(step.launches, places);
    assert_int_equal(step.records, n_parts + places + 5);
    assert_int_equal(step.follows, places + 1 + 4);
    check_weights(&l);
    lane_end(&l);
}

static void test_a_step_is_few_calls(void **state)
{
    (void)state;
    calls_of_a_step(1, 1);
    calls_of_a_step(MOST_PARTS, PLACES);
}

/* There are more pieces. Gradients come down one by one, with a word for each place where some are ready, and
 * one for the step. */
static void test_a_step_from_the_host_is_more_launches(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    lane l = lane_of(MOST_PARTS);
    exec *e = engine_from_the_host(l.flat, l.graph);
    calls before = calls_now();
    must(exec_run(e, 0, NULL, &err), &err);
    calls step = calls_since(before);
    assert_int_equal(step.launches, 11);
    assert_int_equal(step.down, sizeof(float) + MOST_PARTS * N * sizeof(float) + (PLACES + 1) * sizeof(uint64_t));
    exec_destroy(&e);
    lane_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_every_optimizer_has_the_hosts_bits),
        KERNEL_TEST(test_votes_and_loss_scales_have_the_hosts_bits),
        KERNEL_TEST(test_what_is_frozen_is_the_hosts),
        KERNEL_TEST(test_after_a_failure_nothing_is_updated),
        KERNEL_TEST(test_of_a_step_the_host_awaits_the_loss_alone),
        KERNEL_TEST(test_a_lane_its_parts_and_an_evaluator_have_few_streams),
        KERNEL_TEST(test_a_step_is_few_calls),
        KERNEL_TEST(test_a_step_from_the_host_is_more_launches),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
