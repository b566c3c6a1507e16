/* See word_cache.h: open addressing; when it is full all is forgotten. */
#include "text/word_cache.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 15, WORDS_MAX = SLOTS / 2, TEXT_MAX = 1 << 20, TOKENS_MAX = 1 << 18 };

typedef struct slot {
    uint64_t hash;
    uint32_t text, bytes; /* bytes 0: free */
    uint32_t tokens, n;
} slot;

struct word_cache {
    uint64_t serial; /* of the tokenizer */
    uint32_t n, text_used, tokens_used;
    slot slots[SLOTS];
    char text[TEXT_MAX];
    model_token tokens[TOKENS_MAX];
};

word_cache *word_cache_create(void)
{
    return xcalloc(1, sizeof(word_cache));
}

void word_cache_destroy(word_cache **c)
{
    free(*c);
    *c = NULL;
}

static void forget(word_cache *c)
{
    memset(c->slots, 0, sizeof c->slots);
    c->n = c->text_used = c->tokens_used = 0;
}

static slot *slot_of(word_cache *c, uint64_t hash, const char *text, uint32_t bytes)
{
    for (size_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
        slot *s = &c->slots[at];
        if (s->bytes == 0 ||
            (s->hash == hash && s->bytes == bytes && memcmp(c->text + s->text, text, bytes) == 0))
            return s;
    }
}

static void keep(word_cache *c, uint64_t hash, const char *text, uint32_t bytes, const model_token *tokens, size_t n)
{
    if (c->n == WORDS_MAX || c->text_used + bytes > TEXT_MAX || c->tokens_used + n > TOKENS_MAX)
        forget(c);
    slot *s = slot_of(c, hash, text, bytes);
    *s = (slot){hash, c->text_used, bytes, c->tokens_used, (uint32_t)n};
    memcpy(c->text + s->text, text, bytes);
    if (n > 0)
        memcpy(c->tokens + s->tokens, tokens, n * sizeof *tokens);
    c->text_used += bytes;
    c->tokens_used += (uint32_t)n;
    c->n++;
}

status word_cache_tokenize(word_cache *c, uint64_t serial, const model *m, model_scratch *s, const char *text,
                           uint32_t bytes, error *err)
{
    if (!m->is_worth_keeping || bytes > WORD_CACHE_BYTES)
        return m->ops->tokenize(m, s, text, bytes, err);
    if (c->serial != serial) {
        forget(c);
        c->serial = serial;
    }
    uint64_t hash = vocabulary_hash(text, bytes);
    const slot *known = slot_of(c, hash, text, bytes);
    if (known->bytes) {
        for (uint32_t i = 0; i < known->n; i++) {
            const model_token *one = &c->tokens[known->tokens + i];
            model_add(s, one->id, one->begin, one->end);
        }
        return OK;
    }
    size_t before = s->n;
    TRY(m->ops->tokenize(m, s, text, bytes, err));
    if (s->n > before)
        keep(c, hash, text, bytes, s->tokens + before, s->n - before);
    return OK;
}
