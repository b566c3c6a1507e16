/* See answers.h. Positions become text as in AllenNLP's TransformerQA. */
#include "data/squad/answers.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <string.h>

/* --- what stands at tokens --- */

/* Bytes in front of the character, or all of them. */
static size_t bytes_before(const char *text, uint32_t characters)
{
    size_t at = 0, bytes;
    for (; characters > 0 && text[at]; characters--, at += bytes)
        chars_next(text + at, &bytes);
    return at;
}

/* From the token `first`, or the nearest before it that comes from some character, to `last`, or the next behind
 * it that does; without such a one, from the beginning or to the end. */
static const char *text_at(const squad_token *tokens, int64_t n, int64_t first, int64_t last, const char *context,
                           arena *a)
{
    while (first >= 0 && tokens[first].begin == SQUAD_NOWHERE)
        first--;
    while (last < n && tokens[last].begin == SQUAD_NOWHERE)
        last++;
    size_t begin = first < 0 ? 0 : bytes_before(context, tokens[first].begin);
    size_t end = last >= n ? strlen(context) : bytes_before(context, tokens[last].end);
    return arena_strndup(a, context + begin, end > begin ? end - begin : 0);
}

static void take_tokens(const squad_reader *r, const squad_token *tokens, int64_t n, dataset_answer *ret)
{
    const char **texts = arena_alloc(ret->memory, (size_t)(n + 1) * sizeof *texts);
    for (int64_t i = 0; i < n; i++) {
        size_t bytes = 0;
        const char *text = tokenizer_text(r->tokenizer, tokens[i].id, &bytes);
        texts[i] = text ? arena_strndup(ret->memory, text, bytes) : "";
    }
    ret->context_tokens = texts;
    ret->n_context_tokens = (size_t)n;
}

/* --- what the file says --- */

static status take_gold(const squad_passage *p, const squad_question *q, dataset_answer *ret, error *err)
{
    size_t n = squad_question_answers(q);
    const char **gold = arena_alloc(ret->memory, (n + 1) * sizeof *gold);
    for (size_t i = 0; i < n; i++) {
        const char *text = NULL;
        int64_t start;
        TRY(squad_passage_answer(p, q, i, &text, &start, err));
        gold[i] = arena_strdup(ret->memory, text);
    }
    ret->gold = gold;
    ret->n_gold = n;
    return OK;
}

static status take_question(const squad_passage *p, size_t place, dataset_answer *ret, error *err)
{
    squad_question q;
    TRY(squad_passage_question(p, place, &q, err));
    ret->id = q.id ? arena_strdup(ret->memory, q.id) : NULL;
    return take_gold(p, &q, ret, err);
}

status squad_answer(const dataset *d, int64_t example, int64_t first, int64_t last, dataset_answer *ret, error *err)
{
    const squad_reader *r = (const squad_reader *)d;
    const squad_examples *e = &r->kept.examples;
    const squad_window *w = &e->windows[example];
    const squad_asked *q = &e->questions[w->question];
    const squad_token *tokens = e->tokens.at + e->contexts[q->context].first + w->first;
    int64_t n = squad_window_tokens(e, &r->options, w), begin = squad_window_context(e, &r->options, w);
    squad_passage p;
    bool is_none = first < begin || first >= begin + n;
    TRY(squad_passage_read(&r->kept.passages, q->context, &p, err));
    *ret = (dataset_answer){.question = w->question, .window = w->first, .first = -1, .last = -1, .text = "",
                            .memory = arena_create()};
    status st = take_question(&p, q->place, ret, err);
    if (st == OK && !is_none) {
        ret->first = first - begin;
        ret->last = last - begin < n ? last - begin : n - 1;
        ret->text = text_at(tokens, n, ret->first, ret->last, p.context, ret->memory);
    }
    take_tokens(r, tokens, n, ret);
    squad_passage_fini(&p);
    if (st != OK)
        dataset_answer_fini(ret);
    return st;
}
