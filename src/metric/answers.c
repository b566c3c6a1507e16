/*
 * Answers to questions, as AllenNLP's TransformerQA judges them: by their positions, by their texts example by
 * example, and by their texts question by question, as SQuAD's official script does.
 */
#include "metric/best_span.h"
#include "metric/kind.h"

#include <math.h>

enum { RIGHT, COUNTED, COUNTS };

static void put_share(metric *m, metric_figures *to)
{
    metric_put(m, to, "", metric_ratio((double)m->state.counts[RIGHT], (double)m->state.counts[COUNTED]));
}

/* --- positions, each by itself --- */

enum { FIRST, LAST, ENDS };

static status add_position(metric *m, const metric_batch *b, int which)
{
    for (int64_t i = which; i < b->examples * ENDS; i += ENDS)
        if (metric_counts(m->source, b, i)) {
            m->state.counts[COUNTED]++;
            m->state.counts[RIGHT] += metric_predicted(m->source, b, i) == b->labels[i];
        }
    return OK;
}

static status add_start(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    return add_position(m, b, FIRST);
}

static status add_end(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    return add_position(m, b, LAST);
}

const metric_kind metric_start_acc = {.name = "start_acc",
                                      .inputs = METRIC_CLASSES,
                                      .is_of_spans = true,
                                      .endings = " ",
                                      .n_counts = COUNTS,
                                      .add = add_start,
                                      .figures = put_share};

const metric_kind metric_end_acc = {.name = "end_acc",
                                    .inputs = METRIC_CLASSES,
                                    .is_of_spans = true,
                                    .endings = " ",
                                    .n_counts = COUNTS,
                                    .add = add_end,
                                    .figures = put_share};

/* --- both --- */

static status add_span(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    int64_t positions = m->source->classes;
    for (int64_t e = 0; e < b->examples; e++) {
        const float *scores = b->scores + e * positions * ENDS;
        const int64_t *label = b->labels + e * ENDS;
        if (!metric_counts(m->source, b, e * ENDS))
            continue;
        best_span best = best_span_of(scores, scores + 1, positions, ENDS);
        m->state.counts[COUNTED]++;
        m->state.counts[RIGHT] += best.first == label[FIRST] && best.last == label[LAST];
    }
    return OK;
}

const metric_kind metric_span_acc = {.name = "span_acc",
                                     .inputs = METRIC_CLASSES,
                                     .is_of_spans = true,
                                     .endings = " ",
                                     .n_counts = COUNTS,
                                     .add = add_span,
                                     .figures = put_share};

/* --- texts --- */

static void put_texts(metric *m, metric_figures *to)
{
    double n = (double)m->state.counts[COUNTED];
    metric_put(m, to, "_em", metric_ratio((double)m->state.counts[RIGHT], n));
    metric_put(m, to, "_f1", metric_ratio(exact_sum_value(&m->state.sums[0]), n));
}

static void count_text(metric *m, bool exact, double f1)
{
    m->state.counts[COUNTED]++;
    m->state.counts[RIGHT] += exact;
    exact_sum_add(&m->state.sums[0], f1);
}

/* Of per_instance_em and per_instance_f1: questions without an answer are left out, as there. */
static status add_instances(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t e = 0; e < b->examples; e++)
        if (b->answers[e].has_gold)
            count_text(m, b->answers[e].exact, b->answers[e].f1);
    return OK;
}

const metric_kind metric_per_instance = {.name = "per_instance",
                                         .inputs = METRIC_CLASSES,
                                         .is_of_spans = true,
                                         .is_of_answers = true,
                                         .endings = " _em _f1",
                                         .n_counts = COUNTS,
                                         .n_sums = 1,
                                         .add = add_instances,
                                         .figures = put_texts};

enum { WORTH_EXACT, WORTH_F1 };

static status add_windows(metric *m, const metric_batch *b, error *err)
{
    for (int64_t e = 0; e < b->examples; e++) {
        const metric_answer *a = &b->answers[e];
        metric_row row = {.key = a->question, .place = a->window, .score = (double)a->score};
        row.worth[WORTH_EXACT] = a->exact;
        row.worth[WORTH_F1] = a->f1;
        TRY(metric_state_add_row(&m->state, &row, err));
    }
    return OK;
}

/* squad_em and squad_f1: of a question's windows the first with the highest score counts. */
static void put_questions(metric *m, metric_figures *to)
{
    metric_state *s = &m->state;
    exact_sum f1 = {0};
    int64_t exact = 0, questions = 0;
    metric_state_sort_rows(s);
    for (size_t i = 0, best; i < s->n_rows; questions++) {
        int64_t key = s->rows[i].key;
        for (best = i; i < s->n_rows && s->rows[i].key == key; i++)
            best = s->rows[i].score > s->rows[best].score ? i : best;
        exact += s->rows[best].worth[WORTH_EXACT] > 0.0;
        exact_sum_add(&f1, s->rows[best].worth[WORTH_F1]);
    }
    metric_put(m, to, "_em", metric_ratio((double)exact, (double)questions));
    metric_put(m, to, "_f1", metric_ratio(exact_sum_value(&f1), (double)questions));
}

const metric_kind metric_squad = {.name = "squad",
                                  .inputs = METRIC_CLASSES,
                                  .keeps_each = true,
                                  .is_of_spans = true,
                                  .is_of_answers = true,
                                  .endings = " _em _f1",
                                  .add = add_windows,
                                  .figures = put_questions};
