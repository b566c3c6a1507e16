/* A tokenizer.json and a text from a stranger, with a zero byte between them: both are taken or refused with a word;
 * tokens of what was taken lie within the text, at whole characters. */
#include "common/base/alloc.h"
#include "text/tokenizer.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAIR_BYTES = 256, DECODED = 64 }; /* windows of a pair may be as many as the square of its tokens */

static bool is_edge(const tokenizer_input *text, size_t at)
{
    return at == text->bytes || (at < text->bytes && ((unsigned char)text->text[at] & 0xC0) != 0x80);
}

static void check(const tokenizer *t, const tokenizer_encodings *all, const tokenizer_input *text)
{
    for (size_t k = 0; k < all->n; k++) {
        const tokenizer_encoding *e = &all->at[k];
        for (size_t i = 0; i < e->n; i++) {
            tokenizer_span b = e->bytes[i], c = e->characters[i];
            BUG_ON(e->sequences[i] < -1 || e->sequences[i] > 1);
            BUG_ON(b.begin > b.end || c.begin > c.end || c.end - c.begin > b.end - b.begin);
            BUG_ON(!is_edge(text, b.begin) || !is_edge(text, b.end));
        }
        buf decoded = BUF_INIT;
        error err = ERROR_INIT;
        if (k < DECODED)
            BUG_ON(tokenizer_decode(t, e->ids, e->n, k % 2, &decoded, &err) != OK && err.text[0] == '\0');
        buf_fini(&decoded);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t first = zero ? (size_t)(zero - data) : size;
    size_t behind = first + (zero != NULL);
    tokenizer *t = NULL;
    error err = ERROR_INIT;
    if (tokenizer_parse((const char *)data, first, "fuzz", &t, &err) != OK) {
        BUG_ON(t || err.text[0] == '\0');
        return 0;
    }
    tokenizer_input text = {(const char *)data + behind, size - behind};
    tokenizer_truncation truncation = {.max_length = 12, .stride = 3};
    tokenizer_scratch *s = tokenizer_scratch_create();
    for (int i = 0; i < 4; i++) { /* alone and in pairs, as the file says and in windows */
        if (i % 2 && text.bytes > PAIR_BYTES)
            continue;
        tokenizer_options o = {.truncation = i < 2 ? NULL : &truncation, .no_special_tokens = i == 3};
        tokenizer_encodings all;
        error_clear(&err);
        if (tokenizer_encode(t, &text, i % 2 ? &text : NULL, &o, s, &all, &err) == OK)
            check(t, &all, &text);
        else
            BUG_ON(err.text[0] == '\0');
    }
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
    return 0;
}
