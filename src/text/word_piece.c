/*
 * WordPiece, as BERT has it: of a word the longest piece that the vocabulary has, then the longest of what is
 * left among those that go on ("##ing"). A word for which that does not come out is the unknown token whole.
 */
#include "common/base/alloc.h"
#include "text/model.h"
#include "text/trie.h"

#include <stdlib.h>
#include <string.h>

typedef struct word_piece {
    model base;
    trie *pieces; /* of TRIE_ROOT: those that begin a word, or are one */
    int32_t going_on;
    int64_t max_chars;
} word_piece;

static bool is_longer(const char *text, uint32_t bytes, int64_t chars)
{
    for (uint32_t i = 0; i < bytes; i++)
        chars -= ((unsigned char)text[i] & 0xC0) != 0x80;
    return chars < 0;
}

static status tokenize(const model *m, model_scratch *s, const char *text, uint32_t bytes, error *err)
{
    const word_piece *w = (const word_piece *)m;
    size_t before = s->n;
    int32_t node = TRIE_ROOT;
    if (bytes > w->max_chars && is_longer(text, bytes, w->max_chars))
        return model_unknown(m, s, bytes, err);
    for (uint32_t begin = 0, end = 0; begin < bytes; begin = end) {
        int32_t id = TRIE_NONE;
        for (uint32_t at = begin; at < bytes; at++) {
            node = trie_step(w->pieces, node, (unsigned char)text[at]);
            if (node == TRIE_NONE)
                break;
            if (trie_value(w->pieces, node) != TRIE_NONE) {
                id = trie_value(w->pieces, node);
                end = at + 1;
            }
        }
        if (id == TRIE_NONE) {
            s->n = before;
            return model_unknown(m, s, bytes, err);
        }
        model_add(s, id, begin, end);
        node = w->going_on;
    }
    return OK;
}

static void destroy(model *m)
{
    trie_destroy(&((word_piece *)m)->pieces);
    free(m);
}

static const model_ops ops = {tokenize, destroy};

static void fill(word_piece *w, const char *prefix)
{
    size_t bytes, n = strlen(prefix);
    w->going_on = trie_add_root(w->pieces);
    for (int64_t id = 0; id < vocabulary_size(w->base.tokens); id++) {
        const char *text = vocabulary_text(w->base.tokens, id, &bytes);
        if (!text)
            continue;
        trie_add(w->pieces, TRIE_ROOT, text, bytes, (int32_t)id);
        if (bytes > n && memcmp(text, prefix, n) == 0)
            trie_add(w->pieces, w->going_on, text + n, bytes - n, (int32_t)id);
    }
}

status word_piece_load(fields *f, model **ret, error *err)
{
    word_piece *w = xcalloc(1, sizeof *w);
    w->base = (model){.ops = &ops, .tokens = vocabulary_create(), .is_worth_keeping = true};
    w->pieces = trie_create();
    const char *unk = NULL, *prefix = NULL;
    status st = fields_text(f, "unk_token", "[UNK]", &unk, err);
    if (st == OK)
        st = fields_text(f, "continuing_subword_prefix", "##", &prefix, err);
    if (st == OK)
        st = fields_count(f, "max_input_chars_per_word", 100, &w->max_chars, err);
    if (st == OK)
        st = model_load_vocabulary(f, w->base.tokens, err);
    *ret = &w->base;
    if (st != OK) {
        model_destroy(ret);
        return st;
    }
    w->base.unk = vocabulary_find(w->base.tokens, unk, strlen(unk));
    fill(w, prefix);
    return OK;
}
