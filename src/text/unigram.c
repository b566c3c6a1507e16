/*
 * Unigram, as SentencePiece has it: every token has a score, and of all ways to put a text together the one with
 * the greatest sum is taken (Viterbi). A character that no token covers is unknown; neighbours of that kind become
 * one token, or with byte_fallback the tokens of their bytes.
 *
 * Source: T. Kudo, "Subword Regularization", 2018; sums are in double and in the order of the text.
 */
#include "common/base/alloc.h"
#include "text/chars.h"
#include "text/model.h"
#include "text/trie.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define UNKNOWN_PENALTY 10.0 /* below the worst of all scores */

typedef struct unigram {
    model base;
    trie *texts;
    double *scores; /* [n] by id */
    size_t n;
    double unknown_score;
    int32_t bytes[256]; /* tokens <0x00> to <0xFF> */
    bool by_bytes;
} unigram;

typedef struct node {
    double score;  /* of the best way here */
    uint32_t from; /* where its last token begins */
    int32_t id;    /* that token; VOCABULARY_NONE: no way leads here yet */
} node;

static void offer(node *to, double score, uint32_t from, int32_t id)
{
    if (to->id == VOCABULARY_NONE || score > to->score)
        *to = (node){score, from, id};
}

/* The best way to every place of the text. */
static status search(const unigram *u, node *best, const char *text, uint32_t bytes, error *err)
{
    size_t n = 0;
    for (uint32_t i = 1; i <= bytes; i++)
        best[i] = (node){0.0, 0, VOCABULARY_NONE};
    best[0] = (node){0.0, 0, 0};
    for (uint32_t at = 0; at < bytes; at += (uint32_t)n) {
        double here = best[at].score;
        bool has_single = false;
        chars_next(text + at, &n);
        int32_t where = TRIE_ROOT;
        for (uint32_t end = at; end < bytes;) {
            where = trie_step(u->texts, where, (unsigned char)text[end++]);
            if (where == TRIE_NONE)
                break;
            int32_t id = trie_value(u->texts, where);
            if (id == TRIE_NONE)
                continue;
            offer(&best[end], here + u->scores[id], at, id);
            has_single = has_single || end - at == n;
        }
        if (has_single)
            continue;
        if (u->base.unk == VOCABULARY_NONE)
            return FAIL(err, E_DATA, "the character at byte %u of a word is not in the vocabulary, which has no "
                                     "token for unknown ones", (unsigned)at);
        offer(&best[at + n], here + u->unknown_score, at, u->base.unk);
    }
    return OK;
}

/* An unknown stretch. */
static void add_unknown(const unigram *u, model_scratch *s, const char *text, uint32_t begin, uint32_t end)
{
    int32_t id = vocabulary_find(u->base.tokens, text + begin, end - begin);
    bool by_bytes = u->by_bytes && id == VOCABULARY_NONE;
    for (uint32_t i = begin; by_bytes && i < end; i++)
        by_bytes = u->bytes[(unsigned char)text[i]] != VOCABULARY_NONE;
    for (uint32_t i = begin; by_bytes && i < end; i++)
        model_add(s, u->bytes[(unsigned char)text[i]], begin, end);
    if (!by_bytes)
        model_add(s, id == VOCABULARY_NONE ? u->base.unk : id, begin, end);
}

/* Turns the best way round: each of its nodes says which token begins there, and in `from` where it ends. */
static void turn(node *best, uint32_t bytes)
{
    node here = best[bytes];
    for (uint32_t at = bytes; at > 0;) {
        uint32_t begin = here.from;
        node before = best[begin];
        best[begin] = (node){0.0, at, here.id};
        here = before;
        at = begin;
    }
}

static status tokenize(const model *m, model_scratch *s, const char *text, uint32_t bytes, error *err)
{
    const unigram *u = (const unigram *)m;
    node *best = model_work(s, ((size_t)bytes + 1) * sizeof *best);
    TRY(search(u, best, text, bytes, err));
    turn(best, bytes);
    for (uint32_t at = 0; at < bytes;) {
        int32_t id = best[at].id;
        uint32_t begin = at;
        at = best[at].from;
        while (id == m->unk && at < bytes && best[at].id == m->unk)
            at = best[at].from;
        if (id == m->unk)
            add_unknown(u, s, text, begin, at);
        else
            model_add(s, id, begin, at);
    }
    return OK;
}

static void destroy(model *m)
{
    unigram *u = (unigram *)m;
    trie_destroy(&u->texts);
    free(u->scores);
    free(u);
}

static const model_ops ops = {tokenize, destroy};

static status load_scores(fields *f, unigram *u, error *err)
{
    const json_t *list = fields_any(f, "vocab");
    u->n = json_array_size(list);
    if (u->n == 0 || u->n > VOCABULARY_IDS)
        return FAIL(err, E_DATA, "%s.vocab: must be an array of [text, score], with one at least", f->place);
    u->scores = xcalloc(u->n, sizeof *u->scores);
    double least = INFINITY;
    for (size_t i = 0; i < u->n; i++) {
        const json_t *row = json_array_get(list, i), *text = json_array_get(row, 0), *score = json_array_get(row, 1);
        if (json_array_size(row) != 2 || !json_is_string(text) || !json_is_number(score))
            return FAIL(err, E_DATA, "%s.vocab[%zu]: must be [text, score]", f->place, i);
        u->scores[i] = json_number_value(score);
        least = fmin(least, u->scores[i]);
        vocabulary_add(u->base.tokens, json_string_value(text), json_string_length(text), (int32_t)i, false);
        if (json_string_length(text) > 0)
            trie_add(u->texts, TRIE_ROOT, json_string_value(text), json_string_length(text), (int32_t)i);
    }
    u->unknown_score = least - UNKNOWN_PENALTY;
    return OK;
}

static status load(fields *f, unigram *u, error *err)
{
    TRY(load_scores(f, u, err));
    int64_t unk = VOCABULARY_NONE;
    TRY(fields_count(f, "unk_id", VOCABULARY_NONE, &unk, err));
    if (unk >= (int64_t)u->n)
        return FAIL(err, E_DATA, "%s.unk_id: %lld is no place in vocab, which has %zu", f->place, (long long)unk,
                    u->n);
    u->base.unk = (int32_t)unk;
    TRY(fields_bool(f, "byte_fallback", false, &u->by_bytes, err));
    for (int i = 0; i < 256; i++) {
        char text[8];
        int n = snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        u->bytes[i] = vocabulary_find(u->base.tokens, text, (size_t)n);
    }
    return OK;
}

status unigram_load(fields *f, model **ret, error *err)
{
    unigram *u = xcalloc(1, sizeof *u);
    u->base = (model){.ops = &ops, .tokens = vocabulary_create(), .is_worth_keeping = true};
    u->texts = trie_create();
    *ret = &u->base;
    status st = load(f, u, err);
    if (st != OK)
        model_destroy(ret);
    return st;
}
