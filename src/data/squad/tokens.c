/* See tokens.h. */
#include "data/squad/tokens.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <string.h>

static const tokenizer_truncation whole = {.max_length = 0};
static const tokenizer_padding unpadded = {.is_on = false};
static const tokenizer_options bare = {.no_special_tokens = true, .truncation = &whole, .padding = &unpadded};

/* --- contexts --- */

static const char prefix[] = "a ";
enum { PREFIX = sizeof prefix - 1 };

/* Of a token's text without the mark of its place in the word. */
static uint32_t bare_characters(const tokenizer *t, int32_t id)
{
    static const char *const marks[] = {"##", "Ġ", "▁"};
    size_t bytes = 0, skipped = 0;
    const char *text = tokenizer_text(t, id, &bytes);
    for (size_t i = 0; text && i < COUNT_OF(marks) && !skipped; i++)
        if (bytes >= strlen(marks[i]) && memcmp(text, marks[i], strlen(marks[i])) == 0)
            skipped = strlen(marks[i]);
    return text ? (uint32_t)chars_count(text + skipped, bytes - skipped) : 0;
}

typedef struct slicing {
    const tokenizer *t;
    tokenizer_scratch *s;
    buf text;                       /* of a slice */
    squad_tokens *to;
} slicing;

static void add_token(slicing *c, int32_t id, tokenizer_span span, int64_t shift)
{
    squad_tokens *to = c->to;
    squad_token one = {.id = id, .begin = SQUAD_NOWHERE};
    if (span.begin < span.end && span.begin + shift >= 0) {
        one.begin = (uint32_t)(span.begin + shift);
        one.end = one.begin + bare_characters(c->t, id);
    }
    GROW(to->at, to->cap, to->n + 1);
    to->at[to->n++] = one;
}

/* The part that begins with the context's character `first`. */
static status add_slice(slicing *c, const char *slice, size_t bytes, size_t first, error *err)
{
    bool is_first = first == 0;
    tokenizer_encodings e;
    buf_clear(&c->text);
    buf_adds(&c->text, is_first ? "" : prefix);
    buf_add(&c->text, slice, bytes);
    tokenizer_input input = {c->text.data, c->text.size};
    TRY(tokenizer_encode(c->t, &input, NULL, &bare, c->s, &e, err));
    for (size_t i = !is_first; i < e.at[0].n; i++)
        add_token(c, e.at[0].ids[i], e.at[0].characters[i], (int64_t)first - (is_first ? 0 : PREFIX));
    return OK;
}

static status add_slices(slicing *c, const char *context, error *err)
{
    const char *slice = context, *at = context;
    size_t first = 0, character = 0, bytes;
    for (; *at; at += bytes, character++) {
        if (!chars_is_blank(chars_next(at, &bytes)))
            continue;
        TRY(add_slice(c, slice, (size_t)(at - slice), first, err));
        slice = at + bytes;
        first = character + 1;
    }
    return add_slice(c, slice, (size_t)(at - slice), first, err);
}

status squad_tokens_of_context(const tokenizer *t, tokenizer_scratch *s, const char *context, squad_tokens *to,
                               error *err)
{
    slicing c = {.t = t, .s = s, .text = BUF_INIT, .to = to};
    chars_prepare();
    status st = add_slices(&c, context, err);
    buf_fini(&c.text);
    return st;
}

/* --- questions --- */

status squad_ids_of_question(const tokenizer *t, tokenizer_scratch *s, const char *question, size_t most,
                             squad_ids *to, error *err)
{
    tokenizer_encodings e;
    TRY(tokenizer_encode(t, &(tokenizer_input){question, strlen(question)}, NULL, &bare, s, &e, err));
    size_t n = e.at[0].n < most ? e.at[0].n : most;
    GROW(to->at, to->cap, to->n + n);
    for (size_t i = 0; i < n; i++)
        to->at[to->n++] = e.at[0].ids[i];
    return OK;
}

/* --- answers --- */

static bool is_there(const squad_token *t)
{
    return t->begin != SQUAD_NOWHERE;
}

/* The first token that begins at `begin` or behind; or the one before, if that reaches beyond or this begins late. */
static int64_t find_first(const squad_token *tokens, int64_t n, int64_t begin)
{
    int64_t i = 0;
    while (i < n && (!is_there(&tokens[i]) || tokens[i].begin < begin))
        i++;
    bool reaches = i > 0 && is_there(&tokens[i - 1]) && tokens[i - 1].end > begin;
    bool is_late = i < n && is_there(&tokens[i]) && tokens[i].begin > begin;
    return reaches || is_late ? i - 1 : i;
}

bool squad_tokens_find(const squad_token *tokens, size_t n, int64_t begin, int64_t end, int32_t ret[2])
{
    const int64_t cut_off = 8;      /* by so many characters less, the end may lie behind the last token */
    int64_t count = (int64_t)n, first = find_first(tokens, count, begin), last = first;
    if (first < 0 || first >= count)
        return false;
    while (last < count && (!is_there(&tokens[last]) || tokens[last].end < end))
        last++;
    const squad_token *final = &tokens[count - 1];
    if (last == count && is_there(final) && begin < final->end && end - cut_off < final->end)
        last--;
    if (last == count)
        return false;
    ret[0] = (int32_t)first;
    ret[1] = (int32_t)last;
    return true;
}

/* --- what stands around --- */

static status add_special(squad_special *to, const tokenizer_encoding *e, size_t i, const char *name, error *err)
{
    if (to->n == SQUAD_SPECIAL)
        return FAIL(err, E_DATA, "'%s': puts more than %d special tokens beside each other", name, SQUAD_SPECIAL);
    to->ids[to->n] = e->ids[i];
    to->types[to->n++] = e->type_ids[i];
    return OK;
}

/* Of an encoding of a pair: the first text, then the second. */
static status split(const tokenizer_encoding *e, const char *name, squad_frame *f, error *err)
{
    bool seen[2] = {false, false};
    for (size_t i = 0; i < e->n; i++) {
        int sequence = e->sequences[i];
        if (sequence == 0 ? seen[1] : sequence == 1 && !seen[0])
            return FAIL(err, E_DATA, "'%s': puts the second text of a pair before the first", name);
        if (sequence >= 0) {
            seen[sequence] = true;
            *(sequence ? &f->context_type : &f->question_type) = e->type_ids[i];
        } else {
            TRY(add_special(seen[1] ? &f->end : seen[0] ? &f->middle : &f->start, e, i, name, err));
        }
    }
    return OK;
}

static bool find_cls(const squad_special *among, int32_t id, size_t *ret)
{
    for (*ret = 0; *ret < among->n; *ret += 1)
        if (among->ids[*ret] == id)
            return true;
    return false;
}

status squad_frame_of(const tokenizer *t, const char *name, squad_frame *ret, error *err)
{
    const tokenizer_options o = {.truncation = &whole, .padding = &unpadded};
    const tokenizer_input a = {"a", 1};
    tokenizer_encodings e;
    tokenizer_scratch *s = tokenizer_scratch_create();
    int32_t cls = tokenizer_special(t, TOKENIZER_CLS), pad = tokenizer_special(t, TOKENIZER_PAD);
    *ret = (squad_frame){.padding = pad == TOKENIZER_NO_TOKEN ? 0 : pad};
    status st = tokenizer_encode(t, &a, &a, &o, s, &e, err);
    if (st == OK)
        st = split(&e.at[0], name, ret, err);
    tokenizer_scratch_destroy(&s);
    TRY(st);
    ret->cls_at_end = !find_cls(&ret->start, cls, &ret->cls);
    if (ret->cls_at_end && !find_cls(&ret->end, cls, &ret->cls))
        return FAIL(err, E_DATA, "'%s': puts no [CLS] before or behind a pair of texts, which stands for a question "
                                 "without an answer", name);
    return OK;
}

size_t squad_frame_specials(const squad_frame *f)
{
    return f->start.n + f->middle.n + f->end.n;
}
