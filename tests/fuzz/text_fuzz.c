/* Text and vocabularies from a stranger. The first half is a vocabulary, behind a zero byte comes a
 * text: both are taken or refused, and what was taken comes back as it was. */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "data/char_tokens.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const char_tokens *t, const uint8_t *text, size_t bytes, bool is_own)
{
    uint16_t *tokens;
    size_t n;
    error err = ERROR_INIT;
    if (char_tokens_encode(t, text, bytes, "text", &tokens, &n, &err) != OK) {
        BUG_ON(is_own || err.text[0] == '\0');
        return;
    }
    buf back = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        char part[UTF8_MAX];
        buf_add(&back, part, char_tokens_decode(t, tokens[i], part));
    }
    BUG_ON(back.size != bytes || (bytes && memcmp(back.data, text, bytes) != 0));
    buf_fini(&back);
    mem_free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t first = zero ? (size_t)(zero - data) : size;
    const uint8_t *text = data + first + (zero != NULL);
    size_t bytes = size - first - (zero != NULL);
    char *vocabulary = xstrndup((const char *)data, first);
    for (int i = 0; i < 3; i++) {
        char_tokens *t = NULL;
        error err = ERROR_INIT;
        status st = i == 0 ? char_tokens_load(TOKEN_CHARACTERS, vocabulary, "vocabulary", &t, &err)
                           : char_tokens_learn(i == 1 ? TOKEN_CHARACTERS : TOKEN_BYTES, text, bytes,
                                             "text", &t, &err);
        BUG_ON((st == OK) == (err.text[0] != '\0'));
        if (st == OK)
            there_and_back(t, text, bytes, i > 0);
        char_tokens_destroy(&t);
    }
    free(vocabulary);
    return 0;
}
