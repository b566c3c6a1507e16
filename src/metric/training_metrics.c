/* See training_metrics.h. */
#include "metric/training_metrics.h"

#include "common/base/hash.h"
#include "metric/packed.h"
#include "metric/recipe.h"

#include <stdlib.h>
#include <string.h>

enum { METRICS_MOST = 256 };

struct training_metrics {
    arena *a;            /* of the recipe */
    metric_list *list;
    uint64_t mark;       /* of the recipe, in front of counts */
    int64_t slots;
};

/* --- recipes --- */

/* Alone, it tells how much it counts, of which there is room for so much more. */
static status has_room(const metric_options *o, const metric_source *source, size_t *room, bool *ret, error *err)
{
    size_t takes = 0;
    *ret = metrics_stays_small(o->kind) && source->classes <= TRAINING_METRICS_CLASSES;
    if (!*ret)
        return OK;
    TRY(metrics_measure(o, source, &takes, err));
    *ret = takes <= *room;
    *room -= *ret ? takes : 0;
    return OK;
}

/* A recipe may come from anywhere: it is held to what training_recipe_make keeps to, before memory is taken for it. */
static status check_recipe(const recipe *r, error *err)
{
    size_t room = TRAINING_METRICS_ROOM;
    for (size_t i = 0; i < r->n; i++) {
        bool fits = false;
        TRY(has_room(&r->options[i], &r->source, &room, &fits, err));
        if (!fits)
            return FAIL(err, E_PROTOCOL, "training is to count '%s', which is no metric that stays small, or more than "
                                         "%d counts", r->options[i].kind, TRAINING_METRICS_ROOM);
    }
    return OK;
}

/* Before the first step: a report has no place for two of one name. */
static status check_name(const metric_options *o, const metric_source *source, error *err)
{
    metric_list *one = NULL;
    status st = metrics_open(o, 1, source, &one, err);
    metrics_close(&one);
    return st;
}

/* Words of classes are what tags are called; of a large vocabulary nobody asks for them. */
static bool want_words(const metric_options *o)
{
    return strncmp(o->kind, "span_", strlen("span_")) == 0 || strcmp(o->kind, "attachment_scores") == 0;
}

status training_recipe_make(const metric_options *options, size_t n, const metric_source *source, buf *ret_recipe,
                            buf *ret_left, error *err)
{
    metric_source of = *source;
    metric_options *kept = xcalloc(n + 1, sizeof *kept);
    size_t n_kept = 0, room = TRAINING_METRICS_ROOM;
    bool has_words = false;
    status st = OK;
    of.has_answers = false;
    for (size_t i = 0; i < n && st == OK; i++) {
        const metric_options *o = &options[i];
        bool is_kept = n_kept < METRICS_MOST;
        st = is_kept ? has_room(o, &of, &room, &is_kept, err) : OK;
        if (st == OK && is_kept)
            st = check_name(o, &of, err);
        if (st == OK && is_kept) {
            kept[n_kept++] = *o;
            has_words = has_words || want_words(o);
        } else if (st == OK) {
            buf_addf(ret_left, "%s%s", ret_left->size ? ", " : "", o->name ? o->name : o->kind);
        }
    }
    if (!has_words)
        of.words = NULL;
    if (st == OK && n_kept)
        recipe_write(kept, n_kept, &of, ret_recipe);
    free(kept);
    return st;
}

/* --- life --- */

status training_metrics_open(const void *bytes, size_t n, training_metrics **ret, error *err)
{
    training_metrics *m = xcalloc(1, sizeof *m);
    recipe r = {.n = 0};
    m->a = arena_create();
    m->mark = fnv1a(bytes, n);
    status st = recipe_read(bytes, n, m->a, &r, err);
    if (st == OK)
        st = check_recipe(&r, err);
    if (st == OK)
        st = metrics_open(r.options, r.n, &r.source, &m->list, err);
    if (st == OK)
        *ret = m;
    else
        training_metrics_close(&m);
    return st;
}

void training_metrics_close(training_metrics **m)
{
    if (!m || !*m)
        return;
    metrics_close(&(*m)->list);
    arena_destroy(&(*m)->a);
    free(*m);
    *m = NULL;
}

/* --- counting --- */

status training_metrics_count(training_metrics *m, const metric_batch *batch, buf *to, error *err)
{
    training_metrics_reset(m);
    TRY(metrics_add(m->list, batch, err));
    m->slots = 1;
    training_metrics_save(m, to);
    return OK;
}

void training_metrics_save(const training_metrics *m, buf *to)
{
    buf_add(to, &m->mark, sizeof m->mark);
    packed_put(to, m->slots);
    metrics_pack(m->list, to);
}

bool training_metrics_add(training_metrics *m, const void *counts, size_t bytes)
{
    const char *at = counts;
    int64_t slots = 0;
    if (bytes < sizeof m->mark || memcmp(at, &m->mark, sizeof m->mark) != 0)
        return false;
    at += sizeof m->mark;
    bytes -= sizeof m->mark;
    if (packed_get(&at, &bytes, &slots, NULL) != OK || slots < 0 || slots > INT64_MAX - m->slots ||
        metrics_add_packed(m->list, &at, &bytes, NULL) != OK || bytes != 0)
        return false;
    m->slots += slots;
    return true;
}

void training_metrics_reset(training_metrics *m)
{
    metrics_reset(m->list);
    m->slots = 0;
}

int64_t training_metrics_slots(const training_metrics *m)
{
    return m->slots;
}

void training_metrics_figures(training_metrics *m, metric_figures *ret)
{
    metrics_figures(m->list, ret);
}
