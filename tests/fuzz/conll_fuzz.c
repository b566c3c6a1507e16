/* Tagged sentences from a stranger, in both forms: words and tags lie within the bytes, or the line is refused. */
#include "common/base/alloc.h"
#include "data/tagging/sentences.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(const sentence_format *f, const record_source *file, coding_scheme to, bool has_heads)
{
    words *names = words_create();
    const tag_column column = {.kind = &f->tags[0], .scheme = to, .names = names};
    sentences s = {.has_heads = has_heads};
    error err = ERROR_INIT;
    status st = sentences_add(&s, f, file, &column, 1, &err);
    BUG_ON((st == OK) == (err.text[0] != '\0'));
    for (size_t i = 0; st == OK && i < s.n; i++)
        for (size_t w = s.at[i].first; w < s.at[i].first + s.at[i].n; w++) {
            const unsigned char *text = (const unsigned char *)s.words[w].text;
            BUG_ON(text < file->data || text + s.words[w].bytes > file->data + file->bytes || s.words[w].bytes == 0);
            BUG_ON(s.tags[0][w] < 0 || s.tags[0][w] >= words_count(names));
            BUG_ON(s.heads && (s.heads[w] < 0 || (size_t)s.heads[w] > s.at[i].n));
        }
    sentences_fini(&s);
    words_destroy(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const record_source file = {"file", data, size};
    read_as(&sentences_conll2003, &file, CODING_BIOUL, false);
    read_as(&sentences_conll2003, &file, CODING_IOB1, false);
    read_as(&sentences_universal_dependencies, &file, CODING_AS_IT_IS, false);
    read_as(&sentences_universal_dependencies, &file, CODING_AS_IT_IS, true);
    return 0;
}
