/*
 * Machines that are not as they should be: what people are told, with which status. Each is met in a
 * process of its own, since a process knows one machine.
 */
#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"
#include "exec/exec.h"
#include "graph/attrs.h"
#include "job/process/subprocess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 1024, OUT = 256 };

/* What is done there. */
typedef struct attempt {
    const char *machine[4]; /* name=value */
    int device;
    int64_t batch;
    int runs; /* of the engine; 0: the GPU is looked for */
    bool learns, traces;
    uint8_t counted, kept; /* levels of sums: what the engine is told, what must have room then */
    int32_t peers;         /* of how many the engine is told, and is one; 0: none */
} attempt;

/* y = -exp(x) of a batch. */
static status build(graph *g, int64_t batch, error *err)
{
    graph_val v = GRAPH_NONE;
    TRY(graph_input(g, "x", DT_F32, (graph_shape){2, {batch, WIDTH}}, &v, err));
    TRY(graph_add_1(g, OP_EXP, "exp", &v, 1, NULL, &v, err));
    TRY(graph_add_1(g, OP_NEG, "y", &v, 1, NULL, &v, err));
    graph_keep(g, v);
    return OK;
}

static const tensor_decl weights = {.name = "w", .rank = 2, .dim = {WIDTH, OUT}};

/* The gradient of a mean over exp(x w): a MB of it. */
static status build_learner(graph *g, int64_t batch, error *err)
{
    graph_val in[2], v = GRAPH_NONE, share = GRAPH_NONE;
    TRY(graph_input(g, "x", DT_F32, (graph_shape){2, {batch, WIDTH}}, &in[0], err));
    TRY(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &share, err));
    TRY(graph_param(g, &weights, &in[1], err));
    TRY(graph_add_1(g, OP_GEMM, "y", in, 2, NULL, &v, err));
    TRY(graph_add_1(g, OP_EXP, "exp", &v, 1, NULL, &v, err));
    TRY(graph_add_1(g, OP_REDUCE_MEAN, "loss", &v, 1, &(reduce_attr){.drop_dims = true}, &v, err));
    return graph_backward(g, v, share, err);
}

static status compute(const attempt *a, graph *g, const flat *f, peers *p, exec **e, error *err)
{
    static const float params[WIDTH * OUT];
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1, .device = a->device},
                      .flat = f,
                      .graphs = (const graph *const[]){g},
                      .n_graphs = 1,
                      .examples = a->batch,
                      .sum_level = a->counted,
                      .traces = a->traces,
                      .peers = p};
    TRY(a->learns ? build_learner(g, a->batch, err) : build(g, a->batch, err));
    TRY(exec_create(&o, e, err));
    exec_join(*e, p, 0);
    exec_bind_params(*e, params);
    if (exec_keep_sums(*e, a->kept) < a->kept)
        return FAIL(err, E_NOMEM, "no room for the sums");
    for (int i = 0; i < a->runs; i++)
        TRY(exec_run(*e, 0, NULL, err));
    return OK;
}

static status attempt_it(void *user, error *err)
{
    const attempt *a = user;
    for (int i = 0; i < 4 && a->machine[i]; i++)
        putenv((char *)(uintptr_t)a->machine[i]);
    if (!a->runs)
        return cuda_find(a->device, err);
    graph *g = NULL;
    flat *f = NULL;
    exec *e = NULL;
    TRY(graph_create(&g, err));
    status st = a->learns ? flat_create(&weights, 1, &f, err) : OK;
    peers *p = st == OK && a->peers ? peers_create(a->peers, f) : NULL;
    if (st == OK)
        st = compute(a, g, f, p, &e, err);
    if (st == OK && p)
        st = peers_connect(p, err);
    exec_destroy(&e);
    peers_destroy(&p);
    flat_destroy(&f);
    graph_destroy(&g);
    return st;
}

static status try(const attempt *a, error *err)
{
    *err = (error)ERROR_INIT;
    return subprocess_run(attempt_it, (void *)(uintptr_t)a, NULL, 0, err);
}

static void expect(const attempt *a, status expected, const char *text)
{
    error err;
    status st = try(a, &err);
    if (st != expected || strcmp(err.text, text) != 0)
        fail_msg("%s: '%s' and not '%s'", status_name(st), err.text, text);
}

static void test_machines_without_a_gpu(void **state)
{
    (void)state;
    expect(&(attempt){.machine = {"EMU_DRIVER=0"}}, E_DEVICE,
           "there is no NVIDIA driver on this machine");
    expect(&(attempt){.machine = {"EMU_DRIVER=12020"}}, E_DEVICE,
           "the NVIDIA driver knows CUDA 12.2, and this program needs 13.0: a newer driver is needed");
    expect(&(attempt){.machine = {"EMU_DEVICES=0", "CUDA_VISIBLE_DEVICES=7"}}, E_DEVICE,
           "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES is 7");
    expect(&(attempt){.machine = {"EMU_DEVICES=2"}, .device = 3}, E_DEVICE,
           "there is no GPU number 3: there are 2, counted from 0; CUDA_VISIBLE_DEVICES is not set");
    expect(&(attempt){.machine = {"EMU_DEVICES=2"}, .device = 2, .runs = 1, .batch = 1}, E_DEVICE,
           "backend cuda: there is no GPU number 2: there are 2, counted from 0; CUDA_VISIBLE_DEVICES "
           "is not set");
    expect(&(attempt){.machine = {"EMU_DEVICES=2"}, .device = 1, .runs = 1, .batch = 1}, OK, "");
}

static void test_a_chip_without_code(void **state)
{
    (void)state;
    expect(&(attempt){.machine = {"EMU_ARCH=70"}, .runs = 1, .batch = 1}, E_DEVICE,
           "backend cuda: GPU 0 (Emulated sm_70) is of the kind sm_70, and this program has code for "
           "others (emulated); build it with -DTEQUIO_CUDA_ARCHS=70");
    expect(&(attempt){.machine = {"EMU_ARCH=61"}, .runs = 1, .batch = 1}, E_DEVICE,
           "backend cuda: GPU 0 (Emulated sm_61) is of the kind sm_61, and this program has code for "
           "others (emulated); build it with -DTEQUIO_CUDA_ARCHS=61");
}

/* The batch that would fit does, and a tenth more does not. */
static void test_a_batch_that_does_not_fit(void **state)
{
    (void)state;
    error err;
    attempt a = {.machine = {"EMU_MEMORY=8388608"}, .runs = 1, .batch = 2000};
    assert_int_equal(try(&a, &err), E_NOMEM);
    const char *most = strstr(err.text, "a batch of 2000; one of ");
    assert_non_null(most);
    assert_ptr_equal(strstr(err.text, "cuda number 0 (Emulated sm_90) lacks memory: "), err.text);
    assert_non_null(strstr(err.text, " of 8 are free; weights, gradients and their sums take 0, and "));
    a.batch = strtoll(most + strlen("a batch of 2000; one of "), NULL, 10);
    assert_in_range(a.batch, 100, 1999);
    assert_int_equal(try(&a, &err), OK);
    a.batch += a.batch / 10;
    assert_int_equal(try(&a, &err), E_NOMEM);
}

/* Of a machine of 16 MB: what a batch may have beside weights, gradients, sums and what peers send. */
static int64_t largest_batch(uint8_t counted, int32_t n_peers)
{
    error err;
    attempt a = {.machine = {"EMU_MEMORY=16777216"},
                 .runs = 1,
                 .batch = 9000,
                 .learns = true,
                 .counted = counted,
                 .peers = n_peers};
    assert_int_equal(try(&a, &err), E_NOMEM);
    const char *sent = strstr(err.text, "their sums with what other devices send take ");
    assert_int_equal(sent != NULL, n_peers > 0);
    const char *most = strstr(err.text, "a batch of 9000; one of ");
    assert_non_null(most);
    return strtoll(most + strlen("a batch of 9000; one of "), NULL, 10);
}

static void test_a_batch_that_fits_beside_sums(void **state)
{
    (void)state;
    error err;
    attempt a = {.machine = {"EMU_MEMORY=16777216"}, .runs = 1, .learns = true, .kept = 3};
    a.batch = largest_batch(0, 0);
    assert_int_equal(try(&a, &err), E_NOMEM);
    assert_string_equal(err.text, "no room for the sums");
    a.batch = largest_batch(3, 0);
    assert_in_range(a.batch, 100, largest_batch(0, 0) - 100);
    assert_int_equal(try(&a, &err), OK);
    a.batch = largest_batch(100, 0); /* so many that they never fit are done without */
    assert_int_equal(a.batch, largest_batch(0, 0));
}

/* What is sent to it has the room of a part of the weights, here a fourth of them. */
static void test_a_batch_that_fits_beside_peers(void **state)
{
    (void)state;
    error err;
    attempt a = {.machine = {"EMU_MEMORY=16777216"}, .runs = 1, .learns = true, .peers = 1};
    int64_t alone = largest_batch(0, 0), fourth = (alone - largest_batch(1, 0)) / 4;
    a.batch = largest_batch(0, 1);
    assert_in_range(a.batch, alone - fourth - 2, alone - fourth);
    assert_int_equal(try(&a, &err), OK);
}

static void test_not_even_one_fits(void **state)
{
    (void)state;
    error err;
    attempt a = {.machine = {"EMU_MEMORY=8192"}, .runs = 1, .batch = 3};
    assert_int_equal(try(&a, &err), E_NOMEM);
    assert_non_null(strstr(err.text, "a batch of 3; not even one of 1 would fit"));
}

/* A stopwatch has two of these. */
static void test_nodes_that_cannot_be_timed(void **state)
{
    (void)state;
    expect(&(attempt){.machine = {"EMU_TIMERS=1"}, .runs = 1, .batch = 3, .traces = true}, E_NOMEM,
           "nodes cannot be timed: an event: out of memory (cudaErrorMemoryAllocation)");
    expect(&(attempt){.machine = {"EMU_TIMERS=3"}, .runs = 1, .batch = 3, .traces = true}, E_NOMEM,
           "runs cannot be timed: an event: out of memory (cudaErrorMemoryAllocation)");
    expect(&(attempt){.machine = {"EMU_TIMERS=0"}, .runs = 1, .batch = 3}, OK, "");
}

static void test_a_gpu_that_breaks(void **state)
{
    (void)state;
    error err;
    attempt a = {.machine = {"EMU_FAIL=5"}, .runs = 4, .batch = 3};
    assert_int_equal(try(&a, &err), E_DEVICE);
    assert_non_null(strstr(err.text, "an illegal memory access was encountered "
                                     "(cudaErrorIllegalAddress)"));
    assert_int_equal(status_exit_code(E_DEVICE), 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines_without_a_gpu),
        cmocka_unit_test(test_a_chip_without_code),
        cmocka_unit_test(test_a_batch_that_does_not_fit),
        cmocka_unit_test(test_a_batch_that_fits_beside_sums),
        cmocka_unit_test(test_a_batch_that_fits_beside_peers),
        cmocka_unit_test(test_not_even_one_fits),
        cmocka_unit_test(test_nodes_that_cannot_be_timed),
        cmocka_unit_test(test_a_gpu_that_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
