/* See text_words.h. */
#include "data/text_words.h"

#include "common/base/alloc.h"
#include "common/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 1, FIRST_WORD = 2 };

struct text_words {
    word_split split;
    word_choice choice;
    bool learns;
    words *known;
};

word_choice word_choice_of(const config *reader)
{
    return (word_choice){
        .lowercase = config_bool(reader, "lowercase_tokens"),
        .min_count = config_int(reader, "min_count"),
        .max_size = config_has(reader, "max_vocab_size") ? config_int(reader, "max_vocab_size") : 0,
        .added = config_json(reader, "tokens_to_add"),
    };
}

/* --- counting --- */

void word_counts_init(word_counts *c)
{
    *c = (word_counts){.all = words_create()};
}

void word_counts_fini(word_counts *c)
{
    words_destroy(&c->all);
    free(c->n);
    free(c->first);
    *c = (word_counts){.all = NULL};
}

void word_counts_add(word_counts *c, const char *word, int64_t n, int64_t place)
{
    int32_t before = words_count(c->all), i = words_add(c->all, word);
    size_t cap = c->cap;
    GROW(c->n, cap, (size_t)i + 1);
    GROW(c->first, c->cap, (size_t)i + 1);
    if (i == before) {
        c->n[i] = 0;
        c->first[i] = place;
    }
    c->n[i] += n;
    c->first[i] = place < c->first[i] ? place : c->first[i];
}

void word_counts_merge(word_counts *c, const word_counts *others)
{
    for (int32_t i = 0; i < words_count(others->all); i++)
        word_counts_add(c, words_at(others->all, i), others->n[i], others->first[i]);
}

typedef struct counted_word {
    const char *word;
    int64_t n, first;
} counted_word;

static int by_count(const void *a, const void *b)
{
    const counted_word *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x->first > y->first) - (x->first < y->first);
}

json_t *word_counts_json(const word_counts *c)
{
    size_t n = (size_t)words_count(c->all);
    counted_word *sorted = xcalloc(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (counted_word){words_at(c->all, (int32_t)i), c->n[i], c->first[i]};
    qsort(sorted, n, sizeof *sorted, by_count);
    json_t *list = json_array(), *counts = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(sorted[i].word));
        json_array_append_new(counts, json_integer(sorted[i].n));
    }
    free(sorted);
    return json_pack("{s:o, s:o}", "words", list, "counts", counts);
}

static const char *form_of(bool lowercase, const char *text, size_t bytes, buf *room)
{
    buf_clear(room);
    if (lowercase)
        word_lower(text, bytes, room);
    else
        buf_add(room, text, bytes);
    return room->data;
}

void word_counts_choose(const json_t *counted, const word_choice *choice, words *to)
{
    const json_t *list = json_object_get(counted, "words"), *counts = json_object_get(counted, "counts");
    size_t most = choice->max_size > 0 ? (size_t)choice->max_size : SIZE_MAX;
    for (size_t i = 0; i < json_array_size(list) && i < most; i++)
        if (json_integer_value(json_array_get(counts, i)) >= choice->min_count)
            words_add(to, json_string_value(json_array_get(list, i)));
    for (size_t i = 0; i < json_array_size(choice->added); i++)
        words_add(to, json_string_value(json_array_get(choice->added, i)));
}

/* --- the vocabulary --- */

static void say_how(const text_words *w, char *ret, size_t size)
{
    snprintf(ret, size, "%s%s", word_split_name(w->split), w->choice.lowercase ? ", lower case" : "");
}

static status check_how(const text_words *w, const text_words_options *o, error *err)
{
    char own[64];
    const char *known = json_string_value(json_object_get(o->vocabulary, "words_by"));
    say_how(w, own, sizeof own);
    if (!known || strcmp(known, own) == 0)
        return OK;
    return FAIL(err, E_DATA, "'%s': its words are made by '%s', those of these data by '%s'", o->origin, known, own);
}

static status read_words(text_words *w, const text_words_options *o, error *err)
{
    const json_t *list = json_object_get(o->vocabulary, "words");
    TRY(check_how(w, o, err));
    if (!json_is_array(list))
        return FAIL(err, E_DATA, "'%s': has no list \"words\"", o->origin);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (!word || (size_t)words_add(w->known, word) != i)
            return FAIL(err, E_DATA, "'%s': word %zu is no string, or not the first of its kind", o->origin, i);
    }
    return OK;
}

status text_words_open(const text_words_options *o, text_words **ret, error *err)
{
    text_words *w = xcalloc(1, sizeof *w);
    *w = (text_words){
        .split = o->split, .choice = o->choice, .learns = !o->vocabulary || o->grows, .known = words_create()};
    status st = o->vocabulary ? read_words(w, o, err) : OK;
    if (st == OK)
        *ret = w;
    else
        text_words_destroy(&w);
    return st;
}

void text_words_destroy(text_words **w)
{
    if (!*w)
        return;
    words_destroy(&(*w)->known);
    free(*w);
    *w = NULL;
}

void text_words_learn(text_words *w, const json_t *counted)
{
    if (w->learns)
        word_counts_choose(counted, &w->choice, w->known);
    w->learns = false;
}

int64_t text_words_size(const text_words *w)
{
    return words_count(w->known) + FIRST_WORD;
}

void text_words_describe(const text_words *w, buf *ret)
{
    char how[64];
    say_how(w, how, sizeof how);
    buf_addf(ret, "words %s", how);
}

void text_words_tell(const text_words *w, json_t *vocabulary)
{
    char how[64];
    json_t *list = json_array();
    say_how(w, how, sizeof how);
    for (int32_t i = 0; i < words_count(w->known); i++)
        json_array_append_new(list, json_string(words_at(w->known, i)));
    json_object_set_new(vocabulary, "words", list);
    json_object_set_new(vocabulary, "words_by", json_string(how));
}

/* --- texts --- */

static status check_text(const char *text, size_t bytes, error *err)
{
    const unsigned char *t = (const unsigned char *)text;
    uint32_t code;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = t[at] ? utf8_decode(t + at, bytes - at, &code) : 0;
        if (n == 0)
            return FAIL(err, E_DATA, "byte %zu (%02x) begins no UTF-8 character of a word", at, t[at]);
    }
    return OK;
}

status text_words_take(const text_words *w, const char *text, size_t bytes, size_t most, int64_t *ret, size_t *ret_n,
                       size_t *ret_whole, word_counts *counts, int64_t place, error *err)
{
    const char *word;
    size_t at = 0, n;
    buf room = BUF_INIT;
    TRY(check_text(text, bytes, err));
    for (; word_split_next(w->split, text, bytes, &at, &word, &n); *ret_whole += 1) {
        if (*ret_n == most)
            continue;
        const char *form = form_of(w->choice.lowercase, word, n, &room);
        if (counts)
            word_counts_add(counts, form, 1, place + (int64_t)*ret_n);
        if (ret) {
            int32_t number = words_find(w->known, form);
            ret[*ret_n] = number < 0 ? UNKNOWN : number + FIRST_WORD;
        }
        *ret_n += 1;
    }
    buf_fini(&room);
    return OK;
}
