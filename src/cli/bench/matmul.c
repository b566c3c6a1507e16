#include "cli/bench/matmul.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 256, LARGEST = 8192, PATTERN = 65521 };

static const double most_ms = 2, burst_ms = 50;

/* y = a b, made ready on a device. */
typedef struct mill {
    const backend_ops *ops;
    backend *device;
    graph *graph;
    backend_program *program;
    backend_kernel *kernels; /* [nodes] */
    void **memory;           /* [values] */
    void *workspace, *numbers;
    backend_event *done;
    backend_stopwatch *stopwatch;
} mill;

static void mill_fini(mill *m)
{
    for (graph_val v = 0; m->memory && v < graph_n_values(m->graph); v++)
        m->ops->release(m->device, SPACE_DEVICE, m->memory[v]);
    if (m->device) {
        m->ops->release(m->device, SPACE_DEVICE, m->workspace);
        m->ops->release(m->device, SPACE_HOST, m->numbers);
    }
    if (m->done)
        m->ops->queue->event_destroy(m->device, &m->done);
    if (m->stopwatch)
        m->ops->stopwatch->destroy(m->device, &m->stopwatch);
    if (m->program)
        m->ops->unload(&m->program);
    if (m->device)
        m->ops->close(&m->device);
    graph_destroy(&m->graph);
    free(m->kernels);
    free(m->memory);
}

static status build(mill *m, int64_t side, graph_precision precision, error *err)
{
    static const char *const names[2] = {"a", "b"};
    graph_shape shape = {.rank = 2, .dim = {side, side}};
    graph_val factors[2], y;
    TRY(graph_create(&m->graph, err));
    for (int i = 0; i < 2; i++)
        TRY(graph_input(m->graph, names[i], DT_F32, shape, &factors[i], err));
    TRY(graph_add(m->graph, OP_MATMUL, "y", factors, 2, NULL, &y, err));
    return graph_set_precision(m->graph, precision, err);
}

static status matmul_prepare(mill *m, error *err)
{
    int32_t n_nodes = graph_n_nodes(m->graph), n_values = graph_n_values(m->graph);
    size_t workspace = 0;
    m->kernels = xcalloc((size_t)n_nodes, sizeof *m->kernels);
    m->memory = xcalloc((size_t)n_values, sizeof *m->memory);
    TRY(m->ops->load(m->device, m->graph, &m->program, err));
    for (int32_t i = 0; i < n_nodes; i++) {
        TRY(m->ops->prepare(m->program, i, &m->kernels[i], err));
        if (m->kernels[i].workspace_bytes > workspace)
            workspace = m->kernels[i].workspace_bytes;
    }
    for (graph_val v = 0; v < n_values; v++)
        TRY(m->ops->alloc(m->device, SPACE_DEVICE, m->ops->value_bytes(m->program, v), "a matrix",
                          &m->memory[v], err));
    TRY(m->ops->alloc(m->device, SPACE_DEVICE, workspace, "a product", &m->workspace, err));
    if (!m->ops->queue)
        return OK;
    TRY(m->ops->queue->event_create(m->device, &m->done, err));
    return m->ops->stopwatch->create(m->device, &m->stopwatch, err);
}

static status finish(const mill *m, error *err)
{
    const backend_queue_ops *queue = m->ops->queue;
    if (!queue)
        return OK;
    TRY(queue->mark(m->device, QUEUE_COMPUTE, m->done, err));
    return queue->wait(m->device, m->done, err);
}

/* Of numbers that are easier than a model's, such as zeros, GPUs make products faster. */
static status matmul_fill(mill *m, size_t n, error *err)
{
    rng r = rng_make(0, RNG_TEST, 0);
    size_t bytes = n * sizeof(float);
    TRY(m->ops->alloc(m->device, SPACE_HOST, bytes, "numbers", &m->numbers, err));
    float *x = m->numbers;
    for (size_t i = 0; i < n; i++)
        x[i] = i < PATTERN ? rng_normal(&r, i) : x[i - PATTERN];
    for (graph_val v = 0; v < graph_n_values(m->graph); v++) {
        if (graph_value_at(m->graph, v)->kind != VAL_INPUT)
            continue;
        if (m->ops->queue)
            TRY(m->ops->queue->copy(m->device, QUEUE_COMPUTE, m->memory[v], x, bytes, err));
        else
            memcpy(m->memory[v], x, bytes);
    }
    return OK;
}

static status run_node(const mill *m, int32_t node, error *err)
{
    const backend_kernel *k = &m->kernels[node];
    return k->run ? k->run(k->state, m->memory, m->workspace, err) : OK;
}

/* The product is the last node. */
static status matmul_multiply(const mill *m, int64_t times, double *ret_ms, error *err)
{
    const backend_stopwatch_ops *stopwatch = m->ops->stopwatch;
    int32_t product = graph_n_nodes(m->graph) - 1;
    int64_t begin = clock_us();
    if (stopwatch)
        TRY(stopwatch->start(m->device, m->stopwatch, err));
    for (int64_t i = 0; i < times; i++)
        TRY(run_node(m, product, err));
    if (stopwatch)
        TRY(stopwatch->stop(m->device, m->stopwatch, err));
    TRY(finish(m, err));
    *ret_ms = (double)(clock_us() - begin) * 1e-3;
    return stopwatch ? stopwatch->read(m->stopwatch, ret_ms, err) : OK;
}

/* The first walk rounds the factors, and does what happens only once. */
static status measure(mill *m, double *ret_ms, error *err)
{
    double ms;
    for (int32_t i = 0; i < graph_n_nodes(m->graph); i++)
        TRY(run_node(m, i, err));
    TRY(finish(m, err));
    TRY(matmul_multiply(m, 1, &ms, err));
    int64_t times = 1 + (int64_t)(burst_ms / (ms > 0.01 ? ms : 0.01));
    TRY(matmul_multiply(m, times, &ms, err));
    *ret_ms = ms / (double)times;
    return OK;
}

static status rate_of(const backend_choice *on, int64_t side, graph_precision precision,
                      double *ret_ms, error *err)
{
    mill m = {.ops = on->ops};
    status st;
    TRY_OUT(st, build(&m, side, precision, err));
    TRY_OUT(st, on->ops->open(&on->options, &m.device, err));
    TRY_OUT(st, matmul_prepare(&m, err));
    TRY_OUT(st, matmul_fill(&m, (size_t)(side * side), err));
    TRY_OUT(st, measure(&m, ret_ms, err));
out:
    mill_fini(&m);
    return st;
}

status matmul_rate(const backend_choice *on, graph_precision precision, double *ret, error *err)
{
    double best = 0, ms = 0;
    for (int64_t side = SMALLEST; side <= LARGEST && ms < most_ms; side *= 2) {
        error why = ERROR_INIT;
        status st = rate_of(on, side, precision, &ms, &why);
        if (st == E_NOMEM && best > 0)
            break;
        if (st != OK)
            return FAIL(err, st, "products of %lld rows: %s", (long long)side, why.text);
        double rate = 2.0 * (double)(side * side * side) / (ms * 1e-3);
        best = rate > best ? rate : best;
    }
    *ret = best;
    return OK;
}
