/* See text_tokens.h: added tokens, normalizer, pre-tokenizer, model; then from bytes to characters. */
#include "text/text_tokens.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 26 };

void text_scratch_fini(text_scratch *s)
{
    run_fini(&s->original);
    run_fini(&s->words.text);
    run_fini(&s->pre_tokenize.spare.text);
    pieces_fini(&s->found);
    pieces_fini(&s->words.pieces);
    pieces_fini(&s->pre_tokenize.spare.pieces);
    free(s->characters);
    normalize_scratch_fini(&s->normalize);
    model_scratch_fini(&s->model);
    word_cache_destroy(&s->cache);
}

/* Bytes of ASCII that a text begins with. */
static size_t plain_bytes(const char *text, size_t bytes)
{
    size_t at = 0;
    uint64_t word;
    for (; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    while (at < bytes && (unsigned char)text[at] < 0x80)
        at++;
    return at;
}

static status check(const tokenizer_input *input, bool *ret_plain, error *err)
{
    if (input->bytes > TEXT_LIMIT)
        return FAIL(err, E_DATA, "a text of %zu bytes; at most %d are read at once", input->bytes, TEXT_LIMIT);
    size_t at = plain_bytes(input->text, input->bytes), n = 1;
    *ret_plain = at == input->bytes;
    for (uint32_t code; at < input->bytes; at += n) {
        n = utf8_decode((const unsigned char *)input->text + at, input->bytes - at, &code);
        if (n == 0)
            return FAIL(err, E_DATA, "byte %zu (%02x) begins no UTF-8 character", at,
                        (unsigned)(unsigned char)input->text[at]);
    }
    return OK;
}

/* The pieces of the original, normalized where they are open, in `words`. */
static status normalize(const tokenizer *t, text_scratch *s, error *err)
{
    words *w = &s->words;
    pieces_clear(&s->found);
    pieces_clear(&w->pieces);
    run_clear(&w->text);
    if (s->original.bytes > 0)
        added_tokens_cut(t->added, false, &s->original, (piece){0, s->original.bytes, 0, PIECE_OPEN}, &s->found);
    if (!t->normalizer) {
        run same = w->text;
        w->text = s->original;
        s->original = same;
    }
    for (size_t i = 0; i < s->found.n; i++) {
        piece p = s->found.at[i], to = p;
        if (t->normalizer) {
            to.begin = w->text.bytes;
            if (p.id == PIECE_OPEN)
                TRY(normalizer_apply(t->normalizer, &s->normalize, &s->original, p, &w->text, err));
            else
                run_copy(&w->text, &s->original, p.begin, p.end);
            to.end = w->text.bytes;
        }
        if (p.id == PIECE_OPEN)
            added_tokens_cut(t->added, true, &w->text, to, &w->pieces);
        else
            pieces_add(&w->pieces, to);
    }
    return OK;
}

static void add(text_tokens *to, int32_t id, size_t word, tokenizer_span bytes, blanks b)
{
    GROW(to->at, to->cap, to->n + 1);
    to->at[to->n++] = (text_token){.id = id, .word = (int32_t)word, .bytes = bytes, .characters = bytes, .blanks = b};
}

/* A piece that is a token already: with the white space that was taken with it. */
static void add_found(const tokenizer *t, const run *r, piece p, size_t word, text_tokens *to)
{
    blanks b = {0, 0};
    if (t->post.trims)
        post_processor_blanks(r->text + p.begin, p.end - p.begin, &b.leading, &b.trailing);
    add(to, p.id, word, run_span(r, p.begin, p.end), b);
}

static status tokenize(const tokenizer *t, text_scratch *s, text_tokens *to, error *err)
{
    const run *r = &s->words.text;
    for (size_t i = 0; i < s->words.pieces.n; i++) {
        piece p = s->words.pieces.at[i];
        if (p.id != PIECE_OPEN) {
            add_found(t, r, p, i, to);
            continue;
        }
        s->model.n = 0;
        TRY(word_cache_tokenize(s->cache, t->serial, t->model, &s->model, r->text + p.begin, p.end - p.begin, err));
        for (size_t k = 0; k < s->model.n; k++) {
            model_token one = s->model.tokens[k];
            tokenizer_span from = run_span(r, p.begin + one.begin, p.begin + one.end);
            add(to, one.id, i, from, t->blanks ? t->blanks[one.id] : (blanks){0, 0});
        }
    }
    return OK;
}

static void count_characters(text_scratch *s, const tokenizer_input *input, text_tokens *to)
{
    GROW(s->characters, s->characters_cap, input->bytes + 1);
    uint32_t n = 0;
    for (size_t i = 0; i < input->bytes; i++) {
        n += ((unsigned char)input->text[i] & 0xC0) != 0x80;
        s->characters[i] = n - 1;
    }
    s->characters[input->bytes] = n;
    for (size_t i = 0; i < to->n; i++) {
        tokenizer_span b = to->at[i].bytes;
        to->at[i].characters = (tokenizer_span){s->characters[b.begin], s->characters[b.end]};
    }
}

status text_tokens_of(const tokenizer *t, text_scratch *s, const tokenizer_input *input, text_tokens *ret,
                      error *err)
{
    bool is_plain = false;
    TRY(check(input, &is_plain, err));
    ret->text = input->text;
    ret->n = 0;
    run_of(&s->original, input->text, (uint32_t)input->bytes);
    TRY(normalize(t, s, err));
    TRY(pre_tokenizer_apply(t->pre_tokenizer, &s->pre_tokenize, &s->words, err));
    TRY(tokenize(t, s, ret, err));
    if (!is_plain)
        count_characters(s, input, ret);
    return OK;
}
