#include "unit/exec/support_device.h"

#include "common/base/clock.h"
#include "common/parts/tree.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, BLOCKS = 16 };

typedef enum work_kind { KERNEL, COPY, SUM, EXPAND, FINISH, MARK, FOLLOW, FAULT, STAMP } work_kind;

/* A moment of the device's clock. */
typedef struct stamp {
    int64_t at_ns;
    int waiting; /* in the queue */
} stamp;

struct backend_stopwatch {
    stamp start, stop;
};

typedef struct work {
    work_kind kind;
    const backend_kernel *kernel;
    void *const *addresses;
    void *workspace;
    void *to;
    const void *from, *and;
    size_t bytes;
    backend_bytes meaning;
    finish_form form;
    backend_event *event;
    stamp *stamp;
    size_t turn; /* MARK: of the event; FOLLOW: which mark of it; FAULT: the word */
} work;

typedef struct recorded {
    const backend_kernel *kernel;
    void *const *addresses;
    void *workspace;
    stamp *stamp; /* in place of a kernel; or NULL */
} recorded;

struct backend_segment {
    recorded items[ROOM / 8];
    size_t n;
};

struct backend_event {
    backend_queue queue;
    size_t marked, reached; /* how often */
};

typedef struct work_queue {
    work items[ROOM];
    size_t first, end;
} work_queue;

device_control device;
static work_queue queues[QUEUE_COUNT];
static uint64_t fault_word;          /* NODE + 1; 0: none */
static backend_kernel kernels[ROOM]; /* of the stub, before they waited in a queue */
static bool has_run[ROOM];
static size_t n_kernels;
static backend_segment *recording;
static bool plays_segments;
static struct {
    const char *begin, *end;
} blocks[BLOCKS];

bool device_owns(const void *p)
{
    if (p == &fault_word)
        return true;
    for (int i = 0; i < BLOCKS; i++)
        if ((const char *)p >= blocks[i].begin && (const char *)p < blocks[i].end)
            return true;
    return false;
}

bool device_is_idle(void)
{
    for (int q = 0; q < QUEUE_COUNT; q++)
        if (queues[q].first != queues[q].end)
            return false;
    return true;
}

/* --- doing it --- */

static void expand_bytes(const work *w)
{
    const uint8_t *x = w->from;
    for (size_t i = 0; i < w->bytes; i++) {
        int64_t c = (int64_t)i / w->meaning.inner % w->meaning.channels;
        ((float *)w->to)[i] = (float)x[i] * w->meaning.scale[c] + w->meaning.offset[c];
    }
}

static void finish_images(const work *w)
{
    const finish_form *f = &w->form;
    int64_t n = (int64_t)w->bytes, size = finish_elements(f);
    for (int64_t i = 0; i < n * size; i++) {
        uint32_t at = (uint32_t)(i % size), row = at / f->width, plane = row / f->height;
        float value = finish_mixed(f, f->kind, w->and, w->from, n, i / size, plane, (int32_t)(at % f->width),
                                   (int32_t)(row % f->height));
        if (f->kind == FINISH_PIXELS)
            ((uint8_t *)w->to)[i] = (uint8_t)value;
        else
            ((float *)w->to)[i] = value;
    }
}

static status reach(backend_event *e, size_t turn, error *err);

static status do_one(const work *w, error *err)
{
    switch (w->kind) {
    case KERNEL:
        has_run[w->kernel - kernels] = true;
        return w->kernel->run(w->kernel->state, w->addresses, w->workspace, err);
    case COPY:
        memcpy(w->to, w->from, w->bytes);
        return OK;
    case SUM:
        tree_sum(w->to, w->from, w->and, w->bytes / sizeof(float));
        return OK;
    case FINISH:
        finish_images(w);
        return OK;
    case EXPAND:
        expand_bytes(w);
        return OK;
    case MARK:
        w->event->reached = w->turn;
        return OK;
    case FOLLOW:
        return reach(w->event, w->turn, err);
    case FAULT:
        fault_word = w->turn;
        return OK;
    case STAMP:
        w->stamp->at_ns = clock_ns() + DEVICE_CLOCK_NS;
        w->stamp->waiting--;
        return OK;
    }
    return OK;
}

static status reach(backend_event *e, size_t turn, error *err)
{
    while (e->reached < turn) {
        work_queue *q = &queues[e->queue];
        BUG_ON(q->first == q->end);
        TRY(do_one(&q->items[q->first++], err));
    }
    return OK;
}

static work *give(backend_queue queue, work_kind kind)
{
    work_queue *q = &queues[queue];
    if (q->first == q->end)
        q->first = q->end = 0;
    BUG_ON(q->end == ROOM);
    work *w = &q->items[q->end++];
    *w = (work){.kind = kind};
    return w;
}

/* --- what exec calls --- */

static status event_create(backend *b, backend_event **ret, error *err)
{
    (void)b, (void)err;
    *ret = xcalloc(1, sizeof **ret);
    stub.n_open++;
    return OK;
}

static void event_destroy(backend *b, backend_event **e)
{
    (void)b;
    stub.n_open -= *e != NULL;
    free(*e);
    *e = NULL;
}

static status copy(backend *b, backend_queue q, void *to, const void *from, size_t bytes,
                   error *err)
{
    (void)b, (void)err;
    BUG_ON(recording || (!device_owns(to) && !device_owns(from)));
    device.n_copies[q]++;
    work *w = give(q, COPY);
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    if (!device_owns(to))
        memset(to, 0xff, bytes);
    return OK;
}

static status sum(backend *b, backend_queue q, float *dst, const float *left, const float *right,
                  size_t n, error *err)
{
    (void)b, (void)err;
    BUG_ON(recording || !device_owns(dst) || !device_owns(left) || !device_owns(right));
    work *w = give(q, SUM);
    w->to = dst;
    w->from = left;
    w->and = right;
    w->bytes = n * sizeof(float);
    return OK;
}

static status expand(backend *b, float *dst, const uint8_t *from, size_t n,
                     const backend_bytes *meaning, error *err)
{
    (void)b, (void)err;
    BUG_ON(recording || !device_owns(dst) || !device_owns(from));
    work *w = give(QUEUE_COMPUTE, EXPAND);
    w->to = dst;
    w->from = from;
    w->bytes = n;
    w->meaning = *meaning;
    return OK;
}

static bool finishes(void)
{
    return true;
}

static status finish(backend *b, void *dst, const void *from, const finish_form *form, const finish_draw *draws,
                     int64_t n, error *err)
{
    (void)b, (void)err;
    BUG_ON(recording || !device_owns(dst) || !device_owns(from) || !device_owns(draws));
    work *w = give(QUEUE_COMPUTE, FINISH);
    w->to = dst;
    w->from = from;
    w->and = draws;
    w->bytes = (size_t)n;
    w->form = *form;
    return OK;
}

static status mark(backend *b, backend_queue q, backend_event *e, error *err)
{
    (void)b, (void)err;
    BUG_ON(e->queue != q && e->reached < e->marked);
    e->queue = q;
    work *w = give(q, MARK);
    w->event = e;
    w->turn = ++e->marked;
    return OK;
}

static status follow(backend *b, backend_queue q, const backend_event *e, error *err)
{
    (void)b, (void)err;
    work *w = give(q, FOLLOW);
    w->event = (backend_event *)(uintptr_t)e;
    w->turn = e->marked;
    return OK;
}

static status reached(backend *b, const backend_event *e, bool *ret, error *err)
{
    (void)b;
    if (device.keen)
        TRY(reach((backend_event *)(uintptr_t)e, e->marked, err));
    *ret = e->reached == e->marked;
    return OK;
}

static status wait(backend *b, const backend_event *e, error *err)
{
    (void)b;
    if (device.wait_fails && --device.wait_fails == 0)
        return FAIL(err, E_DEVICE, "the stub fails");
    return reach((backend_event *)(uintptr_t)e, e->marked, err);
}

static status fault_clear(backend *b, error *err)
{
    (void)b, (void)err;
    work *w = give(QUEUE_COMPUTE, FAULT);
    w->turn = 0;
    return OK;
}

static const uint64_t *fault(const backend *b)
{
    (void)b;
    return &fault_word;
}

static status fault_status(const backend_program *p, uint64_t word, error *err)
{
    (void)p;
    return word ? FAIL(err, E_DATA, "node %d: not on the map", (int)word - 1) : OK;
}

void device_fault(int32_t node)
{
    fault_word = (uint64_t)node + 1;
}

static status pin(backend *b, void *p, size_t bytes, error *err)
{
    (void)b, (void)bytes;
    if (device.pin_fails)
        return FAIL(err, E_DEVICE, "no pins left");
    BUG_ON(!p || device.pinned);
    device.pinned = p;
    return OK;
}

static void unpin(backend *b, void *p)
{
    (void)b;
    BUG_ON(device.pinned != p);
    device.pinned = NULL;
}

static status alloc(backend *b, backend_space space, size_t bytes, const char *what, void **ret,
                    error *err)
{
    if (device.no_memory)
        return FAIL(err, E_NOMEM, "%s: the desk is full", what);
    TRY(backend_stub.alloc(b, space, bytes, what, ret, err));
    for (int i = 0; space == SPACE_DEVICE && i < BLOCKS; i++)
        if (!blocks[i].begin) {
            blocks[i].begin = *ret;
            blocks[i].end = blocks[i].begin + bytes;
            break;
        }
    return OK;
}

static status describe(int number, backend_device *ret, error *err)
{
    (void)number, (void)err;
    *ret = (backend_device){.name = "a desk", .memory = SIZE_MAX / 2};
    ret->free = device.free ? device.free : ret->memory;
    return OK;
}

static void release(backend *b, backend_space space, void *p)
{
    for (int i = 0; p && i < BLOCKS; i++)
        if (blocks[i].begin == p)
            blocks[i].begin = blocks[i].end = NULL;
    backend_stub.release(b, space, p);
}

/* --- stopwatches --- */

static void give_stamp(stamp *s)
{
    give(QUEUE_COMPUTE, STAMP)->stamp = s;
    s->waiting++;
    device.n_stamps++;
}

static status set_stamp(stamp *s)
{
    if (recording)
        recording->items[recording->n++] = (recorded){.stamp = s};
    else
        give_stamp(s);
    return OK;
}

static status stopwatch_create(backend *b, backend_stopwatch **ret, error *err)
{
    (void)b;
    if (device.no_stopwatches)
        return FAIL(err, E_NOMEM, "no stopwatches left");
    *ret = xcalloc(1, sizeof **ret);
    stub.n_open++;
    return OK;
}

static void stopwatch_destroy(backend *b, backend_stopwatch **w)
{
    (void)b;
    stub.n_open--;
    free(*w);
    *w = NULL;
}

static status stopwatch_start(backend *b, backend_stopwatch *w, error *err)
{
    (void)b, (void)err;
    return set_stamp(&w->start);
}

static status stopwatch_stop(backend *b, backend_stopwatch *w, error *err)
{
    (void)b, (void)err;
    return set_stamp(&w->stop);
}

static double between(const stamp *from, const stamp *to)
{
    BUG_ON(!from->at_ns || !to->at_ns || from->waiting || to->waiting);
    return (double)(to->at_ns - from->at_ns) * 1e-6;
}

static status stopwatch_read(const backend_stopwatch *w, double *ret_ms, error *err)
{
    (void)err;
    *ret_ms = between(&w->start, &w->stop);
    return OK;
}

static status stopwatch_read_since(const backend_stopwatch *w, const backend_stopwatch *since, double *ret_start_ms,
                                   double *ret_stop_ms, error *err)
{
    (void)err;
    *ret_start_ms = between(&since->start, &w->start);
    *ret_stop_ms = between(&since->start, &w->stop);
    return OK;
}

static status stopwatch_await(backend *b, const backend_stopwatch *w, error *err)
{
    (void)b;
    work_queue *q = &queues[QUEUE_COMPUTE];
    BUG_ON(q->end - q->first != 1); /* it has nothing else to do */
    while (w->stop.waiting)
        TRY(do_one(&q->items[q->first++], err));
    return OK;
}

/* --- segments --- */

static void give_kernel(const recorded *r)
{
    if (r->stamp) {
        give_stamp(r->stamp);
        return;
    }
    work *w = give(QUEUE_COMPUTE, KERNEL);
    w->kernel = r->kernel;
    w->addresses = r->addresses;
    w->workspace = r->workspace;
}

static status enqueue_kernel(void *state, void *const *addresses, void *workspace, error *err)
{
    (void)err;
    recorded r = {state, addresses, workspace, NULL};
    if (!recording) {
        give_kernel(&r);
        return OK;
    }
    BUG_ON(!has_run[r.kernel - kernels] || recording->n == COUNT_OF(recording->items));
    recording->items[recording->n++] = r;
    return OK;
}

static bool records(const backend *b)
{
    (void)b;
    return plays_segments;
}

static status segment_begin(backend *b, error *err)
{
    (void)b, (void)err;
    BUG_ON(recording);
    recording = xcalloc(1, sizeof *recording);
    return OK;
}

static status segment_end(backend *b, backend_segment **ret, error *err)
{
    (void)b, (void)err;
    BUG_ON(!recording || !recording->n);
    *ret = recording;
    recording = NULL;
    stub.n_open++;
    return OK;
}

static status segment_play(backend *b, backend_segment *s, error *err)
{
    (void)b, (void)err;
    device.n_played++;
    for (size_t i = 0; i < s->n; i++)
        give_kernel(&s->items[i]);
    return OK;
}

static void segment_destroy(backend *b, backend_segment **s)
{
    (void)b;
    stub.n_open--;
    free(*s);
    *s = NULL;
}

static status prepare(backend_program *p, int32_t node, backend_kernel *ret, error *err)
{
    BUG_ON(n_kernels == ROOM);
    backend_kernel *k = &kernels[n_kernels++];
    TRY(backend_stub.prepare(p, node, k, err));
    *ret =
        (backend_kernel){.run = enqueue_kernel, .state = k, .workspace_bytes = k->workspace_bytes};
    return OK;
}

const backend_ops *device_reset(bool records_segments)
{
    static const backend_queue_ops queue = {
        .event_create = event_create,
        .event_destroy = event_destroy,
        .mark = mark,
        .follow = follow,
        .reached = reached,
        .wait = wait,
        .copy = copy,
        .expand = expand,
        .finishes = finishes,
        .finish = finish,
        .pin = pin,
        .unpin = unpin,
    };
    static const backend_fault_ops faults = {
        .clear = fault_clear,
        .word = fault,
        .check = fault_status,
    };
    static const backend_recorder_ops recorder = {
        .is_wanted = records,
        .begin = segment_begin,
        .end = segment_end,
        .play = segment_play,
        .destroy = segment_destroy,
    };
    static const backend_stopwatch_ops stopwatch = {
        .create = stopwatch_create,
        .destroy = stopwatch_destroy,
        .start = stopwatch_start,
        .stop = stopwatch_stop,
        .read = stopwatch_read,
        .read_since = stopwatch_read_since,
        .await = stopwatch_await,
    };
    static const backend_optimizer_ops optimizer = {.sum = sum};
    plays_segments = records_segments;
    static backend_ops ops;
    ops = backend_stub;
    ops.prepare = prepare;
    ops.alloc = alloc;
    ops.release = release;
    ops.describe = describe;
    ops.queue = &queue;
    ops.fault = &faults;
    ops.recorder = &recorder;
    ops.stopwatch = &stopwatch;
    ops.optimizer = &optimizer;
    device = (device_control){0};
    memset(queues, 0, sizeof queues);
    memset(blocks, 0, sizeof blocks);
    memset(has_run, 0, sizeof has_run);
    n_kernels = 0;
    fault_word = 0;
    return &ops;
}

/* --- rigs over it --- */

static int set_up_device(void **state, bool records)
{
    error err = ERROR_INIT;
    (void)set_up_without_exec(state);
    rig *r = *state;
    r->backend = device_reset(records);
    must(rig_create(r, r->model.graph, r->small.graph, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
    r->n_events = 0;
    return 0;
}

int set_up_plain(void **state)
{
    return set_up_device(state, false);
}

int set_up_recorder(void **state)
{
    return set_up_device(state, true);
}
