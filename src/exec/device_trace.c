#include "exec/device_trace.h"

#include "common/base/clock.h"
#include "exec/state.h"

status device_trace_create(exec *e, error *err)
{
    TRYF(e->ops->stopwatch->create(e->device, &e->queued->trace.run, err), err, "runs cannot be timed");
    return OK;
}

void device_trace_destroy(exec *e)
{
    if (e->queued->trace.run)
        e->ops->stopwatch->destroy(e->device, &e->queued->trace.run);
}

status device_trace_begin(exec *e, error *err)
{
    device_trace *t = &e->queued->trace;
    t->said_ns = clock_ns();
    return e->ops->stopwatch->start(e->device, t->run, err);
}

static int64_t to_ns(double ms)
{
    return (int64_t)(ms * 1e6 + 0.5);
}

/* When the device started the run's stopwatch, by the host's clock, give or take. */
static status find_start(const exec *e, int64_t *ret_ns, int64_t *ret_error_ns, error *err)
{
    const backend_stopwatch_ops *stopwatch = e->ops->stopwatch;
    const device_trace *t = &e->queued->trace;
    double ms = 0;
    int64_t said = clock_ns();
    TRY(stopwatch->stop(e->device, t->run, err));
    TRY(stopwatch->await(e->device, t->run, err));
    int64_t seen = clock_ns();
    TRY(stopwatch->read(t->run, &ms, err));
    int64_t earliest = said - to_ns(ms), latest = seen - to_ns(ms);
    if (earliest < t->said_ns)
        earliest = t->said_ns;
    int64_t open = latest - earliest; /* below 0: in so long a run the clocks have parted by more */
    *ret_ns = earliest + open / 2;
    *ret_error_ns = ((open < 0 ? -open : open) + 1) / 2;
    return OK;
}

status device_trace_end(const exec *e, const variant *v, const exec_trace *to, error *err)
{
    int64_t start, error_ns, first = -1, end = -1;
    TRY(find_start(e, &start, &error_ns, err));
    for (int32_t node = 0; node < graph_n_nodes(v->graph); node++) {
        double begin_ms = 0, end_ms = 0;
        if (!v->kernels[node].run)
            continue;
        TRY(node_times_since(v->times, node, e->queued->trace.run, &begin_ms, &end_ms, err));
        int64_t begin = start + to_ns(begin_ms);
        end = start + to_ns(end_ms);
        first = first < 0 ? begin : first;
        to->device_node(to->user, node, begin, end);
    }
    if (first >= 0)
        to->device(to->user, first, end, error_ns);
    return OK;
}
