#include "cli/look/histograms.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct column {
    int64_t step;
    double min, max;
    size_t n;
    double *limits, *counts;    /* [n] in one piece of memory, which `limits` owns */
} column;

typedef struct gathering {
    const char *tag;            /* NULL: only tags are wanted */
    json_t *tags;               /* an object: its keys */
    column *at;
    size_t n, cap;
    size_t every, passed;       /* of the histograms of that tag each `every`th is kept */
} gathering;

/* --- reading --- */

/* Twice as many as are told at most: then every second one goes. */
static void thin(gathering *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->n; i++)
        if (i % 2 == 0)
            g->at[kept++] = g->at[i];
        else
            free(g->at[i].limits);
    g->n = kept;
    g->every *= 2;
}

static void add_column(gathering *g, const event_record *r)
{
    column one = {.step = r->step, .min = r->min, .max = r->max, .n = r->n_buckets};
    one.limits = xcalloc(2 * one.n, sizeof *one.limits);
    one.counts = one.limits + one.n;
    memcpy(one.limits, r->limits, one.n * sizeof *one.limits);
    memcpy(one.counts, r->counts, one.n * sizeof *one.counts);
    GROW(g->at, g->cap, g->n + 1);
    g->at[g->n++] = one;
    if (g->n == 2 * HISTOGRAM_STEPS)
        thin(g);
}

static status visit(void *user, const event_record *r, error *err)
{
    gathering *g = user;
    (void)err;
    if (r->kind != EVENT_HISTOGRAM || !r->tag)
        return OK;
    json_object_set_new(g->tags, r->tag, json_true()); /* a tag that is not UTF-8 is none */
    bool is_whole = r->n_buckets && isfinite(r->min) && isfinite(r->max) && r->min <= r->max;
    if (g->tag && is_whole && strcmp(r->tag, g->tag) == 0 && g->passed++ % g->every == 0)
        add_column(g, r);
    return OK;
}

/* In the order of their names, which is that of starts. */
static status read_files(const char *folder, gathering *g, error *err)
{
    char **names = NULL;
    size_t n = 0;
    status st = fs_exists(folder) ? fs_list(folder, &names, &n, err) : OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        if (strncmp(names[i], "events.out.tfevents", 19) != 0)
            continue;
        char *path = xasprintf("%s/%s", folder, names[i]);
        st = events_read(path, visit, g, err);
        free(path);
    }
    fs_list_free(names, n);
    return st;
}

/* --- telling --- */

/* What lies between two values of a bucket goes into bins by how much of each it covers. */
static void spread(double from, double to, double count, double low, double width, double *bins)
{
    long first = lrint(floor((from - low) / width)), last = lrint(floor((to - low) / width));
    first = first < 0 ? 0 : first >= HISTOGRAM_BINS ? HISTOGRAM_BINS - 1 : first;
    last = last < first ? first : last >= HISTOGRAM_BINS ? HISTOGRAM_BINS - 1 : last;
    for (long i = first; i <= last; i++) {
        double begin = fmax(from, low + (double)i * width), end = fmin(to, low + (double)(i + 1) * width);
        bins[i] += first == last || to <= from ? count / (double)(last - first + 1)
                                               : count * fmax(0, end - begin) / (to - from);
    }
}

static json_t *row_of(const column *c, double low, double width)
{
    double bins[HISTOGRAM_BINS] = {0}, before = c->min;
    json_t *row = json_array();
    for (size_t i = 0; i < c->n; i++) {
        double to = fmin(fmax(c->limits[i], before), c->max);
        if (c->counts[i] > 0 && isfinite(c->counts[i]))
            spread(before, to, c->counts[i], low, width, bins);
        before = to;
    }
    for (int i = 0; i < HISTOGRAM_BINS; i++)
        json_array_append_new(row, json_real(bins[i]));
    return row;
}

static void tell_columns(const gathering *g, json_t *o)
{
    double low = INFINITY, high = -INFINITY;
    json_t *steps = json_array(), *rows = json_array();
    for (size_t i = 0; i < g->n; i++) {
        low = fmin(low, g->at[i].min);
        high = fmax(high, g->at[i].max);
    }
    double width = high / HISTOGRAM_BINS - low / HISTOGRAM_BINS; /* their difference may not be finite */
    size_t apart = (g->n + HISTOGRAM_STEPS - 1) / HISTOGRAM_STEPS;
    for (size_t i = 0; i < g->n; i += apart) {
        json_array_append_new(steps, json_integer(g->at[i].step));
        json_array_append_new(rows, row_of(&g->at[i], low, width > 0 ? width : 1));
    }
    if (g->n) {
        json_object_set_new(o, "low", json_real(low));
        json_object_set_new(o, "high", json_real(high));
    }
    json_object_set_new(o, "steps", steps);
    json_object_set_new(o, "rows", rows);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted_keys(json_t *o)
{
    size_t n = 0;
    const char *key, **keys = xcalloc(json_object_size(o) + 1, sizeof *keys);
    json_t *value, *list = json_array();
    json_object_foreach(o, key, value)
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, by_text);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(keys[i]));
    free(keys);
    return list;
}

static void gathering_fini(gathering *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->at[i].limits);
    free(g->at);
    json_decref(g->tags);
}

status histograms_tell(const char *folder, const char *tag, json_t **ret, error *err)
{
    gathering g = {.tag = tag, .tags = json_object(), .every = 1};
    json_t *o = json_object(), *tags = NULL;
    status st = read_files(folder, &g, err);
    if (st == OK) {
        tags = sorted_keys(g.tags);
        json_object_set_new(o, "tags", tags);
    }
    if (st == OK && json_array_size(tags) && (!tag || !json_object_get(g.tags, tag))) {
        g.tag = json_string_value(json_array_get(tags, 0));
        st = read_files(folder, &g, err);
    }
    if (st == OK && json_array_size(tags)) {
        json_object_set_new(o, "tag", json_string(g.tag));
        tell_columns(&g, o);
    }
    gathering_fini(&g);
    if (st == OK)
        *ret = o;
    else
        json_decref(o);
    return st;
}
