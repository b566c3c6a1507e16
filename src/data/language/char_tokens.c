/* See char_tokens.h. */
#include "data/language/char_tokens.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/read_progress.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, SIZE_LIMIT = UINT16_MAX + 1, WORD = 64 };

struct char_tokens {
    token_kind kind;
    uint32_t *codes; /* [size], ascending; NULL for bytes */
    int64_t size;
    char *vocabulary;
};

static char_tokens *create(token_kind kind, int64_t size)
{
    char_tokens *t = xcalloc(1, sizeof *t);
    t->kind = kind;
    t->size = size;
    if (kind == TOKEN_CHARACTERS)
        t->codes = xcalloc((size_t)size + 1, sizeof *t->codes);
    return t;
}

void char_tokens_destroy(char_tokens **t)
{
    if (!*t)
        return;
    free((*t)->codes);
    free((*t)->vocabulary);
    free(*t);
    *t = NULL;
}

int64_t char_tokens_size(const char_tokens *t)
{
    return t->size;
}

const char *char_tokens_vocabulary(const char_tokens *t)
{
    return t->vocabulary;
}

static void write_vocabulary(char_tokens *t)
{
    json_t *tokens = json_array(), *whole = json_object();
    for (int64_t i = 0; i < t->size; i++) {
        char text[UTF8_MAX];
        json_array_append_new(tokens, json_stringn(text, char_tokens_decode(t, i, text)));
    }
    json_object_set_new(whole, "tokens", tokens);
    t->vocabulary = json_text(whole);
    json_decref(whole);
}

/* --- characters --- */

/* The next character of a text that a vocabulary can hold. */
static status char_tokens_next(const record_source *text, size_t at, uint32_t *ret_code, size_t *ret_bytes,
                               error *err)
{
    size_t n = utf8_decode(text->data + at, text->bytes - at, ret_code);
    if (n == 0)
        return FAIL(err, E_DATA,
                    "'%s': byte %zu (%02x) begins no UTF-8 character; convert the text, or use "
                    "tokenizer \"bytes\"",
                    text->name, at, text->data[at]);
    if (*ret_code == 0)
        return FAIL(err, E_DATA,
                    "'%s': byte %zu is zero, so this is no text; use tokenizer \"bytes\"", text->name,
                    at);
    *ret_bytes = n;
    return OK;
}

static status mark(const record_source *text, uint64_t *seen, error *err)
{
    size_t n = 0;
    uint64_t told = 0;
    uint32_t code = 0;
    for (size_t at = 0; at < text->bytes; at += n) {
        TRY(char_tokens_next(text, at, &code, &n, err));
        read_progress_reach(&told, at);
        seen[code / WORD] |= (uint64_t)1 << code % WORD;
    }
    return OK;
}

static uint64_t bytes_of(const record_source *texts, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += texts[i].bytes;
    return all;
}

static status learn_characters(const record_source *texts, size_t n, char_tokens **ret, error *err)
{
    uint64_t *seen = xcalloc(UTF8_CODES / WORD, sizeof *seen);
    status st = OK;
    read_progress_begin("looking for characters in", texts[0].name, bytes_of(texts, n), NULL);
    for (size_t i = 0; i < n && st == OK; i++)
        st = mark(&texts[i], seen, err);
    int64_t size = 0;
    for (uint32_t i = 0; i < UTF8_CODES / WORD; i++)
        size += __builtin_popcountll(seen[i]);
    if (st == OK && size > SIZE_LIMIT)
        st = FAIL(err, E_DATA, "'%s'%s: %lld different characters, more than %d", texts[0].name,
                  n > 1 ? " and the others" : "", (long long)size, SIZE_LIMIT);
    if (st == OK) {
        char_tokens *t = create(TOKEN_CHARACTERS, size);
        int64_t at = 0;
        for (uint32_t i = 0; i < UTF8_CODES / WORD; i++)
            for (uint64_t word = seen[i]; word; word &= word - 1)
                t->codes[at++] = i * WORD + (uint32_t)__builtin_ctzll(word);
        write_vocabulary(t);
        *ret = t;
    }
    free(seen);
    return st;
}

/* The place of a character, -1 if the vocabulary lacks it. */
static int64_t find(const char_tokens *t, uint32_t code)
{
    int64_t low = 0, high = t->size;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (t->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->size && t->codes[low] == code ? low : -1;
}

static status encode_characters(const char_tokens *t, const record_source *text, uint16_t *out, size_t *ret_n,
                                error *err)
{
    size_t n = 0, count = 0;
    uint64_t told = 0;
    uint32_t code = 0;
    for (size_t at = 0; at < text->bytes; at += n) {
        TRY(char_tokens_next(text, at, &code, &n, err));
        read_progress_reach(&told, at);
        int64_t token = find(t, code);
        if (token < 0)
            return FAIL(err, E_DATA,
                        "'%s': the character '%.*s' (U+%04X) at byte %zu is not among the %lld of "
                        "the training text",
                        text->name, (int)n, (const char *)text->data + at, (unsigned)code, at,
                        (long long)t->size);
        out[count++] = (uint16_t)token;
    }
    *ret_n = count;
    return OK;
}

static status load_character(const json_t *item, size_t i, const char *origin, char_tokens *t,
                             error *err)
{
    const char *text = json_string_value(item);
    size_t bytes = text ? strlen(text) : 0, n = 0;
    uint32_t code = 0;
    if (bytes)
        n = utf8_decode((const unsigned char *)text, bytes, &code);
    if (n == 0 || n != bytes)
        return FAIL(err, E_DATA, "'%s': tokens[%zu] is no single character", origin, i);
    if (i > 0 && code <= t->codes[i - 1])
        return FAIL(err, E_DATA, "'%s': tokens[%zu] is out of order; code points ascend", origin,
                    i);
    t->codes[i] = code;
    return OK;
}

static status load_characters(const json_t *whole, const char *origin, char_tokens **ret, error *err)
{
    const json_t *tokens = json_object_get(whole, "tokens");
    size_t n = json_array_size(tokens);
    if (n == 0 || n > SIZE_LIMIT)
        return FAIL(err, E_DATA, "'%s': is no vocabulary of a text: \"tokens\" has %zu characters",
                    origin, n);
    char_tokens *t = create(TOKEN_CHARACTERS, (int64_t)n);
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++)
        st = load_character(json_array_get(tokens, i), i, origin, t, err);
    if (st != OK) {
        char_tokens_destroy(&t);
        return st;
    }
    write_vocabulary(t);
    *ret = t;
    return OK;
}

/* --- both --- */

status char_tokens_learn(token_kind kind, const record_source *texts, size_t n, char_tokens **ret, error *err)
{
    if (kind == TOKEN_CHARACTERS)
        return learn_characters(texts, n, ret, err);
    *ret = create(kind, BYTES);
    return OK;
}

status char_tokens_load(token_kind kind, const char *vocabulary, const char *origin, char_tokens **ret,
                      error *err)
{
    if (kind == TOKEN_BYTES)
        return char_tokens_learn(kind, NULL, 0, ret, err);
    json_t *whole = NULL;
    TRY(json_parse(vocabulary, strlen(vocabulary), origin, E_DATA, &whole, err));
    status st = load_characters(whole, origin, ret, err);
    json_decref(whole);
    return st;
}

status char_tokens_encode(const char_tokens *t, const record_source *text, uint16_t *ret, size_t *ret_n, error *err)
{
    if (t->kind == TOKEN_CHARACTERS)
        return encode_characters(t, text, ret, ret_n, err);
    for (size_t i = 0; i < text->bytes; i++)
        ret[i] = text->data[i];
    *ret_n = text->bytes;
    return OK;
}

size_t char_tokens_decode(const char_tokens *t, int64_t token, char ret[UTF8_MAX])
{
    BUG_ON(token < 0 || token >= t->size);
    if (t->kind == TOKEN_CHARACTERS)
        return utf8_write(t->codes[token], ret);
    ret[0] = (char)token;
    return 1;
}
