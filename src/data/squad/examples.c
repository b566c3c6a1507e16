/* See examples.h. */
#include "data/squad/examples.h"

#include "common/base/alloc.h"
#include "data/index/parallel.h"
#include "text/chars.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND = 32 }; /* passages that one round reads */

/* --- windows --- */

static int64_t room_for_context(const squad_options *o, const squad_asked *q)
{
    return o->length_limit - (int64_t)q->n - (int64_t)squad_frame_specials(o->frame);
}

int64_t squad_window_tokens(const squad_examples *e, const squad_options *o, const squad_window *w)
{
    const squad_asked *q = &e->questions[w->question];
    int64_t rest = (int64_t)e->contexts[q->context].n - w->first, room = room_for_context(o, q);
    return rest < room ? rest : room;
}

int64_t squad_window_context(const squad_examples *e, const squad_options *o, const squad_window *w)
{
    return (int64_t)(o->frame->start.n + e->questions[w->question].n + o->frame->middle.n);
}

bool squad_window_answer(const squad_examples *e, const squad_options *o, const squad_window *w, int64_t ret[2])
{
    const squad_asked *q = &e->questions[w->question];
    int64_t n = squad_window_tokens(e, o, w);
    bool is_inside = true;
    for (int i = 0; i < 2; i++) {
        ret[i] = (int64_t)q->answer[i] - w->first;
        is_inside = is_inside && ret[i] >= 0 && ret[i] < n;
    }
    return is_inside;
}

static status add_windows(squad_examples *e, const squad_options *o, error *err)
{
    uint32_t question = (uint32_t)(e->n_questions - 1);
    const squad_asked *q = &e->questions[question];
    int64_t room = room_for_context(o, q), n = e->contexts[q->context].n;
    size_t before = e->n_windows;
    if (room < 1 || (n > room && room <= o->stride))
        return FAIL(err, E_CONFIG,
                    "length_limit %lld leaves %lld tokens for a context beside a question of %zu, which must be more "
                    "than the stride, %lld",
                    (long long)o->length_limit, (long long)room, q->n, (long long)o->stride);
    for (int64_t first = 0; first < n; first -= o->stride) {
        squad_window w = {.question = question, .first = (uint32_t)first};
        int64_t answer[2];
        if (!o->skip_impossible || squad_window_answer(e, o, &w, answer)) {
            GROW(e->windows, e->windows_cap, e->n_windows + 1);
            e->windows[e->n_windows++] = w;
        }
        first += room;
        if (first >= n)
            break;
    }
    e->n_parted += e->n_windows > before + 1;
    return OK;
}

/* --- answers --- */

static const char *forward(const char *text, int64_t characters)
{
    size_t bytes;
    for (; characters > 0 && *text; characters--, text += bytes)
        chars_next(text, &bytes);
    return characters == 0 ? text : NULL;
}

typedef struct claim {
    const char *text;
    int64_t start;
    const char *there;              /* what stands where it says; NULL: nothing */
} claim;

static status read_claim(const squad_passage *p, const squad_question *q, size_t i, claim *ret, error *err)
{
    *ret = (claim){.text = NULL};
    TRY(squad_passage_answer(p, q, i, &ret->text, &ret->start, err));
    ret->there = ret->start < 0 ? NULL : forward(p->context, ret->start);
    return OK;
}

static bool stands_there(const claim *c)
{
    return c->there && strncmp(c->there, c->text, strlen(c->text)) == 0;
}

/* The tokens of the first answer, which alone is trained on; false: there are none. */
static bool find_answer(const squad_examples *e, const claim *c, squad_asked *to)
{
    const squad_context *context = &e->contexts[to->context];
    return squad_tokens_find(e->tokens.at + context->first, context->n, c->start,
                             c->start + (int64_t)chars_count(c->text, strlen(c->text)), to->answer);
}

static status fail_misplaced(const claim *c, error *err)
{
    enum { SHOWN = 32 };            /* characters of what is there instead */
    const char *there = c->there ? c->there : "", *end = forward(there, SHOWN);
    if (c->start < 0)
        return FAIL(err, E_DATA, "the answer '%s' has no 'answer_start', which counts the characters before it",
                    c->text);
    return FAIL(err, E_DATA,
                "the answer '%s' does not stand at answer_start %lld: '%.*s' does; dataset_reader.misplaced_answers: "
                "\"skip\" leaves such questions out",
                c->text, (long long)c->start, (int)(end ? (size_t)(end - there) : strlen(there)), there);
}

/* All answers are to stand where they say. *ret_left_out: one does not, and such questions are skipped. */
static status take_answers(squad_examples *e, const squad_options *o, const squad_passage *p,
                           const squad_question *q, squad_asked *to, bool *ret_left_out, error *err)
{
    claim c = {.text = NULL};
    bool are_there = true;
    for (size_t i = 0; i < squad_question_answers(q) && are_there; i++) {
        TRY(read_claim(p, q, i, &c, err));
        are_there = stands_there(&c) && (i > 0 || find_answer(e, &c, to));
    }
    *ret_left_out = !are_there && o->skip_misplaced;
    e->n_misplaced += *ret_left_out;
    if (are_there || *ret_left_out)
        return OK;
    status st = fail_misplaced(&c, err);
    squad_passage_blame(p, q, err);
    return st;
}

/* --- passages --- */

typedef struct making {
    const squad_passages *passages;
    const squad_options *o;
    squad_examples *parts;          /* of each round, in their order */
} making;

static status add_question(squad_examples *e, const making *m, tokenizer_scratch *s, const squad_passage *p,
                           size_t place, error *err)
{
    squad_question q;
    squad_asked a = {.first = e->ids.n, .context = (uint32_t)(e->n_contexts - 1), .place = (uint32_t)place,
                     .answer = {-1, -1}};
    bool is_left_out = false;
    TRY(squad_passage_question(p, place, &q, err));
    if (!m->o->without_answers)
        TRY(take_answers(e, m->o, p, &q, &a, &is_left_out, err));
    if (is_left_out)
        return OK;
    status st = squad_ids_of_question(m->o->tokenizer, s, q.text, (size_t)m->o->max_query_length, &e->ids, err);
    a.n = e->ids.n - a.first;
    GROW(e->questions, e->questions_cap, e->n_questions + 1);
    e->questions[e->n_questions++] = a;
    if (st == OK)
        st = add_windows(e, m->o, err);
    if (st != OK)
        squad_passage_blame(p, &q, err);
    return st;
}

static status add_passage(squad_examples *e, const making *m, tokenizer_scratch *s, const squad_passage *p,
                          error *err)
{
    squad_context c = {.first = e->tokens.n};
    const squad_question whole = {.id = NULL};
    status st = squad_tokens_of_context(m->o->tokenizer, s, p->context, &e->tokens, err);
    c.n = (uint32_t)(e->tokens.n - c.first);
    if (st == OK && c.n == 0)
        st = FAIL(err, E_DATA, "'context' has no token");
    if (st != OK)
        squad_passage_blame(p, &whole, err);
    TRY(st);
    GROW(e->contexts, e->contexts_cap, e->n_contexts + 1);
    e->contexts[e->n_contexts++] = c;
    for (size_t i = 0; i < p->n_questions; i++)
        TRY(add_question(e, m, s, p, i, err));
    return OK;
}

static status make_round(void *user, size_t round, error *err)
{
    const making *m = user;
    tokenizer_scratch *s = tokenizer_scratch_create();
    status st = OK;
    for (size_t i = round * ROUND; i < (round + 1) * ROUND && i < m->passages->n && st == OK; i++) {
        squad_passage p;
        st = squad_passage_read(m->passages, i, &p, err);
        if (st == OK) {
            st = add_passage(&m->parts[round], m, s, &p, err);
            squad_passage_fini(&p);
        }
    }
    tokenizer_scratch_destroy(&s);
    return st;
}

/* --- all together --- */

#define APPEND(to, n_to, cap, from, n_from)                                                                          \
    do {                                                                                                             \
        GROW(to, cap, (n_to) + (n_from));                                                                            \
        if (n_from)                                                                                                  \
            memcpy((to) + (n_to), from, (n_from) * sizeof *(to));                                                    \
        (n_to) += (n_from);                                                                                          \
    } while (0)

static void append(squad_examples *to, squad_examples *part)
{
    for (size_t i = 0; i < part->n_contexts; i++)
        part->contexts[i].first += to->tokens.n;
    for (size_t i = 0; i < part->n_questions; i++) {
        part->questions[i].first += to->ids.n;
        part->questions[i].context += (uint32_t)to->n_contexts;
    }
    for (size_t i = 0; i < part->n_windows; i++)
        part->windows[i].question += (uint32_t)to->n_questions;
    APPEND(to->tokens.at, to->tokens.n, to->tokens.cap, part->tokens.at, part->tokens.n);
    APPEND(to->ids.at, to->ids.n, to->ids.cap, part->ids.at, part->ids.n);
    APPEND(to->contexts, to->n_contexts, to->contexts_cap, part->contexts, part->n_contexts);
    APPEND(to->questions, to->n_questions, to->questions_cap, part->questions, part->n_questions);
    APPEND(to->windows, to->n_windows, to->windows_cap, part->windows, part->n_windows);
    to->n_misplaced += part->n_misplaced;
    to->n_parted += part->n_parted;
}

status squad_examples_make(const squad_passages *passages, const squad_options *options, squad_examples *ret,
                           error *err)
{
    size_t rounds = (passages->n + ROUND - 1) / ROUND;
    making m = {.passages = passages, .o = options, .parts = xcalloc(rounds + 1, sizeof *m.parts)};
    *ret = (squad_examples){.n_windows = 0};
    status st = parallel_for(rounds, 0, make_round, &m, err);
    for (size_t i = 0; i < rounds; i++) {
        if (st == OK)
            append(ret, &m.parts[i]);
        squad_examples_fini(&m.parts[i]);
    }
    free(m.parts);
    if (st != OK)
        squad_examples_fini(ret);
    return st;
}

void squad_examples_fini(squad_examples *e)
{
    free(e->tokens.at);
    free(e->ids.at);
    free(e->contexts);
    free(e->questions);
    free(e->windows);
    *e = (squad_examples){.n_windows = 0};
}
