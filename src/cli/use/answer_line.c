#include "cli/use/answer_line.h"

#include "cli/use/prediction_line.h"
#include "common/base/json.h"
#include "metric/best_span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST, LAST, ENDS };

static const evaluation_array *scores_of(const evaluation_predictions *a)
{
    for (size_t i = 0; i < a->n_outputs; i++)
        if (strcmp(a->outputs[i].name, a->says.name) == 0)
            return &a->outputs[i];
    return NULL;
}

bool answer_lines_fit(const evaluation_predictions *a)
{
    const evaluation_array *o = scores_of(a);
    return a->says.kind == PREDICTION_SPAN && dataset_asks(a->data) && o && o->shape.rank == 3 && o->dtype == DT_F32;
}

static void add_text(buf *to, const char *key, const char *text)
{
    json_t *value = json_string(text);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    buf_addf(to, ", \"%s\": %s", key, quoted ? quoted : "null");
    free(quoted);
    json_decref(value);
}

static void add_tokens(buf *to, const dataset_answer *answer)
{
    json_t *list = json_array();
    for (size_t i = 0; i < answer->n_context_tokens; i++)
        json_array_append_new(list, json_string(answer->context_tokens[i]));
    char *text = json_dumps(list, 0);
    buf_addf(to, ", \"context_tokens\": %s", text);
    free(text);
    json_decref(list);
}

/* As far as the example has tokens. */
static void add_scores(buf *to, const char *key, const float *scores, int64_t n)
{
    buf_addf(to, ", \"%s\": [", key);
    for (int64_t i = 0; i < n; i++) {
        buf_adds(to, i ? ", " : "");
        prediction_line_number(to, (double)scores[i * ENDS]);
    }
    buf_adds(to, "]");
}

static void add_line(buf *to, const evaluation_predictions *a, int64_t i, const dataset_answer *answer,
                     const float *scores, best_span best)
{
    char number[32];
    int64_t tokens = dataset_lengths(a->data)[a->first + i];
    snprintf(number, sizeof number, "%" PRId64, answer->question + 1);
    buf_addf(to, "{\"example\": %" PRId64, answer->question);
    add_text(to, "id", answer->id ? answer->id : number);
    add_text(to, "best_span_str", answer->text);
    buf_addf(to, ", \"best_span\": [%" PRId64 ", %" PRId64 "], \"best_span_scores\": ", answer->first, answer->last);
    prediction_line_number(to, (double)best.score);
    add_tokens(to, answer);
    add_scores(to, "span_start_logits", scores + FIRST, tokens);
    add_scores(to, "span_end_logits", scores + LAST, tokens);
}

status answer_lines_take(answer_lines *l, const evaluation_predictions *a, int64_t i, bool with_inputs, buf *to,
                         error *err)
{
    const evaluation_array *o = scores_of(a);
    int64_t positions = o->shape.dim[1];
    const float *scores = (const float *)o->data + i * positions * ENDS;
    best_span best = best_span_of(scores + FIRST, scores + LAST, positions, ENDS);
    dataset_answer answer;
    TRY(dataset_answer_read(a->data, a->first + i, best.first, best.last, &answer, err));
    if (l->best.size && answer.question != l->question)
        answer_lines_end(l, to);
    if (!l->best.size || best.score > l->score) {
        l->question = answer.question;
        l->score = best.score;
        buf_clear(&l->best);
        add_line(&l->best, a, i, &answer, scores, best);
        if (with_inputs)
            prediction_line_inputs(a, i, &l->best);
        buf_adds(&l->best, "}\n");
    }
    dataset_answer_fini(&answer);
    return OK;
}

void answer_lines_end(answer_lines *l, buf *to)
{
    if (l->best.size)
        buf_add(to, l->best.data, l->best.size);
    buf_clear(&l->best);
}

void answer_lines_fini(answer_lines *l)
{
    buf_fini(&l->best);
}
