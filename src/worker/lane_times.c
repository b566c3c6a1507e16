#include "worker/lane_times.h"

#include "common/base/clock.h"
#include "common/live/counters.h"
#include "common/live/durations.h"
#include "common/live/trace.h"

enum { SHORT_US = 10 };     /* next to nothing: it is not noted */

/* A wait, or being idle. */
static void wait_end(const lane_times *t, recorder_kind what, int depth, int64_t since, int64_t now)
{
    if (now - since < SHORT_US)
        recorder_drop(t->lane, what, depth);
    else
        recorder_end(t->lane, what, depth, now);
}

static int64_t held_since(const lane_times *t)
{
    return t->weights ? weights_view_held_us(t->weights) - t->held_us : 0;
}

void lane_times_idle(lane_times *t)
{
    t->begin_us = clock_us();
    t->counted_us = 0;
    t->slots = counter_get(COUNTER_WORKER_SLOTS);
    t->held_us = t->weights ? weights_view_held_us(t->weights) : 0;
    t->given_us = 0;
    RECORDER_BEGIN(0, .kind = EVENT_IDLE, .lane = t->lane, .step = -1, .at_us = t->begin_us);
}

void lane_times_idle_on(lane_times *t)
{
    enum { NO_STEP = -2 };  /* which no step follows */
    int64_t us = clock_us() - t->begin_us, slots = counter_get(COUNTER_WORKER_SLOTS), idle = us - held_since(t);
    if (slots == t->slots)
        return;
    t->slots = slots;
    if (!t->has_begun) {
        counter_add(COUNTER_WORKER_STARTING, us);
        t->has_begun = true;
        t->step = NO_STEP;
        idle = us;
    }
    if (idle <= t->counted_us)
        return;
    counter_add(COUNTER_WORKER_IDLE, idle - t->counted_us);
    t->counted_us = idle;
}

void lane_times_given(lane_times *t, bool is_given)
{
    if (!is_given)
        t->given_us = 0;
    else if (!t->given_us)
        t->given_us = clock_us();
}

/* Without a slot, until then: as the master let nobody go on, as other lanes of the worker were not done yet, and then
 * until the worker's thread had dealt with what all had to say and gave the next ones. A lane that had none of a step
 * is only idle, and so is one whose slots were dropped: its next one is of an earlier step, or the first since. */
static void count_without(lane_times *t, int64_t until_us, int64_t step, int64_t free_us)
{
    int64_t us = until_us - t->begin_us, held = held_since(t);
    held = held < us ? held : us;
    if (!t->has_begun) {
        counter_add(COUNTER_WORKER_STARTING, us);
        return;
    }
    counter_add(COUNTER_WORKER_FOR_MASTER, held);
    if (step > t->step + 1 || step < t->step || !free_us)
        return;
    int64_t others = free_us - t->begin_us;
    others = others < 0 ? 0 : others < us - held ? others : us - held;
    counter_add(COUNTER_WORKER_FOR_LANES, others);
    counter_add(COUNTER_WORKER_FOR_WIRE, us - held - others);
}

void lane_times_idle_end(lane_times *t, int64_t step, int64_t free_us)
{
    int64_t now = clock_us();
    wait_end(t, EVENT_IDLE, 0, t->begin_us, now);
    t->untaken_us = t->given_us ? now - t->given_us : 0;
    t->taken_us = now;
    counter_add(COUNTER_WORKER_IDLE, now - t->begin_us - t->counted_us);
    count_without(t, now - t->untaken_us, step, free_us);
    t->has_begun = true;
}

void lane_times_slot(lane_times *t, int64_t step, uint32_t slot, const step_slot *batch)
{
    int64_t now = clock_us();
    *t = (lane_times){.lane = t->lane, .step = step, .slot = (int32_t)slot, .batch = batch->batch_id,
                      .examples = batch->n, .begin_us = now, .since_us = now, .weights = t->weights,
                      .has_begun = t->has_begun, .untaken_us = t->untaken_us, .taken_us = t->taken_us};
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = t->lane, .step = step, .a = (int32_t)slot, .c = t->batch,
                   .at_us = now);
}

void lane_times_slot_end(lane_times *t)
{
    int64_t now = clock_us();
    recorder_end(t->lane, EVENT_SLOT, 0, now);
    duration_note(DURATION_WORKER_SLOT, now - t->begin_us);
    duration_note(DURATION_WORKER_WAIT, t->waited_us);
    counter_add(COUNTER_WORKER_SLOTS, 1);
    counter_add(COUNTER_WORKER_EXAMPLES, t->examples);
    counter_add(COUNTER_WORKER_LOADING, t->loaded_us);
    counter_add(COUNTER_WORKER_WAITING, t->waited_us);
    counter_add(COUNTER_WORKER_COMPUTING, now - t->begin_us - t->loaded_us - t->waited_us);
    counter_add(COUNTER_WORKER_FOR_LANES, t->stall.lanes_us);
    counter_add(COUNTER_WORKER_FOR_SERVERS, t->stall.servers_us);
    counter_add(COUNTER_WORKER_FOR_WIRE, t->stall.wire_us);
}

void lane_times_slot_drop(lane_times *t)
{
    counter_add(COUNTER_WORKER_GIVEN_UP, clock_us() - t->begin_us);
    t->untaken_us = 0;

    static const recorder_kind waits[] = {EVENT_WAIT_PART, EVENT_WAIT_SCALE, EVENT_LOAD};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        recorder_drop(t->lane, waits[i], 1);
    recorder_drop(t->lane, EVENT_SLOT, 0);
}

double lane_times_computing_s(const lane_times *t)
{
    return (double)(clock_us() - t->begin_us - t->waited_us) * 1e-6;
}

static void segment_end(const lane_times *t, int32_t part, bool is_ready, int64_t now)
{
    if (now - t->since_us >= SHORT_US)
        RECORDER_NOTE(.kind = EVENT_SEGMENT, .lane = t->lane, .step = t->step, .a = part, .b = is_ready, .at_us = now,
                      .took_us = now - t->since_us);
}

void lane_times_ready(lane_times *t, int32_t part)
{
    segment_end(t, part, true, clock_us());
}

void lane_times_go_on(lane_times *t)
{
    t->since_us = clock_us();
}

void lane_times_wait(lane_times *t, recorder_kind what, int32_t part)
{
    int64_t now = clock_us();
    if (what == EVENT_WAIT_PART)
        segment_end(t, part, false, now);
    t->since_us = now;
    t->part = what == EVENT_WAIT_PART ? part : -1;
    RECORDER_BEGIN(1, .kind = what, .lane = t->lane, .step = t->step, .a = part, .c = t->batch, .at_us = now);
}

/* For weights, until now. */
static void count_stall(lane_times *t, int64_t now)
{
    kv_times why;
    kv_taking taking;
    if (!t->weights || now - t->since_us + t->untaken_us < SHORT_US)
        return;
    weights_view_times(t->weights, t->part, &why, &taking);
    const stall_wait wait = {t->untaken_us, t->taken_us, t->since_us, now};
    stall_add(&t->stall, &wait, &why, &taking);
    t->untaken_us = 0;
}

void lane_times_wait_end(lane_times *t, recorder_kind what)
{
    int64_t now = clock_us();
    if (what != EVENT_LOAD)
        count_stall(t, now);
    wait_end(t, what, 1, t->since_us, now);
    *(what == EVENT_LOAD ? &t->loaded_us : &t->waited_us) += now - t->since_us;
    t->since_us = now;
}

/* --- of a step that is traced --- */

static void note_node(const lane_times *t, recorder_kind kind, int32_t node, int64_t begin_ns, int64_t end_ns)
{
    recorder_event e = trace_node_event(kind, begin_ns, end_ns);
    e.step = t->step;
    e.lane = t->lane;
    e.a = node;
    e.b = t->variant;
    trace_note(&e);
}

static void ran_node(void *user, int32_t node, int64_t begin_ns, int64_t end_ns)
{
    note_node(user, EVENT_NODE, node, begin_ns, end_ns);
}

static void device_ran_node(void *user, int32_t node, int64_t begin_ns, int64_t end_ns)
{
    note_node(user, EVENT_DEVICE_NODE, node, begin_ns, end_ns);
}

/* In whole microseconds around its nodes. */
static void device_ran_slot(void *user, int64_t begin_ns, int64_t end_ns, int64_t error_ns)
{
    const lane_times *t = user;
    int64_t at_us = (end_ns + 999) / 1000;
    trace_note(&(recorder_event){.kind = EVENT_DEVICE_SLOT, .lane = t->lane, .step = t->step, .a = t->slot,
                                 .b = (int32_t)(error_ns < INT32_MAX ? error_ns : INT32_MAX), .c = t->batch,
                                 .at_us = at_us, .took_us = at_us - begin_ns / 1000});
}

static const char *name_of(const void *g, int32_t node)
{
    return graph_node_at(g, node)->name;
}

const exec_trace *lane_times_trace(lane_times *t, const graph *g, int32_t variant)
{
    if (!trace_wants(t->step))
        return NULL;
    trace_nodes(variant, graph_n_nodes(g), name_of, g);
    t->variant = variant;
    t->trace = (exec_trace){.node = ran_node, .device_node = device_ran_node, .device = device_ran_slot, .user = t};
    return &t->trace;
}
