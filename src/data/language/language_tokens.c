/* See language_tokens.h. */
#include "data/language/language_tokens.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "data/language/char_tokens.h"
#include "data/language/text_pieces.h"
#include "data/reader_tokenizer.h"

#include <stdlib.h>
#include <string.h>

struct language_tokens {
    char_tokens *characters;        /* or bytes; NULL: there is a tokenizer */
    tokenizer *tokenizer;
    int32_t end;
    char *vocabulary;               /* of the tokenizer */
};

/* --- opening --- */

static bool is_characters(const char *kind)
{
    return !kind || strcmp(kind, "characters") == 0;
}

bool language_tokens_learns(const char *kind)
{
    return is_characters(kind);
}

bool language_tokens_has_files(const char *kind)
{
    return !is_characters(kind) && strcmp(kind, "bytes") != 0;
}

static status open_characters(const language_options *o, const record_source *texts, size_t n, language_tokens *t,
                              error *err)
{
    token_kind kind = is_characters(o->tokenizer) ? TOKEN_CHARACTERS : TOKEN_BYTES;
    if (o->end_of_text)
        return FAIL(err, E_CONFIG, "end_of_text: tokenizer \"%s\" has no token '%s'; it takes one of a tokenizer.json",
                    o->tokenizer ? o->tokenizer : "characters", o->end_of_text);
    return o->vocabulary ? char_tokens_load(kind, o->vocabulary, o->origin, &t->characters, err)
                         : char_tokens_learn(kind, texts, n, &t->characters, err);
}

static status open_by_vocabulary(const language_options *o, const json_t *known, language_tokens *t, error *err)
{
    const reader_tokenizer which = {
        .option = o->option, .path = o->tokenizer, .vocabulary = known, .origin = o->origin};
    TRY(reader_tokenizer_open(&which, &t->tokenizer, err));
    json_t *own = json_object();
    reader_tokenizer_tell(t->tokenizer, own);
    t->vocabulary = json_text(own);
    json_decref(own);
    return OK;
}

static status open_tokenizer(const language_options *o, language_tokens *t, error *err)
{
    json_t *known = NULL;
    if (o->vocabulary)
        TRY(json_parse(o->vocabulary, strlen(o->vocabulary), o->origin, E_DATA, &known, err));
    status st = open_by_vocabulary(o, known, t, err);
    json_decref(known);
    TRY(st);
    if (!o->end_of_text)
        return OK;
    t->end = tokenizer_id(t->tokenizer, o->end_of_text);
    return t->end != TOKENIZER_NO_TOKEN
               ? OK
               : FAIL(err, E_DATA, "'%s': has no token '%s', which end_of_text names", o->tokenizer, o->end_of_text);
}

status language_tokens_open(const language_options *o, const record_source *texts, size_t n, language_tokens **ret,
                            error *err)
{
    language_tokens *t = xcalloc(1, sizeof *t);
    t->end = TOKENIZER_NO_TOKEN;
    status st = language_tokens_has_files(o->tokenizer) ? open_tokenizer(o, t, err)
                                                        : open_characters(o, texts, n, t, err);
    if (st == OK)
        *ret = t;
    else
        language_tokens_close(&t);
    return st;
}

void language_tokens_close(language_tokens **t)
{
    if (!*t)
        return;
    char_tokens_destroy(&(*t)->characters);
    tokenizer_destroy(&(*t)->tokenizer);
    free((*t)->vocabulary);
    free(*t);
    *t = NULL;
}

/* --- the vocabulary --- */

int64_t language_tokens_size(const language_tokens *t)
{
    return t->characters ? char_tokens_size(t->characters) : tokenizer_size(t->tokenizer);
}

const char *language_tokens_vocabulary(const language_tokens *t)
{
    return t->characters ? char_tokens_vocabulary(t->characters) : t->vocabulary;
}

bool language_tokens_is_end(const language_tokens *t, int64_t token)
{
    return t->end != TOKENIZER_NO_TOKEN && token == t->end;
}

bool language_tokens_text(const language_tokens *t, int64_t token, buf *ret)
{
    char one[UTF8_MAX];
    size_t bytes;
    if (token < 0 || token >= language_tokens_size(t))
        return false;
    if (t->characters && char_tokens_vocabulary(t->characters)) {
        buf_add(ret, one, char_tokens_decode(t->characters, token, one));
        return true;
    }
    const char *text = t->tokenizer ? tokenizer_text(t->tokenizer, token, &bytes) : NULL;
    if (text)
        buf_add(ret, text, bytes);
    return text != NULL;
}

/* --- text to tokens --- */

void language_tokens_describe(const language_tokens *t, buf *ret)
{
    const char *vocabulary = language_tokens_vocabulary(t); /* of a tokenizer its fingerprint */
    buf_addf(ret, "%s %d", vocabulary ? vocabulary : "bytes", (int)t->end);
}

/* A text at a time. */
static status encode_characters(const char_tokens *t, const record_source *texts, size_t n, token_take *take,
                                void *user, error *err)
{
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++) {
        token_array some;
        TRY(token_array_make(texts[i].bytes, sizeof(uint16_t), texts[i].name, &some, err));
        st = char_tokens_encode(t, &texts[i], some.at, &some.n, err);
        if (st == OK)
            st = take(user, &some, err);
        token_array_fini(&some);
    }
    return st;
}

static status encode(const language_tokens *t, int32_t end, const record_source *texts, size_t n, token_take *take,
                     void *user, error *err)
{
    return t->characters ? encode_characters(t->characters, texts, n, take, user, err)
                         : text_pieces_tokens(t->tokenizer, end, texts, n, take, user, err);
}

status language_tokens_encode(const language_tokens *t, const record_source *texts, size_t n, token_take *take,
                              void *user, error *err)
{
    return encode(t, t->end, texts, n, take, user, err);
}

typedef struct collected {
    const char *name;
    token_array tokens;
} collected;

static status collect(void *user, const token_array *some, error *err)
{
    collected *c = user;
    return token_array_add(&c->tokens, some, c->name, err);
}

status language_tokens_begin(const language_tokens *t, const record_source *text, token_array *ret, error *err)
{
    collected c = {.name = text->name};
    status st = encode(t, TOKENIZER_NO_TOKEN, text, 1, collect, &c, err);
    if (st == OK)
        *ret = c.tokens;
    else
        token_array_fini(&c.tokens);
    return st;
}

/* --- tokens to text --- */

/* What a token looks like depends on those before it (a blank in front, a byte of a character begun), but not on
 * those far before: `window` holds the last that were given, and then those that wait. */
struct token_stream {
    const language_tokens *tokens;
    int32_t *window;
    size_t n, cap, given;
    buf before, now;                /* the text of window[given], and of all of it */
};

enum { BEFORE = 16, WAITING = 16 }; /* a character has 4 bytes: one of more tokens is none */

token_stream *token_stream_create(const language_tokens *t, const token_array *before)
{
    token_stream *s = xcalloc(1, sizeof *s);
    s->tokens = t;
    size_t first = before->n > BEFORE ? before->n - BEFORE : 0;
    for (size_t i = first; i < before->n; i++) {
        int64_t token;
        token_array_read(before, i, 1, &token);
        GROW(s->window, s->cap, s->n + 1);
        s->window[s->n++] = (int32_t)token;
    }
    s->given = s->n;
    return s;
}

void token_stream_destroy(token_stream **s)
{
    if (!*s)
        return;
    free((*s)->window);
    buf_fini(&(*s)->before);
    buf_fini(&(*s)->now);
    free(*s);
    *s = NULL;
}

static bool ends_within_a_character(const buf *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t n = sizeof replacement - 1;
    return text->size >= n && memcmp(text->data + text->size - n, replacement, n) == 0;
}

static status decode(const token_stream *s, size_t n, buf *ret, error *err)
{
    buf_clear(ret);
    return tokenizer_decode(s->tokens->tokenizer, s->window, n, false, ret, err);
}

/* What the waiting tokens add to the text; they are given then, and are what the next ones stand behind. */
static status give_waiting(token_stream *s, buf *ret, error *err)
{
    TRY(decode(s, s->given, &s->before, err));
    if (s->now.size > s->before.size)
        buf_add(ret, s->now.data + s->before.size, s->now.size - s->before.size);
    size_t drop = s->n > BEFORE ? s->n - BEFORE : 0;
    memmove(s->window, s->window + drop, (s->n - drop) * sizeof *s->window);
    s->n -= drop;
    s->given = s->n;
    return OK;
}

status token_stream_add(token_stream *s, int64_t token, buf *ret, error *err)
{
    char one[UTF8_MAX];
    if (s->tokens->characters) {
        buf_add(ret, one, char_tokens_decode(s->tokens->characters, token, one));
        return OK;
    }
    GROW(s->window, s->cap, s->n + 1);
    s->window[s->n++] = (int32_t)token;
    TRY(decode(s, s->n, &s->now, err));
    bool waits = ends_within_a_character(&s->now) && s->n - s->given < WAITING;
    return waits ? OK : give_waiting(s, ret, err);
}

status token_stream_end(token_stream *s, buf *ret, error *err)
{
    if (s->n == s->given)
        return OK;
    TRY(decode(s, s->n, &s->now, err));
    return give_waiting(s, ret, err);
}
