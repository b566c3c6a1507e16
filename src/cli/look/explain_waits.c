#include "cli/look/explain_waits.h"

#include "cli/inspect/text.h"
#include "cli/look/recording_query.h"
#include "cli/look/wait_graph.h"
#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_US = 100 * 1000 };      /* a wait that is worth a word */

static void set_word(json_t *o, const char *key, const char *word)
{
    json_object_set_new(o, key, word ? json_words(word) : json_null());
}

static void set_seconds(json_t *o, const char *key, int64_t us)
{
    json_object_set_new(o, key, us < 0 ? json_null() : json_real((double)us * 1e-6));
}

static const char *name_of(const recordings *of, int at)
{
    return at < 0 ? "somebody" : of->tasks[at].name;
}

/* --- waits --- */

static bool is_alike(const graph_wait *a, const graph_wait *b)
{
    return a->kind == b->kind && a->from == b->from && a->lane == b->lane && a->to == b->to && a->step == b->step &&
           (a->slot == b->slot || a->kind == GRAPH_REPORT);
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "part 4", "parts 4-6, 9" */
static void add_numbers(const char *word, int32_t *numbers, size_t n, buf *ret)
{
    qsort(numbers, n, sizeof *numbers, by_number);
    buf_addf(ret, "%s%s", word, n == 1 ? "" : "s");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && numbers[end] <= numbers[end - 1] + 1; end++)
            ;
        buf_addf(ret, "%s %d", i ? "," : "", numbers[i]);
        if (numbers[end - 1] > numbers[i])
            buf_addf(ret, "-%d", numbers[end - 1]);
    }
}

/* `numbers` of the parts or, of reports, the slots. */
static void add_wait_words(const graph_wait *w, int32_t *numbers, size_t n, buf *ret)
{
    switch (w->kind) {
    case GRAPH_PART:
        buf_addf(ret, "version %lld of ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_SLOT:
        buf_addf(ret, "slot %d of step %lld, for ", w->slot, (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_REPORT:
        buf_adds(ret, "what was measured of ");
        add_numbers("slot", numbers, n, ret);
        buf_addf(ret, " of step %lld", (long long)w->step);
        break;
    case GRAPH_COPY:
        buf_addf(ret, "its standby to have version %lld of ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_VERDICT:
        buf_addf(ret, "the verdict on step %lld, for ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_NORM:
        buf_addf(ret, "the norm of step %lld, of ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_LIMIT:
        buf_addf(ret, "leave to go on behind version %lld", (long long)w->step);
        break;
    case GRAPH_SHARD:
        buf_addf(ret, "a shard of the checkpoint of step %lld", (long long)w->step);
        break;
    case GRAPH_EVALUATION:
        buf_adds(ret, "an evaluation");
        break;
    case GRAPH_WEIGHTS:
        add_numbers("part", numbers, n, ret);
        buf_addf(ret, " for batch %lld", (long long)w->step);
        break;
    case GRAPH_GRADIENT:
        buf_addf(ret, "batch %lld, for ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_TAKEN:
        buf_adds(ret, "word that ");
        add_numbers("part", numbers, n, ret);
        buf_addf(ret, " of batch %lld came", (long long)w->step);
        break;
    case GRAPH_MEASURED:
        buf_addf(ret, "what was measured of batch %lld", (long long)w->step);
        break;
    case GRAPH_FLOOR:
        buf_addf(ret, "all batches below %lld, for ", (long long)w->step);
        add_numbers("part", numbers, n, ret);
        break;
    case GRAPH_LEASE:
        buf_adds(ret, "a batch to compute");
    }
}

/* Those that differ by their parts alone are one, and reports those that differ by their slots. */
static json_t *tell_waits(const wait_graph *g)
{
    json_t *list = json_array();
    bool *told = xcalloc(g->n_waits + 1, sizeof *told);
    int32_t *numbers = xcalloc(g->n_waits + 1, sizeof *numbers);
    for (size_t i = 0; i < g->n_waits; i++) {
        const graph_wait *w = &g->waits[i];
        int64_t age_us = 0;
        size_t n = 0;
        for (size_t k = i; k < g->n_waits && !told[i]; k++)
            if (is_alike(w, &g->waits[k])) {
                numbers[n++] = w->kind == GRAPH_REPORT ? g->waits[k].slot : g->waits[k].part;
                age_us = g->waits[k].age_us > age_us ? g->waits[k].age_us : age_us;
                told[k] = k > i;
            }
        if (told[i])
            continue;
        buf words = BUF_INIT;
        json_t *o = json_object();
        add_wait_words(w, numbers, n, &words);
        set_word(o, "task", name_of(g->of, w->from));
        json_object_set_new(o, "lane", w->lane < 0 ? json_null() : json_integer(w->lane));
        set_word(o, "for", words.data);
        set_word(o, "whose", w->to < 0 ? NULL : name_of(g->of, w->to));
        set_seconds(o, "since_s", age_us);
        json_array_append_new(list, o);
        buf_fini(&words);
    }
    free(told);
    free(numbers);
    return list;
}

static bool is_any_long(const wait_graph *g)
{
    for (size_t i = 0; i < g->n_waits; i++)
        if (g->waits[i].age_us >= LONG_US)
            return true;
    return false;
}

/* Who has ended is told of in any case. */
static json_t *tell_ends(const wait_graph *g)
{
    json_t *list = json_array();
    bool any_long = is_any_long(g);
    for (size_t i = 0; i < g->n_ends; i++) {
        const graph_end *end = &g->ends[i];
        const recording_file *file = g->of->tasks[end->task].file;
        bool has_ended = file && recording_is_of_end(&file->r);
        if (!(any_long && end->n_waiters) && !has_ended)
            continue;
        json_t *o = json_object();
        set_word(o, "task", name_of(g->of, end->task));
        set_word(o, "does", end->words);
        set_seconds(o, "since_s", end->age_us);
        json_object_set_new(o, "waiters", json_integer((json_int_t)end->n_waiters));
        json_array_append_new(list, o);
    }
    return list;
}

/* --- tasks --- */

static void add_event_words(const recording *r, const recorder_event *e, buf *ret)
{
    task who;
    char name[TASK_NAME];
    const recorder_row *row = &recorder_rows[e->kind];
    buf_adds(ret, row->words);
    if (e->kind == EVENT_SENT || e->kind == EVENT_RECEIVED) {
        bool is_known = recording_peer_of(r, (uint32_t)e->b, &who);
        buf_addf(ret, " %s", wire_type_name((wire_type)e->a));
        if (e->a == WIRE_PUSH || e->a == WIRE_PUSHED || e->a == WIRE_PULL || e->a == WIRE_PART || e->a == WIRE_NORM)
            buf_addf(ret, " of part %d, step %lld", e->lane, (long long)e->step);
        if (is_known)
            buf_addf(ret, " %s %s", e->kind == EVENT_SENT ? "to" : "from", task_name(who, name));
        return;
    }
    if (row->a[0] && strchr(row->a, ' ') == NULL)
        buf_addf(ret, ": %s %d", row->a, e->a);
    if (e->step >= 0)
        buf_addf(ret, "%s step %lld", row->a[0] ? " of" : ":", (long long)e->step);
    if (e->took_us > 0)
        buf_addf(ret, ", in %.1f ms", (double)e->took_us * 1e-3);
}

static void tell_last(const recording *r, role of, json_t *o)
{
    const recorder_event *e = recording_last(r, of);
    buf words = BUF_INIT;
    if (e)
        add_event_words(r, e, &words);
    set_word(o, "last", e ? words.data : NULL);
    set_seconds(o, "last_s", e ? recording_age(r, e->at_us) : -1);
    buf_fini(&words);
}

static json_t *tell_task(const recordings *of, const recorded_task *one)
{
    json_t *o = json_object();
    const recording *r = one->file ? &one->file->r : NULL;
    set_word(o, "task", one->name);
    set_word(o, "file", r ? one->file->name : NULL);
    if (!r)
        return o;
    set_word(o, "host", r->head.host);
    json_object_set_new(o, "pid", json_integer(r->head.pid));
    set_word(o, "why", recording_reason_word((recording_reason)r->head.reason));
    set_word(o, "text", r->head.text);
    json_object_set_new(o, "age_s", json_real((double)(of->wall_us - r->head.wall_us) * 1e-6));
    tell_last(r, one->task.role, o);
    return o;
}

status explain_waits(const char *job_dir, const json_t *live, json_t **ret, error *err)
{
    recordings of;
    wait_graph g;
    TRY(recordings_open(job_dir, live, &of, err));
    if (!of.n_files && !of.n_refused) {
        recordings_close(&of);
        return OK;
    }
    wait_graph_make(&of, live, &g);
    json_t *o = json_object(), *tasks = json_array(), *refused = json_array();
    for (size_t i = 0; i < of.n_tasks; i++)
        json_array_append_new(tasks, tell_task(&of, &of.tasks[i]));
    for (size_t i = 0; i < of.n_refused; i++)
        json_array_append_new(refused, json_words(of.refused[i]));
    json_object_set_new(o, "written", json_real((double)of.wall_us * 1e-6));
    json_object_set_new(o, "held_up_by", tell_ends(&g));
    json_object_set_new(o, "waits", tell_waits(&g));
    json_object_set_new(o, "tasks", tasks);
    json_object_set_new(o, "refused", refused);
    wait_graph_fini(&g);
    recordings_close(&of);
    *ret = o;
    return OK;
}

/* --- for people --- */

static void add_since(const json_t *o, const char *key, const char *before, const char *behind, buf *ret)
{
    const json_t *s = json_object_get(o, key);
    if (json_is_number(s))
        buf_addf(ret, "%s%.1f s%s", before, json_number_value(s), behind);
}

static void add_clock(double at_s, buf *ret)
{
    char text[32] = "";
    struct tm tm;
    time_t t = (time_t)at_s;
    if (localtime_r(&t, &tm))
        strftime(text, sizeof text, "%H:%M:%S", &tm);
    buf_adds(ret, text);
}

static bool has_long_wait(const json_t *waits)
{
    const json_t *list = json_object_get(waits, "waits"), *w;
    size_t i;
    json_array_foreach(list, i, w)
        if (json_number_value(json_object_get(w, "since_s")) >= LONG_US * 1e-6)
            return true;
    return false;
}

static void add_verdict(const json_t *waits, buf *ret)
{
    const json_t *ends = json_object_get(waits, "held_up_by"), *end;
    size_t i;
    if (!json_array_size(ends))
        buf_adds(ret, has_long_wait(waits) ? "  it is not known who: tasks wait for each other in a cycle, or for one "
                                             "that is not known\n"
                                           : "  nobody holds up the others: no wait was as long as 0.1 s\n");
    json_array_foreach(ends, i, end) {
        long long n = inspect_int(end, "waiters");
        buf_addf(ret, "  %s %s", inspect_str(end, "task"), inspect_str(end, "does"));
        add_since(end, "since_s", ", since ", "", ret);
        if (n)
            buf_addf(ret, "; %lld task%s for it", n, n == 1 ? " waits" : "s wait");
        buf_adds(ret, "\n");
    }
}

static void add_waits(const json_t *waits, buf *ret)
{
    const json_t *list = json_object_get(waits, "waits"), *w;
    size_t i;
    if (json_array_size(list))
        buf_adds(ret, "who waits for whom\n");
    json_array_foreach(list, i, w) {
        const char *whose = inspect_str(w, "whose");
        buf_addf(ret, "  %-12s waits for %s%s%s", inspect_str(w, "task"), inspect_str(w, "for"), *whose ? ", of " : "",
                 whose);
        add_since(w, "since_s", ", since ", "", ret);
        buf_adds(ret, "\n");
    }
}

static void add_tasks(const json_t *waits, buf *ret)
{
    const json_t *list = json_object_get(waits, "tasks"), *o;
    size_t i;
    bool any_missing = false;
    buf_adds(ret, "what each did last\n");
    json_array_foreach(list, i, o) {
        buf_addf(ret, "  %-12s ", inspect_str(o, "task"));
        any_missing = any_missing || !*inspect_str(o, "file");
        if (!*inspect_str(o, "file"))
            buf_adds(ret, "has written nothing of this moment");
        else if (*inspect_str(o, "last"))
            buf_addf(ret, "%s", inspect_str(o, "last"));
        else
            buf_adds(ret, "nothing, but for signs of life");
        add_since(o, "last_s", ", ", " before", ret);
        buf_adds(ret, "\n");
    }
    if (any_missing)
        buf_adds(ret, "  (where the job dir is not seen it lies in $TMPDIR/tequio-events-* of that host)\n");
}

void explain_waits_text(const json_t *waits, buf *ret)
{
    const json_t *refused = json_object_get(waits, "refused"), *one;
    double written = json_number_value(json_object_get(waits, "written"));
    size_t i;
    if (written > 0) {
        buf_adds(ret, "who held up the others at ");
        add_clock(written, ret);
        buf_adds(ret, ", by what tasks have written of themselves (log/events)\n");
        add_verdict(waits, ret);
        add_waits(waits, ret);
        add_tasks(waits, ret);
    }
    json_array_foreach(refused, i, one)
        buf_addf(ret, "  refused: %s\n", json_string_value(one));
}
