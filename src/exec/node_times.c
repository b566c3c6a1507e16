#include "exec/node_times.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <stdlib.h>

struct node_times {
    const backend_ops *ops;
    backend *device;
    const backend_kernel *kernels;
    int32_t n;
    double *ms;
    backend_stopwatch **watches; /* [n] NULL: there is no kernel, or it is done when it returns */
};

status node_times_create(const backend_ops *ops, backend *device, const backend_kernel *kernels,
                         int32_t n, node_times **ret, error *err)
{
    node_times *t = xcalloc(1, sizeof *t);
    *t = (node_times){.ops = ops, .device = device, .kernels = kernels, .n = n};
    t->ms = xcalloc((size_t)n + 1, sizeof *t->ms);
    t->watches = xcalloc((size_t)n + 1, sizeof(backend_stopwatch *));
    status st = OK;
    for (int32_t i = 0; ops->queue && st == OK && i < n; i++)
        if (kernels[i].run)
            st = ops->stopwatch->create(device, &t->watches[i], err);
    if (st == OK)
        *ret = t;
    else
        node_times_destroy(&t);
    return st;
}

void node_times_destroy(node_times **times)
{
    node_times *t = *times;
    if (!t)
        return;
    for (int32_t i = 0; i < t->n; i++)
        if (t->watches[i])
            t->ops->stopwatch->destroy(t->device, &t->watches[i]);
    free(t->watches);
    free(t->ms);
    free(t);
    *times = NULL;
}

status node_times_run(node_times *t, int32_t node, void *const *addresses, void *workspace, error *err)
{
    const backend_kernel *k = &t->kernels[node];
    backend_stopwatch *w = t->watches[node];
    if (w) {
        TRY(t->ops->stopwatch->start(t->device, w, err));
        TRY(k->run(k->state, addresses, workspace, err));
        return t->ops->stopwatch->stop(t->device, w, err);
    }
    int64_t begin = clock_ns();
    status st = k->run(k->state, addresses, workspace, err);
    t->ms[node] = (double)(clock_ns() - begin) * 1e-6;
    return st;
}

status node_times_read(node_times *t, error *err)
{
    for (int32_t i = 0; i < t->n; i++)
        if (t->watches[i])
            TRY(t->ops->stopwatch->read(t->watches[i], &t->ms[i], err));
    return OK;
}

status node_times_since(const node_times *t, int32_t node, const backend_stopwatch *since, double *ret_begin_ms,
                        double *ret_end_ms, error *err)
{
    return t->ops->stopwatch->read_since(t->watches[node], since, ret_begin_ms, ret_end_ms, err);
}

const double *node_times_ms(const node_times *t)
{
    return t->ms;
}
