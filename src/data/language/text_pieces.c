/* See text_pieces.h. */
#include "data/language/text_pieces.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"
#include "common/base/utf8.h"
#include "data/index/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* pieces whose tokens are held */

typedef struct text_piece {
    const record_source *text;
    size_t at, bytes;
    token_array tokens;
} text_piece;

typedef struct pieces_of_texts {
    const tokenizer *tokenizer;
    int32_t end;
    text_piece *at;
    size_t n, cap;
} pieces_of_texts;

/* --- cutting --- */

static bool is_letter(unsigned char c)
{
    c |= 0x20;
    return c >= 'a' && c <= 'z';
}

size_t text_piece_end(const unsigned char *text, size_t bytes, size_t from)
{
    if (bytes - from <= TEXT_PIECE_BYTES)
        return bytes;
    size_t at = from + TEXT_PIECE_BYTES;
    size_t last = bytes - at <= TEXT_PIECE_BYTES ? bytes - 1 : at + TEXT_PIECE_BYTES;
    for (; at < last; at++)
        if (text[at] == ' ' && is_letter(text[at - 1]) && is_letter(text[at + 1]))
            return at;
    while (at < bytes && (text[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static void cut_text(pieces_of_texts *p, const record_source *text)
{
    for (size_t at = 0, end; at < text->bytes; at = end) {
        end = text_piece_end(text->data, text->bytes, at);
        GROW(p->at, p->cap, p->n + 1);
        p->at[p->n++] = (text_piece){.text = text, .at = at, .bytes = end - at};
    }
}

/* --- tokens --- */

/* The tokenizer's failure, or what is wrong with the text at that place of the whole. */
static status name_failure(const text_piece *p, error *err)
{
    uint32_t code;
    const unsigned char *text = p->text->data;
    for (size_t at = p->at, n; at < p->at + p->bytes; at += n) {
        n = utf8_decode(text + at, p->text->bytes - at, &code);
        if (n == 0) {
            error_clear(err);
            return FAIL(err, E_DATA, "'%s': byte %zu (%02x) begins no UTF-8 character; convert the text",
                        p->text->name, at, text[at]);
        }
    }
    error_prepend(err, "'%s'", p->text->name);
    return E_DATA;
}

static status tokenize_piece(void *user, size_t i, error *err)
{
    const pieces_of_texts *all = user;
    text_piece *p = &all->at[i];
    tokenizer_input input = {.text = (const char *)p->text->data + p->at, .bytes = p->bytes};
    bool ends = all->end != TOKENIZER_NO_TOKEN && p->at + p->bytes == p->text->bytes;
    tokenizer_options how = {.no_special_tokens = true,
                             .truncation = &(tokenizer_truncation){.max_length = 0},
                             .padding = &(tokenizer_padding){.is_on = false}};
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings e;
    error why = ERROR_INIT;
    status st = tokenizer_encode(all->tokenizer, &input, NULL, &how, s, &e, &why);
    if (st == E_DATA)
        st = name_failure(p, &why);
    if (st == OK)
        st = token_array_make(e.at[0].n + ends, token_width(tokenizer_size(all->tokenizer)), p->text->name,
                              &p->tokens, &why);
    if (st == OK) {
        token_array_write(&p->tokens, 0, e.at[0].ids, e.at[0].n);
        if (ends)
            token_array_write(&p->tokens, e.at[0].n, &all->end, 1);
    } else if (err) {
        *err = why;
    }
    read_progress_add(p->bytes);
    tokenizer_scratch_destroy(&s);
    return st;
}

status text_pieces_tokens(const tokenizer *t, int32_t end, const record_source *texts, size_t n, token_take *take,
                          void *user, error *err)
{
    pieces_of_texts all = {.tokenizer = t, .end = end};
    status st = OK;
    for (size_t i = 0; i < n; i++)
        cut_text(&all, &texts[i]);
    for (size_t i = 0; i < all.n && st == OK; i += AT_ONCE) {
        pieces_of_texts some = {
            .tokenizer = t, .end = end, .at = all.at + i, .n = all.n - i < AT_ONCE ? all.n - i : AT_ONCE};
        st = parallel_for(some.n, 0, tokenize_piece, &some, err);
        for (size_t k = 0; k < some.n && st == OK; k++)
            st = take(user, &some.at[k].tokens, err);
        for (size_t k = 0; k < some.n; k++)
            token_array_fini(&some.at[k].tokens);
    }
    free(all.at);
    return st;
}
