#include "worker/lane.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "exec/variant.h"
#include "worker/blame.h"
#include "worker/inputs.h"
#include "worker/lane_exec.h"
#include "worker/lane_metrics.h"
#include "worker/lane_times.h"

#include <stdio.h>
#include <stdlib.h>

struct lane {
    lane_options o;
    char name[48];
    pthread_t thread;
    bool started;

    exec *exec;                     /* the lane's thread only, like the next two */
    loader *loader;
    inputs *inputs;                 /* [n_graphs] */
    lane_reducer *reducer;
    span *grads;                    /* [n_live_parts] of the gradient slab; reducer and transport borrow them */
    char fingerprint[256];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    lane_slot *queue;               /* ring; all below under lock */
    size_t first, n, cap;
    bool busy, stop, built;
    int n_borrowed;
    status build_status;
    error build_error;
    atomic_bool cancel;

    lane_slot now;                  /* the slot being computed */
    loss_scale scale;               /* of its step */
    exec_slot place;                /* ...in the tree of its step */
    size_t variant;                 /* by which */
    lane_next filled;               /* what the engine has for the next one, its weight scaled */
    size_t filled_variant;          /* by which that will be computed */
    lane_times times;
};

static void lane_grad_is_back(span *s)
{
    lane *l = s->owner;
    pthread_mutex_lock(&l->lock);
    l->n_borrowed--;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* --- the lane's thread: building --- */

static status build_loader(lane *l, error *err)
{
    inputs_leave(l->o.backend, &l->o.loader);
    TRY(loader_create(&l->o.loader, &l->loader, err));
    if (l->o.index == 0)
        inputs_tell(&l->o.loader);
    return l->o.loader.bytes ? inputs_make_there(l->exec, l->loader, l->inputs, l->o.n_graphs, err) : OK;
}

static status lane_build(lane *l, error *err)
{
    TRY(lane_exec_build(&l->o, &l->exec, err));
    exec_fingerprint(l->exec, l->fingerprint, sizeof l->fingerprint);
    l->inputs = xcalloc(l->o.n_graphs, sizeof *l->inputs);
    for (size_t i = 0; i < l->o.n_graphs; i++)
        TRY(inputs_bind(l->exec, i, l->o.loader.dataset, &l->inputs[i], err));
    l->grads = xcalloc((size_t)l->o.flat->n_live_parts, sizeof *l->grads);
    for (int32_t p = 0; p < l->o.flat->n_live_parts; p++)
        l->grads[p] = (span){.floats = exec_grad(l->exec) + l->o.flat->parts[p].begin,
                             .bytes = (size_t)flat_part_elements(l->o.flat, p) * sizeof(float),
                             .writable = true,
                             .release = lane_grad_is_back,
                             .owner = l};
    TRY(build_loader(l, err));
    return lane_exec_begin(&l->o, l->exec, err);
}

/* --- the lane's thread: one slot --- */

static status lane_need_part(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    lane *l = user;
    lane_times_wait(&l->times, EVENT_WAIT_PART, part);
    status st = weights_view_wait(l->o.shared.weights, part, l->now.step, &l->cancel, ret_edition, err);
    lane_times_wait_end(&l->times, EVENT_WAIT_PART);
    return st;
}

/* What is wrong with a slot, and by which node; then what may help. */
static status not_finite(const lane *l, const char *what, error *err)
{
    buf why = BUF_INIT;
    const lane_next now = {l->now.batch, l->now.weight * loss_scale_factor(l->scale)};
    blame(&l->o, l->exec, &now, &why);
    status st = FAIL(err, E_NONFINITE,
                     "step %lld: %s of batch %lld is not finite%s%s; a smaller learning rate or "
                     "clipping may help",
                     (long long)l->now.step, what, (long long)l->now.batch.batch_id,
                     why.size ? ": " : "", why.size ? why.data : "");
    buf_fini(&why);
    return st;
}

/* The first part that is ready comes after the loss: nothing of a bad slot is ever pushed. */
static status check_loss(const lane *l, const inputs *in, error *err)
{
    float loss = *in->loss;
    return loss - loss == 0 ? OK : not_finite(l, "the loss", err);
}

/* A NaN that backward makes is in most of what comes after it: a few numbers of a part tell, and cost
 * nothing. Of one that they miss the next step's loss tells. */
static status check_gradient(const lane *l, int32_t part, const float *grad, error *err)
{
    enum { LOOKS = 64 };
    int64_t n = flat_part_elements(l->o.flat, part), stride = n / LOOKS + 1;
    if (!l->o.watches || l->o.backend->queue || !grad)
        return OK;
    for (int64_t i = 0; i < n; i += stride)
        if (grad[i] != grad[i])
            return not_finite(l, "the gradient", err);
    return OK;
}

static size_t variant_of(const lane *l, const batch_shape *shape)
{
    for (size_t i = 0; i < l->o.n_graphs; i++)
        if (l->o.shapes[i].examples == shape->examples && l->o.shapes[i].length == shape->length)
            return i;
    BUG("no variant for a batch of %lld, %lld long", (long long)shape->examples, (long long)shape->length);
}

static note note_of(const lane *l, note_kind kind, int32_t part)
{
    return (note){.kind = kind, .step = l->now.step, .slot = l->now.slot, .lane = l->o.index,
                  .part = part};
}

static status lane_measure(const lane *l, const inputs *in, error *err)
{
    span *counts = NULL;
    if (l->o.metrics)
        TRY(lane_metrics_count(l->o.metrics, l->exec, l->variant, &counts, err));
    slot_report r = {.step = l->now.step, .slot = l->now.slot, .lane = l->o.index,
                     .examples = l->now.batch.n, .seconds = lane_times_computing_s(&l->times), .counts = counts};
    double count = (double)l->now.batch.n;
    metric_add(&r.metrics, "loss", (double)*in->loss * count, count);
    if (in->right && in->counted)
        metric_add(&r.metrics, "accuracy", (double)*in->right, (double)*in->counted);
    if (l->o.scaling.dynamic) {
        metric_add(&r.metrics, "loss_scale", (double)loss_scale_factor(l->scale), 1);
        metric_add(&r.metrics, "skipped_steps", l->scale.skipped, 1);
    }
    note n = note_of(l, NOTE_MEASURED, 0);
    n.measured = r;
    lane_notes_post(l->o.shared.notes, &n);
    return OK;
}

/* Adds what this lane has of `node` to what others have. */
static status lane_hand_over(lane *l, tree_node node, const float *grad, note *n, error *err)
{
    span *borrowed = NULL;
    if (l->now.last) {
        borrowed = &l->grads[n->part];
        pthread_mutex_lock(&l->lock);
        l->n_borrowed += atomic_fetch_add(&borrowed->refs, 1) == 0;
        pthread_mutex_unlock(&l->lock);
    }
    return lane_reducer_add(l->reducer, n->part, l->now.step, node, grad, borrowed, &n->node, &n->sum, err);
}

/* The measures are noted before the part they travel with: a step is not complete before servers and
 * master are sent them. */
static status ready(void *user, int32_t part, const float *grad, error *err)
{
    lane *l = user;
    const inputs *in = &l->inputs[l->variant];
    lane_times_ready(&l->times, part);
    TRY(check_loss(l, in, err));
    TRY(check_gradient(l, part, grad, err));
    if (part == flat_reporting_part(l->o.flat))
        TRY(lane_measure(l, in, err));
    note n = note_of(l, NOTE_READY, part);
    if (grad)
        TRY(lane_hand_over(l, l->place.sum, grad, &n, err));
    lane_notes_post(l->o.shared.notes, &n);
    lane_times_go_on(&l->times);
    return OK;
}

static status lane_sum(void *user, int32_t part, tree_node node, const float *grad, error *err)
{
    lane *l = user;
    note n = note_of(l, NOTE_SUM, part);
    TRY(lane_hand_over(l, node, grad, &n, err));
    lane_notes_post(l->o.shared.notes, &n);
    return OK;
}

/* Its step's loss scale may turn out to be another than this one's: then it is filled once more. */
static lane_next scaled(const lane *l, step_slot batch, float weight)
{
    return (lane_next){batch, weight * loss_scale_factor(l->scale)};
}

static status lane_fill(lane *l, const lane_next *what, error *err)
{
    const data_batch *batch = NULL;
    TRY(loader_take(l->loader, &what->batch, &batch, err));
    size_t which = variant_of(l, &batch->shape);
    status st = exec_refill(l->exec, err);
    if (st == OK)
        inputs_write(&l->inputs[which], batch, what->weight);
    if (st == OK && l->o.metrics)
        lane_metrics_fill(l->o.metrics, l->loader, batch);
    loader_release(l->loader, batch);
    l->filled_variant = which;
    return st == OK ? exec_upload_inputs(l->exec, which, err) : st;
}

/* While a device computes. What fails here fails again, with its own slot. */
static status ahead(void *user, error *err)
{
    (void)err;
    lane *l = user;
    const lane_next *next = l->now.next;
    if (next[1].batch.n)
        loader_prefetch(l->loader, &next[1].batch);
    lane_next first = scaled(l, next[0].batch, next[0].weight);
    if (first.batch.n && lane_fill(l, &first, NULL) == OK)
        l->filled = first;
    return OK;
}

static status fill_now(lane *l, error *err)
{
    lane_next now = scaled(l, l->now.batch, l->now.weight);
    bool is_filled = l->filled.batch.n == now.batch.n && l->filled.weight == now.weight &&
                     l->filled.batch.batch_id == now.batch.batch_id;
    l->filled.batch.n = 0;
    lane_times_wait(&l->times, EVENT_LOAD, 0);
    if (!is_filled)
        TRY(lane_fill(l, &now, err));
    lane_times_wait_end(&l->times, EVENT_LOAD);
    l->filled = now;
    return OK;
}

/* As high a node as the engine can keep sums for: the same for all its slots. One that cannot make all
 * of what others wait for leaves them. */
static exec_slot lane_place_of(const lane *l)
{
    uint32_t n = l->now.n_slots;
    uint8_t most = exec_keep_sums(l->exec, l->now.sum.level);
    exec_slot p = {l->now.slot, n, tree_node_top((tree_node){0, l->now.slot}, n), .with = NULL};
    while (p.sum.level < l->now.sum.level) {
        tree_node above = tree_node_top(tree_node_parent(p.sum), n);
        if (above.level > most)
            break;
        p.sum = above;
    }
    if (p.sum.level == l->now.sum.level)
        p.with = l->now.with;
    else if (l->now.with)
        reduce_group_leave(l->now.with);
    return p;
}

static status lane_run_slot(lane *l, error *err)
{
    l->place = lane_place_of(l);
    l->variant = l->filled_variant;
    exec_hooks hooks = {.need = lane_need_part,
                        .ready = ready,
                        .sum = lane_sum,
                        .ahead = ahead,
                        .trace = lane_times_trace(&l->times, exec_variant(l->exec, l->variant)->graph,
                                                  (int32_t)l->variant),
                        .slot = &l->place,
                        .user = l,
                        .cancel = &l->cancel};
    l->filled.batch.n = 0;
    if (l->o.metrics)
        lane_metrics_begin(l->o.metrics);
    status st = exec_run(l->exec, l->variant, &hooks, err);
    if (st != OK)
        l->filled.batch.n = 0;
    return st;
}

/* A dynamic scale comes with the first weights; until then it most likely is the last one's. */
static status fill_scaled(lane *l, error *err)
{
    TRY(fill_now(l, err));
    if (l->now.next[0].batch.n)
        loader_prefetch(l->loader, &l->now.next[0].batch);
    if (!l->o.scaling.dynamic)
        return OK;
    lane_times_wait(&l->times, EVENT_WAIT_SCALE, 0);
    status st = weights_view_wait_scale(l->o.shared.weights, l->now.step, &l->cancel, &l->scale, err);
    lane_times_wait_end(&l->times, EVENT_WAIT_SCALE);
    return st == OK ? fill_now(l, err) : st;
}

static status lane_compute(lane *l, error *err)
{
    lane_times_slot(&l->times, l->now.step, l->now.slot, &l->now.batch);
    TRY(fill_scaled(l, err));
    TRY(lane_run_slot(l, err));
    lane_times_slot_end(&l->times);
    note done = note_of(l, NOTE_DONE, 0);
    done.at_us = clock_us();
    lane_notes_post(l->o.shared.notes, &done);
    return OK;
}

/* Until something changes, or a lane without work is to tell of it. */
static void wait_for_work(lane *l)
{
    enum { TELL_US = 1000 * 1000 };
    if (!thread_cond_wait_until(&l->changed, &l->lock, clock_us() + TELL_US))
        lane_times_idle_on(&l->times);
}

/* The next slot, once the borrowed spans of the gradient slab are back; false: stop. */
static bool next_slot(lane *l)
{
    lane_times_idle(&l->times);
    pthread_mutex_lock(&l->lock);
    l->busy = false;
    pthread_cond_broadcast(&l->changed);
    while (!l->stop && (!l->n || l->n_borrowed || atomic_load(&l->cancel))) {
        lane_times_given(&l->times, l->n > 0);
        wait_for_work(l);
    }
    bool go = !l->stop;
    if (go) {
        l->now = l->queue[l->first];
        l->first = (l->first + 1) % l->cap;
        l->n--;
        l->busy = true;
    }
    pthread_mutex_unlock(&l->lock);
    lane_times_idle_end(&l->times, l->now.step, go ? l->now.free_us : 0);
    return go;
}

static void *lane_run(void *arg)
{
    lane *l = arg;
    log_set_task(l->o.task);
    error failure = ERROR_INIT;
    status st = lane_build(l, &failure);
    pthread_mutex_lock(&l->lock);
    l->built = true;
    l->build_status = st;
    l->build_error = failure;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    while (st == OK && next_slot(l)) {
        st = lane_compute(l, &failure);
        if (st != OK)
            lane_times_slot_drop(&l->times);
        if (st != OK && atomic_load(&l->cancel)) {
            error_clear(&failure);
            st = OK;
        }
        if (st != OK)
            lane_notes_fail(l->o.shared.notes, st, &failure);
    }
    pthread_mutex_lock(&l->lock);
    l->busy = false;
    pthread_cond_broadcast(&l->changed);
    while (!l->stop || l->n_borrowed)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    loader_destroy(&l->loader);
    exec_destroy(&l->exec);
    return NULL;
}

/* --- the worker's thread --- */

status lane_create(const lane_options *options, lane **ret, error *err)
{
    lane *l = xcalloc(1, sizeof *l);
    l->o = *options;
    l->scale = loss_scale_first(&options->scaling);
    l->times.lane = options->index;
    l->times.weights = options->shared.weights;
    snprintf(l->name, sizeof l->name, "lane.%d", options->index);
    pthread_mutex_init(&l->lock, NULL);
    thread_cond_init(&l->changed);
    status st = thread_start(&l->thread, l->name, lane_run, l, err);
    l->started = st == OK;
    if (st == OK) {
        pthread_mutex_lock(&l->lock);
        while (!l->built)
            pthread_cond_wait(&l->changed, &l->lock);
        st = l->build_status;
        if (st != OK)
            error_set(err, st, "%s", l->build_error.text);
        pthread_mutex_unlock(&l->lock);
    }
    if (st != OK)
        lane_destroy(&l);
    else
        *ret = l;
    return st;
}

void lane_destroy(lane **l)
{
    if (!l || !*l)
        return;
    if ((*l)->started) {
        atomic_store(&(*l)->cancel, true);
        weights_view_wake((*l)->o.shared.weights);
        peers_wake((*l)->o.peers);
        pthread_mutex_lock(&(*l)->lock);
        (*l)->stop = true;
        pthread_cond_broadcast(&(*l)->changed);
        pthread_mutex_unlock(&(*l)->lock);
        pthread_join((*l)->thread, NULL);
    }
    pthread_cond_destroy(&(*l)->changed);
    pthread_mutex_destroy(&(*l)->lock);
    lane_metrics_close(&(*l)->o.metrics);
    free((*l)->grads);
    free((*l)->inputs);
    free((*l)->queue);
    free(*l);
    *l = NULL;
}

void lane_set_reducer(lane *l, lane_reducer *g)
{
    l->reducer = g;
}

/* Only a larger share than ever grows it. */
static void lane_queue_reserve(lane *l)
{
    if (l->n < l->cap)
        return;
    size_t cap = l->cap ? 2 * l->cap : 64;
    lane_slot *queue = xmalloc(cap * sizeof *queue);
    for (size_t i = 0; i < l->n; i++)
        queue[i] = l->queue[(l->first + i) % l->cap];
    free(l->queue);
    l->queue = queue;
    l->first = 0;
    l->cap = cap;
}

void lane_give(lane *l, const lane_slot *slot)
{
    pthread_mutex_lock(&l->lock);
    lane_queue_reserve(l);
    l->queue[(l->first + l->n++) % l->cap] = *slot;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void lane_read_ahead(lane *l, const step_slot *batch)
{
    loader_prefetch(l->loader, batch);
}

void lane_cancel(lane *l)
{
    atomic_store(&l->cancel, true);
    weights_view_wake(l->o.shared.weights);
    peers_wake(l->o.peers);
    pthread_mutex_lock(&l->lock);
    l->n = 0;
    pthread_cond_broadcast(&l->changed);
    while (l->busy)
        pthread_cond_wait(&l->changed, &l->lock);
    atomic_store(&l->cancel, false);
    pthread_mutex_unlock(&l->lock);
}

void lane_fingerprint(const lane *l, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "%s", l->fingerprint);
}
