/* See evaluation_metrics.h. */
#include "evaluator/evaluation_metrics.h"

#include "common/base/alloc.h"
#include "metric/best_span.h"
#include "metric/settings.h"
#include "metric/squad.h"
#include "model/label_scores.h"

#include <stdlib.h>
#include <string.h>

enum { SPAN_ENDS = 2 }; /* scores of an answer's first and last position stand in turns */

struct evaluation_metrics {
    arena *a;
    const dataset *data;
    metric_settings *settings;
    evaluation_details details;
    metric_options *options; /* [n] listed, then those of the details */
    size_t n, n_listed;
    label_scores *scores;
    metric_list *list;
    metric_answer *answers; /* of a batch; NULL: nobody asks */
    size_t answers_cap;
};

/* What asks for metrics, for messages. */
static const char *asked_by(const evaluation_metrics *m)
{
    return m->n_listed ? metric_settings_key(m->settings) : "details of the evaluation";
}

/* --- life --- */

static status open_list(evaluation_metrics *m, metric_list **ret, error *err)
{
    return metrics_open(m->options, m->n, label_scores_source(m->scores), ret, err);
}

/* What is listed fitted when the job trained, so of a job's own figures it is the details that do not. */
static status open_all(evaluation_metrics *m, const metric_options *listed, error *err)
{
    m->options = arena_alloc(m->a, (m->n_listed + DETAILS) * sizeof *m->options);
    if (m->n_listed)
        memcpy(m->options, listed, m->n_listed * sizeof *listed);
    m->n = m->n_listed + details_options(&m->details, label_scores_source(m->scores), m->options + m->n_listed);
    status st = open_list(m, &m->list, err);
    if (st != OK && m->n == m->n_listed)
        error_prepend(err, "%s", asked_by(m));
    return st;
}

status evaluation_metrics_open(const config *c, const dataset *d, const model_request *request, const graph *g,
                               const evaluation_details *details, evaluation_metrics **ret, error *err)
{
    *ret = NULL;
    evaluation_metrics *m = xcalloc(1, sizeof *m);
    m->a = arena_create();
    m->data = d;
    m->details = *details;
    m->settings = metric_settings_create(c);
    const metric_options *listed = metric_settings_options(m->settings, &m->n_listed);
    if (m->n_listed == 0 && !details_any(details)) {
        evaluation_metrics_close(&m);
        return OK;
    }
    status st = label_scores_open(d, request, g, asked_by(m), &m->scores, err);
    if (st == OK)
        st = open_all(m, listed, err);
    if (st == OK)
        *ret = m;
    else
        evaluation_metrics_close(&m);
    return st;
}

void evaluation_metrics_close(evaluation_metrics **m)
{
    if (!m || !*m)
        return;
    metrics_close(&(*m)->list);
    free((*m)->answers);
    label_scores_close(&(*m)->scores);
    metric_settings_destroy(&(*m)->settings);
    arena_destroy(&(*m)->a);
    free(*m);
    *m = NULL;
}

status evaluation_metrics_keep(const evaluation_metrics *m, graph *g, error *err)
{
    return label_scores_keep(m->scores, g, err);
}

status evaluation_metrics_merge(evaluation_metrics *m, const char *bytes, size_t n, error *err)
{
    metric_list *other = NULL;
    status st = open_list(m, &other, err);
    if (st == OK)
        st = metrics_load(other, bytes, n, err);
    if (st == OK)
        st = metrics_merge(m->list, other, err);
    metrics_close(&other);
    return st;
}

metric_list *evaluation_metrics_list(const evaluation_metrics *m)
{
    return m->list;
}

json_t *evaluation_metrics_details(const evaluation_metrics *m, metric_figures *figures)
{
    const metric_source *of = label_scores_source(m->scores);
    return details_any(&m->details) ? details_take(&m->details, of, m->data, figures) : NULL;
}

/* --- batches --- */

/* What stands at the scores' best positions of an example, and what it is worth. */
static status judge(const evaluation_metrics *m, int64_t example, const float *scores, metric_answer *ret, error *err)
{
    dataset_answer a;
    squad_score worth;
    best_span best = best_span_of(scores, scores + 1, label_scores_source(m->scores)->classes, SPAN_ENDS);
    TRY(dataset_answer_read(m->data, example, best.first, best.last, &a, err));
    status st = squad_score_of(a.text, a.gold, a.n_gold, &worth, err);
    *ret = (metric_answer){.question = a.question, .window = a.window, .score = best.score, .has_gold = a.n_gold > 0};
    ret->exact = st == OK && worth.exact;
    ret->f1 = st == OK ? worth.f1 : 0.0;
    dataset_answer_fini(&a);
    return st;
}

static status judge_all(evaluation_metrics *m, const float *scores, const data_batch *batch, error *err)
{
    const metric_source *s = label_scores_source(m->scores);
    int64_t each = s->classes * s->labels;
    GROW(m->answers, m->answers_cap, (size_t)batch->slot.n);
    for (int64_t i = 0; i < batch->slot.n; i++)
        TRY(judge(m, batch->slot.first + i, scores + i * each, &m->answers[i], err));
    return OK;
}

status evaluation_metrics_add(evaluation_metrics *m, exec *e, size_t variant, const data_batch *batch, error *err)
{
    label_scores_value outputs[LABEL_SCORES_OUTPUTS];
    metric_batch b;
    for (size_t i = 0; i < LABEL_SCORES_OUTPUTS && label_scores_output(m->scores, i); i++)
        outputs[i].data = exec_value(e, variant, label_scores_output(m->scores, i), &outputs[i].value);
    label_scores_take(m->scores, batch, outputs, &b);
    if (metrics_want_answers(m->list))
        TRY(judge_all(m, b.scores, batch, err));
    b.answers = m->answers;
    return metrics_add(m->list, &b, err);
}
