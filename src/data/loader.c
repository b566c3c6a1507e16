/*
 * The loader (data.h): a ring of buffers, filled ahead of use by threads of its own.
 *
 * A buffer goes FREE -> WANTED -> CHOOSING -> FILLING -> MIXING -> READY -> TAKEN -> FREE. Its state is guarded by the
 * loader's lock. One thread chooses a batch's examples; then all that are free read some of these each, in order of
 * asking: a row of examples belongs to the one that has begun it. The last one mixes them, and then all is the
 * borrowers'. What a batch holds depends on nothing but its slot, so it does not matter which thread reads what, or in
 * what order: a taker whose batch is not ready reads too.
 */
#include "data/data.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"
#include "common/live/recorder.h"
#include "data/batch_lengths.h"
#include "data/bucketing.h"
#include "data/making.h"

#include <stdlib.h>
#include <string.h>

enum { SHARES = 4 }; /* of a batch that a thread reads in a row, if all are as fast */

typedef enum buffer_state { FREE, WANTED, CHOOSING, FILLING, MIXING, READY, TAKEN } buffer_state;

typedef struct buffer {
    data_batch batch; /* first: loader_release gets here by its address */
    made to;
    data_field cut[DATA_FIELDS];    /* the fields, of the batch's length */
    int64_t *examples;              /* [batch_size] */
    buffer_state state;
    uint64_t turn;     /* order of asking */
    int64_t borrowed;  /* TAKEN: by how many */
    char *scratch;     /* of the taker that reads too; NULL: examples are read into their places */
    bool has_taker;    /* there is one */
    int64_t begun;     /* FILLING: so many examples */
    int readers;       /* and so many threads are at them */
    int64_t begun_us;  /* when it was begun */
    int64_t failed_at; /* the first of the examples that cannot be read; batch.slot.n: none */
    status result;
    error reason;
} buffer;

/* A thread of the loader. */
typedef struct reading {
    struct loader *loader;
    pthread_t thread;
    char *scratch; /* as a buffer's */
} reading;

struct loader {
    loader_options options;
    making making;
    int64_t examples;
    buffer *ring; /* [options.depth] */

    pthread_mutex_t lock; /* guards everything below and the buffers' states */
    pthread_cond_t work;  /* something is WANTED, or can be read, or stop */
    pthread_cond_t done;  /* a buffer became READY, or its examples are chosen */
    uint64_t turns;
    int64_t newest_taken; /* batch id */
    bool stop;
    int n_threads;
    reading *threads; /* [options.workers], n_threads of them run */
};

/* Making a batch: no lock held */

/* Which examples, and how long they are. */
static status choose_examples(const loader *l, buffer *b, error *err)
{
    const step_slot *slot = &b->batch.slot;
    b->batch.shape = (batch_shape){.examples = slot->n, .length = l->options.length};
    if (l->options.buckets)
        TRY(bucketing_batch(l->options.buckets, slot, b->examples, &b->batch.shape.length, err));
    else if (l->options.lengths)
        b->batch.shape.length = batch_lengths_of(l->options.lengths, slot->first, slot->n);
    for (int64_t i = 0; !l->options.buckets && i < slot->n; i++)
        b->examples[i] = dataset_of_epoch(
            l->options.dataset, slot->epoch,
            l->options.shuffle ? permute_place(l->options.seed, slot->epoch, l->examples, slot->first + i)
                               : slot->first + i);
    data_fields_of_length(l->making.fields, l->making.n_fields, b->batch.shape.length, b->cut);
    b->batch.fields = b->batch.shape.length ? b->cut : l->making.fields;
    return OK;
}

/* Examples first .. end - 1, until one fails: *ret_at. */
static status read_row(const loader *l, buffer *b, char *scratch, int64_t first, int64_t end, int64_t *ret_at,
                       error *err)
{
    status st = OK;
    for (*ret_at = first; st == OK && *ret_at < end; ++*ret_at)
        st = making_read(&l->making, &b->batch, b->examples[*ret_at], *ret_at, &b->to, scratch, err);
    *ret_at -= st != OK;
    return st;
}

/* Finding buffers: with the lock held */

static bool same_slot(const step_slot *a, const step_slot *b)
{
    return a->batch_id == b->batch_id && a->epoch == b->epoch && a->first == b->first &&
           a->n == b->n;
}

static buffer *find(loader *l, const step_slot *slot)
{
    for (size_t i = 0; i < l->options.depth; i++)
        if (l->ring[i].state != FREE && same_slot(&l->ring[i].batch.slot, slot))
            return &l->ring[i];
    return NULL;
}

/* Are there examples that nobody has begun, and no failed one in front of them? */
static bool can_be_read(const buffer *b)
{
    return b->state == FILLING && b->begun < b->failed_at;
}

static buffer *first_with_work(loader *l)
{
    buffer *first = NULL;
    for (size_t i = 0; i < l->options.depth; i++) {
        buffer *b = &l->ring[i];
        if ((b->state == WANTED || can_be_read(b)) && (!first || b->turn < first->turn))
            first = b;
    }
    return first;
}

/* A buffer for a new batch: a free one, or else the one whose batch is least likely to be taken
 * still, if its id is below `give_up_below`. */
static buffer *make_room(loader *l, int64_t give_up_below)
{
    buffer *oldest = NULL;
    for (size_t i = 0; i < l->options.depth; i++) {
        buffer *b = &l->ring[i];
        if (b->state == FREE)
            return b;
        if ((b->state == WANTED || b->state == READY) && b->batch.slot.batch_id < give_up_below &&
            (!oldest || b->batch.slot.batch_id < oldest->batch.slot.batch_id))
            oldest = b;
    }
    return oldest;
}

static void want(loader *l, buffer *b, const step_slot *slot)
{
    b->batch.slot = *slot;
    b->state = WANTED;
    b->turn = l->turns++;
}

/* Filling buffers: these take the lock away around the work, and give it back */

static void choose_unlocked(loader *l, buffer *b)
{
    b->state = CHOOSING;
    b->begun_us = clock_us();
    error_clear(&b->reason);
    pthread_mutex_unlock(&l->lock);
    status st = choose_examples(l, b, &b->reason);
    pthread_mutex_lock(&l->lock);
    b->result = st;
    b->begun = 0;
    b->readers = 0;
    b->failed_at = st == OK ? b->batch.slot.n : 0;
    b->state = FILLING;
    pthread_cond_broadcast(&l->work);
    pthread_cond_broadcast(&l->done);
}

static void read_some_unlocked(loader *l, buffer *b, char *scratch)
{
    int64_t first = b->begun, at, most = b->batch.slot.n / (SHARES * (l->n_threads + 1)) + 1;
    int64_t end = first + most < b->batch.slot.n ? first + most : b->batch.slot.n;
    error why = ERROR_INIT;
    b->begun = end;
    b->readers++;
    pthread_mutex_unlock(&l->lock);
    status st = read_row(l, b, scratch, first, end, &at, &why);
    pthread_mutex_lock(&l->lock);
    b->readers--;
    if (st != OK && at < b->failed_at) {
        b->failed_at = at;
        b->result = st;
        b->reason = why;
    }
}

static void mix_unlocked(loader *l, buffer *b, char *scratch)
{
    b->state = MIXING;
    pthread_mutex_unlock(&l->lock);
    making_mix(&l->making, &b->batch, &b->to, scratch);
    pthread_mutex_lock(&l->lock);
}

/* Does what there is to do for a buffer that is WANTED or FILLING; others may still be at it afterwards. */
static void fill(loader *l, buffer *b, char *scratch)
{
    if (b->state == WANTED)
        choose_unlocked(l, b);
    while (!l->stop && can_be_read(b))
        read_some_unlocked(l, b, scratch);
    if (b->state == FILLING && b->readers == 0 && !can_be_read(b)) {
        if (b->result == OK)
            mix_unlocked(l, b, scratch);
        b->state = READY;
        int64_t now = clock_us();
        RECORDER_NOTE(.kind = EVENT_BATCH_MADE, .lane = -1, .step = -1, .c = b->batch.slot.batch_id, .at_us = now,
                      .took_us = now - b->begun_us);
        pthread_cond_broadcast(&l->done);
    }
}

static void *run(void *arg)
{
    reading *r = arg;
    loader *l = r->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        buffer *b = first_with_work(l);
        if (b)
            fill(l, b, r->scratch);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Life cycle */

/* What a batch of such a field takes, of any shape. False: more than there can be. */
static bool room_of(const loader_options *o, int64_t batch_size, const data_field *f, size_t *ret)
{
    batch_shape shapes[BATCH_SHAPES] = {{.examples = batch_size, .length = o->length}};
    size_t n = o->buckets ? bucketing_shapes(o->buckets, shapes) : 1, all;
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        data_field cut;
        data_fields_of_length(f, 1, shapes[i].length, &cut);
        int64_t examples = shapes[i].examples < batch_size ? shapes[i].examples : batch_size;
        if (!size_mul(data_field_bytes(&cut), (size_t)examples, &all))
            return false;
        *ret = all > *ret ? all : *ret;
    }
    return true;
}

/* NULL: none is needed. */
static status create_scratch(const loader *l, char **ret, error *err)
{
    void *p = NULL;
    if (making_scratch(&l->making) > 0)
        TRY(mem_alloc(making_scratch(&l->making), "an example", &p, err));
    *ret = p;
    return OK;
}

static status create_draws(const loader *l, size_t field, buffer *b, error *err)
{
    void *p = NULL;
    TRY(mem_alloc((size_t)l->options.batch_size * sizeof(finish_draw), "what is drawn for a batch", &p, err));
    b->batch.draws[field] = b->to.draws[field] = p;
    return OK;
}

static status create_buffer(const loader *l, buffer *b, error *err)
{
    const making *m = &l->making;
    size_t all;
    void *p = NULL;
    for (size_t f = 0; f < m->n_fields; f++) {
        if (!room_of(&l->options, l->options.batch_size, &m->fields[f], &all))
            return FAIL(err, E_NOMEM, "a batch of %lld examples is larger than memory",
                        (long long)l->options.batch_size);
        TRY(mem_alloc(all, "a batch of examples", &b->to.data[f], err));
        b->batch.data[f] = b->to.data[f];
        if (m->unfinished[f])
            TRY(create_draws(l, f, b, err));
    }
    TRY(mem_alloc((size_t)l->options.batch_size * sizeof *b->examples, "a batch of examples", &p, err));
    b->examples = p;
    b->batch.n_fields = m->n_fields;
    return create_scratch(l, &b->scratch, err);
}

static status start_threads(loader *l, error *err)
{
    l->threads = xcalloc((size_t)l->options.workers + 1, sizeof *l->threads);
    for (int i = 0; i < l->options.workers; i++) {
        l->threads[i].loader = l;
        TRY(create_scratch(l, &l->threads[i].scratch, err));
    }
    for (; l->n_threads < l->options.workers; l->n_threads++)
        TRY(thread_start(&l->threads[l->n_threads].thread, "loader", run, &l->threads[l->n_threads], err));
    return OK;
}

static int64_t largest_batch(const loader_options *o)
{
    int64_t examples = dataset_examples(o->dataset);
    return o->batch_size < examples ? o->batch_size : examples;
}

size_t loader_bytes(const loader_options *o)
{
    making m = making_of(o);
    size_t batch = 0, one, all, at_a_time, each = dataset_reading_bytes(o->dataset);
    size_t chosen = (size_t)largest_batch(o) * sizeof(int64_t); /* which examples a batch has */
    bool fits = size_add(each, making_scratch(&m), &each) && size_mul(each, (size_t)o->workers + 1, &at_a_time);
    for (size_t f = 0; f < m.n_fields && fits; f++)
        fits = room_of(o, largest_batch(o), &m.fields[f], &one) && size_add(batch, one, &batch) &&
               size_add(batch, m.unfinished[f] ? (size_t)largest_batch(o) * sizeof(finish_draw) : 0, &batch);
    fits = fits && size_add(batch, chosen, &batch);
    return fits && size_mul(batch, o->depth, &all) && size_add(all, at_a_time, &all) ? all : SIZE_MAX;
}

status loader_create(const loader_options *options, loader **ret, error *err)
{
    BUG_ON(options->depth < 2 || options->batch_size < 1);
    loader *l = xcalloc(1, sizeof *l);
    l->options = *options;
    l->options.batch_size = largest_batch(options);
    l->making = making_of(options);
    l->examples = dataset_examples(options->dataset);
    l->newest_taken = -1;
    l->ring = xcalloc(options->depth, sizeof *l->ring);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    status st;
    TRY_OUT(st, making_check(options->augment, NULL, options->dataset, err));
    for (size_t i = 0; i < options->depth; i++)
        TRY_OUT(st, create_buffer(l, &l->ring[i], err));
    TRY_OUT(st, start_threads(l, err));
    *ret = l;
out:
    if (st != OK)
        loader_destroy(&l);
    return st;
}

void loader_destroy(loader **l)
{
    loader *p = *l;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i].thread, NULL);
    for (int i = 0; p->threads && i < p->options.workers; i++)
        mem_free(p->threads[i].scratch);
    free(p->threads);
    for (size_t i = 0; i < p->options.depth; i++) {
        for (size_t f = 0; f < p->making.n_fields; f++) {
            mem_free(p->ring[i].to.data[f]);
            mem_free(p->ring[i].to.draws[f]);
        }
        mem_free(p->ring[i].scratch);
        mem_free(p->ring[i].examples);
    }
    free(p->ring);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
    *l = NULL;
}

/* Verbs */

const data_field *loader_fields(const loader *l, size_t *ret_n)
{
    *ret_n = l->making.n_fields;
    return l->making.fields;
}

const finish_form *loader_form(const loader *l, size_t field)
{
    return l->making.unfinished[field] ? &l->making.forms[field] : NULL;
}

static bool slot_fits(const loader *l, const step_slot *slot)
{
    return slot->n >= 1 && slot->n <= l->options.batch_size && slot->first >= 0 &&
           slot->first <= l->examples - slot->n;
}

void loader_prefetch(loader *l, const step_slot *slot)
{
    if (!slot_fits(l, slot))
        return;
    pthread_mutex_lock(&l->lock);
    buffer *b = find(l, slot) ? NULL : make_room(l, l->newest_taken);
    if (b) {
        want(l, b, slot);
        pthread_cond_signal(&l->work);
    }
    pthread_mutex_unlock(&l->lock);
}

/* By a taker, one of those that want it. */
static void fill_too(loader *l, buffer *b)
{
    b->has_taker = true;
    fill(l, b, b->scratch);
    b->has_taker = false;
}

/* The buffer of this slot, filled; waits while other threads have all that there is to do. Lock held. */
static buffer *filled(loader *l, const step_slot *slot)
{
    for (;;) {
        buffer *b = find(l, slot);
        if (!b && (b = make_room(l, INT64_MAX)) != NULL)
            want(l, b, slot);
        if (b && !b->has_taker && (b->state == WANTED || can_be_read(b)))
            fill_too(l, b);
        if (b && (b->state == READY || b->state == TAKEN))
            return b;
        bool someone_fills = false;
        for (size_t i = 0; i < l->options.depth; i++)
            someone_fills = someone_fills || (l->ring[i].state >= CHOOSING && l->ring[i].state <= MIXING);
        if (!someone_fills)
            BUG("all %zu batches of a loader are borrowed", l->options.depth);
        pthread_cond_wait(&l->done, &l->lock);
    }
}

status loader_take(loader *l, const step_slot *slot, const data_batch **ret, error *err)
{
    if (!slot_fits(l, slot))
        return FAIL(err, E_DATA, "batch %lld takes places %lld to %lld; there are %lld examples",
                    (long long)slot->batch_id, (long long)slot->first,
                    (long long)(slot->first + slot->n - 1), (long long)l->examples);
    pthread_mutex_lock(&l->lock);
    buffer *b = filled(l, slot);
    status st = b->result;
    if (st == OK) {
        b->state = TAKEN;
        b->borrowed++;
        if (slot->batch_id > l->newest_taken)
            l->newest_taken = slot->batch_id;
        *ret = &b->batch;
    } else {
        if (err)
            *err = b->reason;
        error_prepend(err, "batch %lld", (long long)slot->batch_id);
        b->state = FREE;
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

void loader_release(loader *l, const data_batch *batch)
{
    buffer *b = (buffer *)(uintptr_t)batch;
    pthread_mutex_lock(&l->lock);
    BUG_ON(b->state != TAKEN);
    if (--b->borrowed == 0)
        b->state = FREE;
    pthread_mutex_unlock(&l->lock);
}
