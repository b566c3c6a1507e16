/* Text and vocabularies from a stranger. The first half is a vocabulary, behind a zero byte comes a
 * text: both are taken or refused, and what was taken comes back as it was. */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "data/language/char_tokens.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const char_tokens *t, const record_source *text, bool is_own)
{
    uint16_t *tokens = xcalloc(text->bytes + 1, sizeof *tokens);
    size_t n, bytes = text->bytes;
    error err = ERROR_INIT;
    if (char_tokens_encode(t, text, tokens, &n, &err) != OK) {
        BUG_ON(is_own || err.text[0] == '\0');
        free(tokens);
        return;
    }
    buf back = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        char part[UTF8_MAX];
        buf_add(&back, part, char_tokens_decode(t, tokens[i], part));
    }
    BUG_ON(back.size != bytes || (bytes && memcmp(back.data, text->data, bytes) != 0));
    buf_fini(&back);
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t first = zero ? (size_t)(zero - data) : size;
    size_t behind = first + (zero != NULL);
    const record_source text = {"text", data + behind, size - behind};
    char *vocabulary = xstrndup((const char *)data, first);
    for (int i = 0; i < 3; i++) {
        char_tokens *t = NULL;
        error err = ERROR_INIT;
        status st = i == 0 ? char_tokens_load(TOKEN_CHARACTERS, vocabulary, "vocabulary", &t, &err)
                           : char_tokens_learn(i == 1 ? TOKEN_CHARACTERS : TOKEN_BYTES, &text, 1, &t, &err);
        BUG_ON((st == OK) == (err.text[0] != '\0'));
        if (st == OK)
            there_and_back(t, &text, i > 0);
        char_tokens_destroy(&t);
    }
    free(vocabulary);
    return 0;
}
