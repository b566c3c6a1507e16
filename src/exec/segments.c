/*
 * Segments of a variant's nodes, as a device plays them. A first walk in front of the recording
 * lets everything happen that only happens once: code is loaded, libraries take their memory.
 */
#include "exec/state.h"

static status run_nodes(const exec *e, const variant *v, const segment *s, bool timed, error *err)
{
    for (int32_t node = s->first; node < s->end; node++)
        TRY(variant_run_node(v, node, timed, e->workspace, err));
    return OK;
}

static status walk_once(const exec *e, const variant *v, error *err)
{
    const backend_queue_ops *queue = e->ops->queue;
    for (size_t i = 0; i < v->n_segments; i++)
        TRY(run_nodes(e, v, &v->segments[i], false, err));
    TRY(queue->mark(e->device, QUEUE_COMPUTE, e->queued->made, err));
    return queue->wait(e->device, e->queued->made, err);
}

static bool has_kernels(const variant *v, const segment *s)
{
    for (int32_t node = s->first; node < s->end; node++)
        if (v->kernels[node].run)
            return true;
    return false;
}

static status run_by_stopwatch(const exec *e, const variant *v, const segment *s, bool timed, error *err)
{
    const backend_stopwatch_ops *stopwatch = e->ops->stopwatch;
    if (!s->stopwatch)
        return run_nodes(e, v, s, timed, err);
    TRY(stopwatch->start(e->device, s->stopwatch, err));
    TRY(run_nodes(e, v, s, timed, err));
    return stopwatch->stop(e->device, s->stopwatch, err);
}

/* What was begun is ended, whatever came between. */
static status record(const exec *e, const variant *v, const segment *s, bool timed, backend_segment **ret,
                     error *err)
{
    const backend_recorder_ops *recorder = e->ops->recorder;
    TRY(recorder->begin(e->device, err));
    status st = run_by_stopwatch(e, v, s, timed, err);
    status end = recorder->end(e->device, ret, st == OK ? err : NULL);
    return st == OK ? end : st;
}

/* For runs that are traced a second time, so that all others have no stopwatch in them. */
static status record_segment(const exec *e, const variant *v, segment *s, error *err)
{
    if (e->queued->clock.timed)
        TRY(e->ops->stopwatch->create(e->device, &s->stopwatch, err));
    TRY(record(e, v, s, false, &s->recorded, err));
    if (e->queued->trace.run)
        TRYF(record(e, v, s, true, &s->timed, err), err, "nodes cannot be timed");
    return OK;
}

/* The values are zero, which any kernel can work with. */
static status record_variant(const exec *e, const variant *v, error *err)
{
    TRY(walk_once(e, v, err));
    for (size_t i = 0; i < v->n_segments; i++)
        if (has_kernels(v, &v->segments[i]))
            TRY(record_segment(e, v, &v->segments[i], err));
    return OK;
}

status segments_record(exec *e, error *err)
{
    if (!e->ops->recorder->is_wanted(e->device))
        return OK;
    for (size_t i = 0; i < e->n_variants; i++)
        TRY(record_variant(e, &e->variants[i], err));
    return OK;
}

status segments_play(const exec *e, const variant *v, const segment *s, bool timed, error *err)
{
    backend_segment *recorded = timed ? s->timed : s->recorded;
    return recorded ? e->ops->recorder->play(e->device, recorded, err) : run_nodes(e, v, s, timed, err);
}

status segments_time(exec *e, const variant *v, error *err)
{
    for (size_t i = 0; i < v->n_segments; i++) {
        double ms = 0;
        if (v->segments[i].stopwatch)
            TRY(e->ops->stopwatch->read(v->segments[i].stopwatch, &ms, err));
        e->queued->clock.busy_ms += ms;
    }
    return OK;
}
