#include "common/live/trace.h"

#include "common/base/alloc.h"
#include "common/wire/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

trace_window trace_steps;
atomic_bool recorder_is_traced;

static struct {
    pthread_mutex_t lock;
    recorder_event *pieces[TRACE_PIECES]; /* all but the last are full */
    size_t n;                       /* events */
    uint64_t left_out;
    trace_self tasks[ROLE_COUNT];
    size_t n_tasks;
    trace_variant variants[TRACE_VARIANTS];
    size_t n_variants, name_bytes;
    int speaker;                    /* a role, or ROLE_COUNT */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER, .speaker = ROLE_COUNT};

/* Between the first event of the window and the first one after it. */
static atomic_bool is_within;
static _Atomic int64_t newest_step;

static void note_progress(int64_t step)
{
    if (step <= atomic_load_explicit(&newest_step, memory_order_relaxed))
        return;
    atomic_store_explicit(&newest_step, step, memory_order_relaxed);
    atomic_store_explicit(&is_within, trace_wants(step), memory_order_relaxed);
}

static bool read_step(const char **text, int64_t *ret)
{
    const char *at = *text;
    for (*ret = 0; *at >= '0' && *at <= '9' && at - *text < 18; at++)
        *ret = *ret * 10 + (*at - '0');
    bool fits = at > *text;
    *text = at;
    return fits;
}

status trace_window_read(const char *text, trace_window *ret, error *err)
{
    const char *whole = text;
    trace_window w = {-1, -1};
    bool fits = read_step(&text, &w.begin) && *text++ == ':' && read_step(&text, &w.end) && !*text;
    if (!fits || w.end <= w.begin)
        return FAIL(err, E_CONFIG, "'%s' is no window of steps: give the first, and the one after the last, as 10:20",
                    whole);
    *ret = w;
    return OK;
}

void trace_open(trace_window w)
{
    trace_close();
    trace_steps = w;
    atomic_store(&newest_step, -1);
    atomic_store(&is_within, false);
    atomic_store(&recorder_is_traced, w.end > w.begin);
}

void trace_close(void)
{
    atomic_store(&recorder_is_traced, false);
    pthread_mutex_lock(&kept.lock);
    trace_steps = (trace_window){0, 0};
    for (size_t i = 0; i < TRACE_PIECES; i++)
        free(kept.pieces[i]);
    memset(kept.pieces, 0, sizeof kept.pieces);
    for (size_t i = 0; i < kept.n_variants; i++) {
        for (int32_t k = 0; k < kept.variants[i].n; k++)
            free(kept.variants[i].names[k]);
        free(kept.variants[i].names);
    }
    kept.n = kept.n_tasks = kept.n_variants = kept.name_bytes = 0;
    kept.left_out = 0;
    kept.speaker = ROLE_COUNT;
    pthread_mutex_unlock(&kept.lock);
}

void trace_task(role r, const char *name)
{
    pthread_mutex_lock(&kept.lock);
    bool is_there = false;
    for (size_t i = 0; i < kept.n_tasks; i++)
        is_there |= kept.tasks[i].role == r;
    if (!is_there) {
        kept.tasks[kept.n_tasks].role = r;
        snprintf(kept.tasks[kept.n_tasks++].name, TASK_NAME, "%s", name);
    }
    pthread_mutex_unlock(&kept.lock);
}

void trace_note(const recorder_event *e)
{
    pthread_mutex_lock(&kept.lock);
    size_t piece = kept.n / TRACE_PIECE;
    if (piece >= TRACE_PIECES) {
        kept.left_out++;
    } else {
        if (!kept.pieces[piece])
            kept.pieces[piece] = xmalloc(TRACE_PIECE * sizeof(recorder_event));
        kept.pieces[piece][kept.n++ % TRACE_PIECE] = *e;
    }
    pthread_mutex_unlock(&kept.lock);
}

/* Those whose head has a step, or the version that one begins with, where it says STEP. */
static bool names_step(int32_t message)
{
    switch (message) {
    case WIRE_PUSH:
    case WIRE_PUSHED:
    case WIRE_PULL:
    case WIRE_PART:
    case WIRE_REPORT:
    case WIRE_NORM:
    case WIRE_VERDICT:
    case WIRE_DELIVERED:
        return true;
    default:
        return false;
    }
}

/* An update is noted with the version that it makes, as is a step that is done. */
static int64_t step_of(const recorder_event *e)
{
    bool is_after = e->kind == EVENT_UPDATE || e->kind == EVENT_STEP_DONE;
    return is_after && e->step > 0 ? e->step - 1 : e->step;
}

void trace_offer(const recorder_event *e)
{
    bool is_message = e->kind == EVENT_SENT || e->kind == EVENT_RECEIVED;
    if (is_message && !names_step(e->a))
        return;
    recorder_event kept_event = *e;
    kept_event.step = step_of(e);
    bool wanted = trace_wants(kept_event.step);
    if (e->step >= 0)
        note_progress(kept_event.step);
    if (wanted || (e->step < 0 && atomic_load_explicit(&is_within, memory_order_relaxed)))
        trace_note(&kept_event);
}

static bool knows_variant(int32_t number)
{
    for (size_t i = 0; i < kept.n_variants; i++)
        if (kept.variants[i].number == number)
            return true;
    return false;
}

/* Those that there is room for. */
static int32_t copy_names(int32_t n, trace_name *name, const void *of, char **ret)
{
    for (int32_t i = 0; i < n; i++) {
        const char *one = name(of, i);
        kept.name_bytes += strlen(one) + TRACE_NAME_MORE;
        if (kept.name_bytes > TRACE_NAMES)
            return i;
        ret[i] = xstrdup(one);
    }
    return n;
}

void trace_nodes(int32_t variant, int32_t n, trace_name *name, const void *of)
{
    pthread_mutex_lock(&kept.lock);
    if (!knows_variant(variant) && kept.n_variants < TRACE_VARIANTS) {
        trace_variant v = {.number = variant, .names = xcalloc((size_t)n + 1, sizeof(char *))};
        v.n = copy_names(n, name, of, v.names);
        kept.variants[kept.n_variants++] = v;
    }
    pthread_mutex_unlock(&kept.lock);
}

bool trace_speaks(role r)
{
    pthread_mutex_lock(&kept.lock);
    if (kept.speaker == ROLE_COUNT)
        kept.speaker = r;
    bool speaks = kept.speaker == (int)r;
    pthread_mutex_unlock(&kept.lock);
    return speaks;
}

size_t trace_tasks(trace_self ret[ROLE_COUNT])
{
    pthread_mutex_lock(&kept.lock);
    size_t n = kept.n_tasks;
    memcpy(ret, kept.tasks, n * sizeof *ret);
    pthread_mutex_unlock(&kept.lock);
    return n;
}

size_t trace_count(void)
{
    pthread_mutex_lock(&kept.lock);
    size_t n = kept.n;
    pthread_mutex_unlock(&kept.lock);
    return n;
}

uint64_t trace_left_out(void)
{
    pthread_mutex_lock(&kept.lock);
    uint64_t n = kept.left_out;
    pthread_mutex_unlock(&kept.lock);
    return n;
}

size_t trace_read(size_t from, size_t most, recorder_event *ret)
{
    size_t n = 0;
    pthread_mutex_lock(&kept.lock);
    for (; n < most && from + n < kept.n; n++)
        ret[n] = kept.pieces[(from + n) / TRACE_PIECE][(from + n) % TRACE_PIECE];
    pthread_mutex_unlock(&kept.lock);
    return n;
}

size_t trace_variants(trace_variant ret[TRACE_VARIANTS])
{
    pthread_mutex_lock(&kept.lock);
    size_t n = kept.n_variants;
    memcpy(ret, kept.variants, n * sizeof *ret);
    pthread_mutex_unlock(&kept.lock);
    return n;
}
