/* See metrics.h. */
#include "metric/metrics.h"

#include "common/base/alloc.h"
#include "common/config/config.h"
#include "metric/kind.h"
#include "metric/packed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const metric_kind *const kinds[] = {
#define METRIC(name) &metric_##name,
#include "metric/kinds.def"
#undef METRIC
};

struct metric_list {
    metric_source source;
    metric *at;
    size_t n;
    int64_t refused; /* scores */
};

/* --- kinds --- */

static const metric_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

bool metrics_know(const char *kind)
{
    return find_kind(kind) != NULL;
}

bool metrics_stays_small(const char *kind)
{
    const metric_kind *k = find_kind(kind);
    return k && !k->keeps_each && !k->is_of_answers;
}

const char *metrics_did_you_mean(const char *kind)
{
    const char *names[COUNT_OF(kinds)];
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        names[i] = kinds[i]->name;
    return config_did_you_mean(kind, names, COUNT_OF(kinds));
}

size_t metrics_names(const metric_options *o, char **ret, size_t most)
{
    const metric_kind *kind = find_kind(o->kind);
    const char *ending = kind && !(strstr(o->kind, "fbeta") == o->kind && o->average == METRIC_PER_CLASS)
                             ? kind->endings
                             : NULL;
    size_t n = 0;
    for (; ending && n < most; ending = strchr(ending + 1, ' '))
        ret[n++] = metric_figure_name(kind, o, ending + 1, strcspn(ending + 1, " "));
    return n;
}

/* --- figures --- */

void metric_figures_fini(metric_figures *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->at[i].name);
        free(f->at[i].values);
    }
    free(f->at);
    *f = (metric_figures){.at = NULL};
}

const metric_figure *metric_figures_find(const metric_figures *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i].name, name) == 0)
            return &f->at[i];
    return NULL;
}

/* --- opening --- */

static const char *input_name(metric_input input)
{
    switch (input) {
    case METRIC_CLASSES:
        return "scores of classes";
    case METRIC_YES_NO:
        return "a yes or a no";
    case METRIC_NUMBERS:
        return "numbers";
    case METRIC_TOKENS:
        return "tokens";
    case METRIC_ARCS:
        return "heads and tags of words";
    }
    return "";
}

static status check_input(const metric *m, error *err)
{
    char takes[256];
    size_t n = 0;
    for (unsigned bit = 1; bit <= METRIC_ARCS; bit <<= 1)
        if (m->kind->inputs & bit)
            n += (size_t)snprintf(takes + n, sizeof takes - n, "%s%s", n ? " or " : "",
                                  input_name((metric_input)bit));
    if (!(m->kind->inputs & m->source->input))
        return METRIC_FAIL(m, err, "%s takes %s, but this model and its loss give %s", m->kind->name, takes,
                           input_name(m->source->input));
    if (m->kind->is_of_rows && m->source->labels < 2)
        return METRIC_FAIL(m, err, "%s takes a row of labels an example, but this model's have one each",
                           m->kind->name);
    if (m->kind->is_of_spans && !m->source->is_span)
        return METRIC_FAIL(m, err, "%s takes the first and the last position of an answer (model.loss: span)",
                           m->kind->name);
    if (m->kind->is_of_answers && !m->source->has_answers)
        return METRIC_FAIL(m, err, "%s takes data with questions and right answers, as the reader transformer_squad "
                                   "gives them", m->kind->name);
    return OK;
}

static status open_kind(metric *m, const metric_options *o, const metric_source *source, size_t *ret_counts,
                        size_t *ret_sums, error *err)
{
    *m = (metric){.kind = find_kind(o->kind), .o = *o, .source = source};
    if (!m->kind) {
        const char *near = metrics_did_you_mean(o->kind);
        return FAIL(err, E_CONFIG, "there is no metric '%s'%s%s%s", o->kind, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
    }
    TRY(check_input(m, err));
    *ret_counts = m->kind->n_counts;
    *ret_sums = m->kind->n_sums;
    return m->kind->open ? m->kind->open(m, ret_counts, ret_sums, err) : OK;
}

static status open_metric(metric *m, const metric_options *o, const metric_source *source, error *err)
{
    size_t counts, sums;
    TRY(open_kind(m, o, source, &counts, &sums, err));
    return metric_state_init(&m->state, counts, sums, err);
}

status metrics_measure(const metric_options *o, const metric_source *source, size_t *ret, error *err)
{
    metric m;
    size_t counts = 0, sums = 0;
    status st = open_kind(&m, o, source, &counts, &sums, err);
    free(m.own);
    *ret = counts + METRIC_SUM_ROOM * sums;
    return st;
}

/* What else stands beside figures in a report. */
static bool is_taken(const char *name)
{
    static const char *const taken[] = {"step", "epochs_done", "final", "examples", "seconds", "model", "data",
                                        "classes", "errors", "temperature", "epoch", "learning_rate",
                                        "examples_per_s", "wall_s", "lost_slots", "loss_scale",
                                        "skipped_steps", "duration", "duration_s"};
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return false;
}

static status check_names(metric_list *m, error *err)
{
    metric_figures f = {.at = NULL};
    status st = OK;
    metrics_figures(m, &f);
    for (size_t i = 0; i < f.n && st == OK; i++)
        if (is_taken(f.at[i].name))
            st = FAIL(err, E_CONFIG, "no metric may be called '%s': reports have that already", f.at[i].name);
    for (size_t i = 0; i < f.n && st == OK; i++)
        if (metric_figures_find(&f, f.at[i].name) != &f.at[i])
            st = FAIL(err, E_CONFIG, "two metrics would be called '%s': give one another `name`", f.at[i].name);
    metric_figures_fini(&f);
    return st;
}

status metrics_open(const metric_options *options, size_t n, const metric_source *source, metric_list **ret,
                    error *err)
{
    metric_list *m = xcalloc(1, sizeof *m);
    status st = OK;
    m->source = *source;
    m->at = xcalloc(n + 1, sizeof *m->at);
    for (; m->n < n && st == OK; m->n++)
        st = open_metric(&m->at[m->n], &options[m->n], &m->source, err);
    if (st == OK)
        st = check_names(m, err);
    if (st == OK)
        *ret = m;
    else
        metrics_close(&m);
    return st;
}

void metrics_close(metric_list **m)
{
    if (!m || !*m)
        return;
    for (size_t i = 0; i < (*m)->n; i++) {
        metric_state_fini(&(*m)->at[i].state);
        buf_fini(&(*m)->at[i].scratch);
        free((*m)->at[i].own);
    }
    free((*m)->at);
    free(*m);
    *m = NULL;
}

/* --- counting --- */

static bool is_refused(const metric_source *s, float x)
{
    return isnan(x) || (isinf(x) && (s->input == METRIC_NUMBERS || (s->input == METRIC_CLASSES && x > 0)));
}

/* Of the scores of labels that count. */
static int64_t count_refused(const metric_source *s, const metric_batch *b)
{
    int64_t n = 0, each = s->input == METRIC_CLASSES ? s->classes : 1;
    for (int64_t i = 0; i < b->examples * s->labels; i++) {
        if (!metric_counts(s, b, i))
            continue;
        for (int64_t c = 0; b->scores && c < each; c++)
            n += is_refused(s, s->input == METRIC_CLASSES ? metric_score(s, b, i, c) : b->scores[i]);
        n += b->targets && is_refused(s, b->targets[i]);
    }
    return n;
}

static status check_labels(const metric_source *s, const metric_batch *b, error *err)
{
    int64_t classes = s->input == METRIC_YES_NO ? 2 : s->classes;
    if (!b->labels || s->input == METRIC_ARCS || s->input == METRIC_NUMBERS)
        return OK;
    for (int64_t i = 0; i < b->examples * s->labels; i++)
        if (metric_counts(s, b, i) && (b->labels[i] < 0 || b->labels[i] >= classes))
            return FAIL(err, E_DATA, "the label %lld is none of %lld classes", (long long)b->labels[i],
                        (long long)classes);
    return OK;
}

bool metrics_want_answers(const metric_list *m)
{
    bool any = false;
    for (size_t i = 0; i < m->n; i++)
        any = any || m->at[i].kind->is_of_answers;
    return any;
}

status metrics_add(metric_list *m, const metric_batch *b, error *err)
{
    TRY(check_labels(&m->source, b, err));
    int64_t refused = count_refused(&m->source, b);
    m->refused += refused;
    for (size_t i = 0; i < m->n && !refused; i++)
        TRYF(m->at[i].kind->add(&m->at[i], b, err), err, "metric '%s'", metric_name(&m->at[i]));
    return OK;
}

status metrics_merge(metric_list *into, metric_list *from, error *err)
{
    BUG_ON(into->n != from->n);
    into->refused += from->refused;
    for (size_t i = 0; i < into->n; i++) {
        TRYF(metric_state_merge(&into->at[i].state, &from->at[i].state, err), err, "metric '%s'",
             metric_name(&into->at[i]));
        if (into->at[i].kind->settle)
            into->at[i].kind->settle(&into->at[i]);
    }
    return OK;
}

void metrics_reset(metric_list *m)
{
    m->refused = 0;
    for (size_t i = 0; i < m->n; i++)
        metric_state_clear(&m->at[i].state);
}

/* --- results --- */

void metrics_figures(metric_list *m, metric_figures *ret)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t first = ret->n;
        m->at[i].kind->figures(&m->at[i], ret);
        for (; m->refused && first < ret->n; first++)
            for (int64_t k = 0; k < (ret->at[first].rows ? ret->at[first].rows : 1) * ret->at[first].columns; k++)
                ret->at[first].values[k] = (double)NAN;
    }
}

status metrics_check(const metric_list *m, error *err)
{
    if (!m->refused || !m->n)
        return OK;
    buf names = BUF_INIT;
    for (size_t i = 0; i < m->n; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", metric_name(&m->at[i]));
    status st = FAIL(err, E_NONFINITE, "no value of %s: %lld of the model's scores or of the labels are not finite",
                     names.data, (long long)m->refused);
    buf_fini(&names);
    return st;
}

/* --- bytes --- */

static const char magic[8] = "TQMETR2";

void metrics_save(metric_list *m, buf *to)
{
    buf_add(to, magic, sizeof magic);
    buf_add(to, &m->refused, sizeof m->refused);
    for (size_t i = 0; i < m->n; i++)
        metric_state_save(&m->at[i].state, to);
}

status metrics_load(metric_list *m, const char *bytes, size_t n, error *err)
{
    if (n < sizeof magic + sizeof m->refused || memcmp(bytes, magic, sizeof magic) != 0)
        return FAIL(err, E_DATA, "these are not the counts of metrics");
    memcpy(&m->refused, bytes + sizeof magic, sizeof m->refused);
    bytes += sizeof magic + sizeof m->refused;
    n -= sizeof magic + sizeof m->refused;
    for (size_t i = 0; i < m->n; i++)
        TRYF(metric_state_load(&m->at[i].state, &bytes, &n, err), err, "metric '%s'", metric_name(&m->at[i]));
    return n == 0 ? OK : FAIL(err, E_DATA, "%zu bytes follow the counts of the metrics", n);
}

void metrics_pack(const metric_list *m, buf *to)
{
    packed_put(to, m->refused);
    for (size_t i = 0; i < m->n; i++)
        packed_put_state(to, &m->at[i].state);
}

status metrics_add_packed(metric_list *m, const char **from, size_t *bytes, error *err)
{
    int64_t refused = 0;
    TRY(packed_get(from, bytes, &refused, err));
    m->refused += refused > 0;
    for (size_t i = 0; i < m->n; i++)
        TRYF(packed_add_state(&m->at[i].state, from, bytes, err), err, "metric '%s'", metric_name(&m->at[i]));
    return OK;
}
