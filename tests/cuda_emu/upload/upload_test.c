/*
 * Weights on their way to devices: what they lie in is given back when the devices have their copy,
 * and not before; runs find what was sent last, without a copy that waits for memory.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"
#include "exec/weights.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1024, ENGINES = 2, PLACES = 6, PAGE = 4096 };

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

/* Memory of a server, and how a payload of it comes and goes. */
typedef struct server {
    net *net;
    net_socket *listener, *dial;
    net_peer worker;
    float *memory; /* [PLACES][N] */
    int n_out, n_back;
    const net_memory *lost; /* the connection is: the last that comes back ends the memory */
} server;

static void send(server *s, span *payload)
{
    error err = ERROR_INIT;
    const char head[NET_HEAD] = "part";
    must(net_send(s->listener, &s->worker, head, payload, &err), &err);
}

static void receive(net_socket *at, net_message *ret)
{
    error err = ERROR_INIT;
    while (!net_receive(at, ret))
        must(net_poll(&at, 1, NULL, 10000, &err), &err);
}

static void server_open(server *s)
{
    error err = ERROR_INIT;
    const char *endpoint = "inproc://upload", head[NET_HEAD] = "hello";
    void *memory = NULL;
    net_message hello;
    *s = (server){0};
    must(net_create(&s->net, &err), &err);
    must(net_listen(s->net, &endpoint, 1, -1, &s->listener, &err), &err);
    must(net_dial(s->net, endpoint, &s->dial, &err), &err);
    must(net_send(s->dial, NULL, head, NULL, &err), &err);
    receive(s->listener, &hello);
    s->worker = hello.from;
    span_drop(hello.payload);
    assert_int_equal(posix_memalign(&memory, PAGE, PLACES * N * sizeof(float)), 0);
    s->memory = memory;
}

static void server_close(server *s)
{
    net_close(&s->dial, 0);
    net_close(&s->listener, 0);
    net_destroy(&s->net);
    free(s->memory);
}

/* It is used again at once, for something else. */
static void given_back(span *back)
{
    server *s = back->owner;
    memset(back->data, 0xff, back->bytes);
    free(back);
    s->n_back++;
    if (--s->n_out == 0 && s->lost)
        s->lost->unmapped(s->lost->user, s->memory);
}

/* A part of weights that all are `value`, from that place of the memory. */
static void send_part(server *s, weight_store *weights, int at, float value)
{
    error err = ERROR_INIT;
    float *data = s->memory + (size_t)at * N;
    span *sent = xmalloc(sizeof *sent);
    net_message m;
    for (int i = 0; i < N; i++)
        data[i] = value;
    s->n_out++;
    *sent = (span){
        .data = data, .bytes = N * sizeof *data, .refs = 1, .release = given_back, .owner = s};
    send(s, sent);
    receive(s->dial, &m);
    assert_ptr_equal(span_data(m.payload), data);
    must(weight_store_put(weights, 0, m.payload, &err), &err);
    span_drop(m.payload);
}

/* --- the devices --- */

typedef struct stage {
    flat *flat;
    graph *graph;
    exec *engines[ENGINES];
    weight_store *weights;
    net_memory memory;
    int64_t edition;
} stage;

static status need(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)part, (void)err;
    *ret_edition = ((const stage *)user)->edition;
    return OK;
}

static void stage_open(stage *s)
{
    error err = ERROR_INIT;
    tensor_decl decl = {.name = "w", .rank = 1, .dim = {N}, .kind = TENSOR_TRAINABLE};
    graph_val w, y;
    *s = (stage){.edition = 0};
    must(graph_create(&s->graph, &err), &err);
    must(graph_param(s->graph, &decl, &w, &err), &err);
    must(graph_add_1(s->graph, OP_NEG, "y", &w, 1, NULL, &y, &err), &err);
    graph_keep(s->graph, y);
    must(flat_create(&decl, 1, &s->flat, &err), &err);
    assert_int_equal(s->flat->n_parts, 1);
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .flat = s->flat,
                      .graphs = (const graph *const[]){s->graph},
                      .n_graphs = 1,
                      .weights = s->weights = weights_uploaded_create(s->flat)};
    for (int i = 0; i < ENGINES; i++) {
        must(exec_create(&o, &s->engines[i], &err), &err);
        must(weight_store_join(s->weights, s->engines[i], &err), &err);
    }
    s->memory = s->weights->memory;
}

static void stage_close(stage *s)
{
    weight_store_leave(s->weights);
    for (int i = 0; i < ENGINES; i++)
        exec_destroy(&s->engines[i]);
    weight_store_destroy(&s->weights);
    flat_destroy(&s->flat);
    graph_destroy(&s->graph);
}

/* As lanes do ahead: what goes up in a run may be behind the weights in its queue. */
static void upload_inputs(const stage *s)
{
    error err = ERROR_INIT;
    for (int i = 0; i < ENGINES; i++) {
        must(exec_refill(s->engines[i], &err), &err);
        must(exec_upload_inputs(s->engines[i], 0, &err), &err);
    }
}

/* Another edition, whose weights are `value`. */
static void check_run(stage *s, float value)
{
    error err = ERROR_INIT;
    const exec_hooks hooks = {.need = need, .user = s};
    s->edition++;
    for (int i = 0; i < ENGINES; i++) {
        must(exec_run(s->engines[i], 0, &hooks, &err), &err);
        const float *y = exec_value(s->engines[i], 0, "y", NULL);
        for (int k = 0; k < N; k++)
            assert_true(y[k] == -value);
    }
}

static void check_weights(const stage *s, float value)
{
    error err = ERROR_INIT;
    float *w = xcalloc(N, sizeof *w);
    must(exec_read_params(s->engines[ENGINES - 1], w, &err), &err);
    for (int k = 0; k < N; k++)
        assert_true(w[k] == value);
    free(w);
}

/* --- */

static void test_memory_goes_back_when_the_devices_have_it(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    server v;
    stage s;
    server_open(&v);
    stage_open(&s);
    s.memory.mapped(s.memory.user, v.memory, PLACES * N * sizeof(float));
    uint64_t waits = emu_pageable_copies(), up = emu_bytes_up();
    upload_inputs(&s);
    send_part(&v, s.weights, 0, 1);
    assert_int_equal(v.n_back, 0);
    check_run(&s, 1);
    must(weight_store_settle(s.weights, &err), &err);
    assert_int_equal(v.n_back, 1);
    send_part(&v, s.weights, 0, 2);
    must(weight_store_settle(s.weights, &err), &err);
    assert_int_equal(v.n_back, 2);
    check_run(&s, 2);
    assert_int_equal(emu_bytes_up() - up, 2 * ENGINES * N * sizeof(float));
    for (int i = 0; i < PLACES; i++) /* few stay under way, and the last one counts */
        send_part(&v, s.weights, i, (float)i);
    assert_true(v.n_back > 2 && v.n_back < 2 + PLACES);
    check_run(&s, PLACES - 1);
    assert_int_equal(emu_pageable_copies(), waits);
    check_weights(&s, PLACES - 1);
    v.lost = &s.memory;
    stage_close(&s);
    assert_int_equal(v.n_back, 2 + PLACES);
    server_close(&v);
}

static void test_other_memory_goes_back_at_once(void **state)
{
    (void)state;
    server v;
    stage s;
    server_open(&v);
    stage_open(&s);
    uint64_t waits = emu_pageable_copies();
    for (int i = 0; i < PLACES; i++) {
        send_part(&v, s.weights, 0, (float)i);
        assert_int_equal(v.n_back, i + 1);
        if (i % 2 == 0)
            check_run(&s, (float)i);
    }
    s.memory.mapped(s.memory.user, v.memory, PLACES * N * sizeof(float));
    send_part(&v, s.weights, 0, 7);
    assert_int_equal(v.n_back, PLACES);
    check_run(&s, 7);
    error err = ERROR_INIT;
    must(weight_store_settle(s.weights, &err), &err);
    s.memory.unmapped(s.memory.user, v.memory);
    send_part(&v, s.weights, 0, 8); /* its addresses may be somebody else's by now */
    assert_int_equal(v.n_back, PLACES + 2);
    check_run(&s, 8);
    assert_int_equal(emu_pageable_copies(), waits);
    stage_close(&s);
    server_close(&v);
}

/* What cannot be told to the devices is copied as what comes from afar. */
static void test_memory_that_devices_refuse_is_copied(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    server v;
    stage s, other;
    server_open(&v);
    stage_open(&s);
    stage_open(&other);
    other.memory.mapped(other.memory.user, v.memory, PLACES * N * sizeof(float));
    s.memory.mapped(s.memory.user, v.memory, PLACES * N * sizeof(float));
    send_part(&v, s.weights, 0, 3);
    assert_int_equal(v.n_back, 1);
    must(weight_store_settle(s.weights, &err), &err);
    check_run(&s, 3);
    s.memory.unmapped(s.memory.user, v.memory);
    send_part(&v, other.weights, 0, 4); /* it still knows it */
    assert_int_equal(v.n_back, 1);
    check_run(&other, 4);
    v.lost = &other.memory;
    stage_close(&other);
    assert_int_equal(v.n_back, 2);
    stage_close(&s);
    server_close(&v);
}

static void test_memory_goes_back_from_a_device_that_failed(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    server v;
    stage s;
    server_open(&v);
    stage_open(&s);
    s.memory.mapped(s.memory.user, v.memory, PLACES * N * sizeof(float));
    send_part(&v, s.weights, 0, 1);
    emu_break(0, cudaErrorLaunchFailure);
    assert_int_equal(weight_store_settle(s.weights, &err), E_DEVICE);
    assert_int_equal(v.n_back, 1);
    emu_faults_forget();
    s.memory.unmapped(s.memory.user, v.memory);
    stage_close(&s);
    server_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_memory_goes_back_when_the_devices_have_it),
        KERNEL_TEST(test_other_memory_goes_back_at_once),
        KERNEL_TEST(test_memory_that_devices_refuse_is_copied),
        KERNEL_TEST(test_memory_goes_back_from_a_device_that_failed),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
