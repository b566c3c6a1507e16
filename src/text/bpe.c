/*
 * Byte pair encoding: a word begins as its characters; the pair of neighbours that stands first in the list of
 * merges becomes one symbol, the leftmost first, until no pair is in the list.
 *
 * Source: R. Sennrich and others, "Neural Machine Translation of Rare Words with Subword Units", 2016. Neighbours
 * are a list through an array, and a heap says which pair is next, so a long text costs n log n.
 */
#include "common/base/alloc.h"
#include "text/bpe_merges.h"
#include "text/chars.h"
#include "text/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHARS = 0x400 }; /* code points whose tokens are found without the vocabulary */

typedef struct bpe {
    model base;
    bpe_merges *merges;
    char *prefix, *suffix;  /* of what goes on in a word, of what ends it; NULL: none */
    int32_t chars[CHARS];
    int32_t bytes[256];     /* tokens <0x00> to <0xFF> */
    bool by_bytes, fuses_unknown, ignores_merges;
    bool has_unk_name;
} bpe;

typedef struct symbol {
    int32_t id; /* VOCABULARY_NONE: merged into the one before */
    uint32_t bytes;
    int32_t before, behind; /* places; -1: none */
} symbol;

typedef struct turn {
    uint32_t rank;
    int32_t at; /* of the left symbol */
    int32_t id; /* what the pair becomes */
} turn;

typedef struct word {
    symbol *symbols;
    int32_t n;
    turn *heap; /* at most two turns a symbol are ever made */
    int32_t n_heap;
} word;

/* --- the heap --- */

static bool is_sooner(const turn *a, const turn *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

static void heap_push(word *w, turn one)
{
    int32_t at = w->n_heap++;
    for (; at > 0 && is_sooner(&one, &w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = one;
}

static turn heap_pop(word *w)
{
    turn first = w->heap[0], last = w->heap[--w->n_heap];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= w->n_heap)
            break;
        if (child + 1 < w->n_heap && is_sooner(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_sooner(&w->heap[child], &last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return first;
}

/* --- merging --- */

/* Puts the pair that begins at `at` on the heap, if it is in the list. */
static void consider(const bpe *b, word *w, int32_t at)
{
    if (at < 0 || w->symbols[at].behind < 0)
        return;
    const bpe_merge *m = bpe_merges_find(b->merges, w->symbols[at].id, w->symbols[w->symbols[at].behind].id);
    if (m)
        heap_push(w, (turn){m->rank, at, m->id});
}

static void merge(const bpe *b, word *w)
{
    for (int32_t i = 0; i + 1 < w->n; i++)
        consider(b, w, i);
    while (w->n_heap > 0) {
        turn t = heap_pop(w);
        symbol *left = &w->symbols[t.at];
        if (left->id == VOCABULARY_NONE || left->behind < 0)
            continue;
        symbol *right = &w->symbols[left->behind];
        const bpe_merge *m = bpe_merges_find(b->merges, left->id, right->id);
        if (!m || m->id != t.id) /* another merge has taken one of them since */
            continue;
        left->id = t.id;
        left->bytes += right->bytes;
        left->behind = right->behind;
        right->id = VOCABULARY_NONE;
        if (left->behind >= 0)
            w->symbols[left->behind].before = t.at;
        consider(b, w, left->before);
        consider(b, w, t.at);
    }
}

/* --- the symbols a word begins as --- */

static void add(word *w, int32_t id, uint32_t bytes)
{
    w->symbols[w->n] = (symbol){id, bytes, w->n - 1, -1};
    if (w->n > 0)
        w->symbols[w->n - 1].behind = w->n;
    w->n++;
}

static int32_t find_char(const bpe *b, const char *text, size_t bytes, uint32_t code, bool is_first, bool is_last)
{
    const char *prefix = b->prefix && !is_first ? b->prefix : "", *suffix = b->suffix && is_last ? b->suffix : "";
    if (!*prefix && !*suffix)
        return code < CHARS ? b->chars[code] : vocabulary_find(b->base.tokens, text, bytes);
    char whole[256];
    int n = snprintf(whole, sizeof whole, "%s%.*s%s", prefix, (int)bytes, text, suffix);
    return vocabulary_find(b->base.tokens, whole, (size_t)n);
}

static bool add_bytes(const bpe *b, word *w, const char *text, size_t bytes)
{
    if (!b->by_bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (b->bytes[(unsigned char)text[i]] == VOCABULARY_NONE)
            return false;
    for (size_t i = 0; i < bytes; i++)
        add(w, b->bytes[(unsigned char)text[i]], 1);
    return true;
}

static status split_chars(const bpe *b, word *w, const char *text, uint32_t bytes, error *err)
{
    uint32_t unknown = 0; /* bytes that wait to become an unknown token */
    size_t n = 0;
    for (uint32_t at = 0; at < bytes; at += (uint32_t)n) {
        uint32_t code = chars_next(text + at, &n);
        int32_t id = find_char(b, text + at, n, code, at == 0, at + n == bytes);
        if (id != VOCABULARY_NONE) {
            if (unknown)
                add(w, b->base.unk, unknown);
            unknown = 0;
            add(w, id, (uint32_t)n);
        } else if (add_bytes(b, w, text + at, n) || !b->has_unk_name) {
            continue; /* without a name for what is unknown, that is left out */
        } else if (b->base.unk == VOCABULARY_NONE) {
            return FAIL(err, E_DATA, "the token for unknown characters is not in the vocabulary");
        } else {
            if (unknown && !b->fuses_unknown)
                add(w, b->base.unk, unknown);
            unknown = (uint32_t)n + (b->fuses_unknown ? unknown : 0);
        }
    }
    if (unknown)
        add(w, b->base.unk, unknown);
    return OK;
}

static status tokenize(const model *m, model_scratch *s, const char *text, uint32_t bytes, error *err)
{
    const bpe *b = (const bpe *)m;
    int32_t whole = b->ignores_merges ? vocabulary_find(m->tokens, text, bytes) : VOCABULARY_NONE;
    if (whole != VOCABULARY_NONE) {
        model_add(s, whole, 0, bytes);
        return OK;
    }
    size_t n = bytes;
    symbol *symbols = model_work(s, n * sizeof(symbol) + 3 * n * sizeof(turn));
    word w = {.symbols = symbols, .heap = (turn *)(symbols + n)};
    TRY(split_chars(b, &w, text, bytes, err));
    merge(b, &w);
    uint32_t at = 0;
    for (int32_t i = 0; i >= 0 && i < w.n; i = w.symbols[i].behind) {
        model_add(s, w.symbols[i].id, at, at + w.symbols[i].bytes);
        at += w.symbols[i].bytes;
    }
    return OK;
}

static void destroy(model *m)
{
    bpe *b = (bpe *)m;
    bpe_merges_destroy(&b->merges);
    free(b->prefix);
    free(b->suffix);
    free(b);
}

static const model_ops ops = {tokenize, destroy};

/* --- loading --- */

static void find_chars(bpe *b)
{
    char text[16];
    for (uint32_t i = 0; i < CHARS; i++)
        b->chars[i] = vocabulary_find(b->base.tokens, text, utf8_write(i, text));
    for (int i = 0; i < 256; i++) {
        int n = snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        b->bytes[i] = vocabulary_find(b->base.tokens, text, (size_t)n);
    }
}

/* A prefix or suffix; empty is as none. */
static status load_affix(fields *f, const char *key, char **ret, error *err)
{
    const char *text = NULL;
    TRY(fields_text(f, key, "", &text, err));
    if (strlen(text) > 100)
        return FAIL(err, E_DATA, "%s.%s: has more than 100 bytes", f->place, key);
    *ret = *text ? xstrdup(text) : NULL;
    return OK;
}

static status refuse_dropout(fields *f, error *err)
{
    const json_t *dropout = fields_any(f, "dropout");
    if (dropout && (!json_is_number(dropout) || json_number_value(dropout) != 0.0))
        return FAIL(err, E_DATA, "%s.dropout: is not known here; use null, so that a text has one reading",
                    f->place);
    return OK;
}

static status load(fields *f, bpe *b, error *err)
{
    const char *unk = NULL;
    TRY(refuse_dropout(f, err));
    TRY(fields_text(f, "unk_token", "", &unk, err));
    TRY(load_affix(f, "continuing_subword_prefix", &b->prefix, err));
    TRY(load_affix(f, "end_of_word_suffix", &b->suffix, err));
    TRY(fields_bool(f, "fuse_unk", false, &b->fuses_unknown, err));
    TRY(fields_bool(f, "byte_fallback", false, &b->by_bytes, err));
    TRY(fields_bool(f, "ignore_merges", false, &b->ignores_merges, err));
    TRY(model_load_vocabulary(f, b->base.tokens, err));
    b->has_unk_name = *unk != 0;
    b->base.unk = vocabulary_find(b->base.tokens, unk, strlen(unk));
    find_chars(b);
    char place[FIELDS_PLACE];
    fields_inside(f, "merges", -1, place);
    return bpe_merges_load(fields_any(f, "merges"), place, b->base.tokens, b->prefix ? strlen(b->prefix) : 0,
                           &b->merges, err);
}

status bpe_load(fields *f, model **ret, error *err)
{
    bpe *b = xcalloc(1, sizeof *b);
    b->base = (model){.ops = &ops, .tokens = vocabulary_create(), .is_worth_keeping = true};
    *ret = &b->base;
    status st = load(f, b, err);
    if (st != OK)
        model_destroy(ret);
    return st;
}
