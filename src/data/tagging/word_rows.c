/* See word_rows.h. */
#include "data/tagging/word_rows.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 1, FIRST_WORD = 2 };

/* What rows are made with. */
typedef struct row_maker {
    const word_rows_options *o;
    const sentences *s;
    word_rows *rows;
    tokenizer_scratch *scratch;
    int32_t *before, *behind;       /* special tokens around a text */
    size_t n_before;
    buf word;
} row_maker;

/* --- by a tokenizer --- */

static status encode(row_maker *m, const char *text, size_t bytes, bool whole, tokenizer_encoding *ret, error *err)
{
    tokenizer_input input = {.text = text, .bytes = bytes};
    tokenizer_options how = {.no_special_tokens = !whole,
                             .truncation = &(tokenizer_truncation){.max_length = 0},
                             .padding = &(tokenizer_padding){.is_on = false}};
    tokenizer_encodings e;
    TRY(tokenizer_encode(m->rows->tokenizer, &input, NULL, &how, m->scratch, &e, err));
    *ret = e.at[0];
    return OK;
}

/* Those of the encoding of any word: in front of its pieces, and behind them. */
static status find_special(row_maker *m, error *err)
{
    tokenizer_encoding e;
    size_t from = 0;
    TRY(encode(m, "a", 1, true, &e, err));
    while (from < e.n && e.special[from])
        from++;
    size_t to = e.n;
    while (to > from && e.special[to - 1])
        to--;
    m->n_before = from;
    m->rows->n_behind = e.n - to;
    m->before = xcalloc(e.n + 1, sizeof *m->before);
    m->behind = xcalloc(e.n + 1, sizeof *m->behind);
    memcpy(m->before, e.ids, from * sizeof *e.ids);
    memcpy(m->behind, e.ids + to, m->rows->n_behind * sizeof *e.ids);
    size_t special = m->n_before + m->rows->n_behind;
    if (m->o->max_length && (size_t)m->o->max_length <= special)
        return FAIL(err, E_CONFIG,
                    "max_length: %lld leaves no room for a word: the tokenizer puts %zu tokens around a text",
                    (long long)m->o->max_length, special);
    return OK;
}

static status open_tokenizer(row_maker *m, error *err)
{
    word_rows *r = m->rows;
    TRY(reader_tokenizer_open(&m->o->tokenizer, &r->tokenizer, err));
    int32_t pad = tokenizer_special(r->tokenizer, TOKENIZER_PAD);
    r->filler = pad == TOKENIZER_NO_TOKEN ? 0 : pad;
    m->scratch = tokenizer_scratch_create();
    return find_special(m, err);
}

static void add_token(word_rows *r, int32_t id, int32_t place)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 1024;
        r->ids = xrealloc(r->ids, r->cap * sizeof *r->ids);
        r->places = xrealloc(r->places, r->cap * sizeof *r->places);
    }
    r->ids[r->n] = id;
    r->places[r->n++] = place;
}

static status add_pieces(row_maker *m, const tagged_word *w, int32_t place, error *err)
{
    tokenizer_encoding e;
    TRY(encode(m, w->text, w->bytes, false, &e, err));
    for (size_t i = 0; i < e.n; i++)
        add_token(m->rows, e.ids[i], i ? WORD_ROWS_NONE : place);
    if (e.n)
        return OK;
    int32_t unknown = tokenizer_special(m->rows->tokenizer, TOKENIZER_UNK);
    if (unknown == TOKENIZER_NO_TOKEN)
        return FAIL(err, E_DATA, "the tokenizer makes nothing of the word '%.*s', and has no token for unknown words",
                    (int)w->bytes, w->text);
    add_token(m->rows, unknown, place);
    return OK;
}

/* --- by their words --- */

static void as_it_is(const char *text, size_t bytes, buf *ret)
{
    buf_add(ret, text, bytes);
}

static void lower_ascii(const char *text, size_t bytes, buf *ret)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        buf_add(ret, &c, 1);
    }
}

/* As vocabularies name them: "words_by". */
static const struct {
    const char *name;
    void (*write)(const char *text, size_t bytes, buf *ret);
} forms[] = {
    [WORDS_AS_THEY_ARE] = {"as they are", as_it_is},
    [WORDS_LOWER] = {"lower case", word_lower},
    [WORDS_LOWER_ASCII] = {"lower case of ASCII", lower_ascii},
};

static const char *formed(row_maker *m, word_form form, const char *text, size_t bytes)
{
    buf_clear(&m->word);
    buf_adds(&m->word, ""); /* of an empty one too */
    forms[form].write(text, bytes, &m->word);
    return m->word.data;
}

static const char *form_of(row_maker *m, const tagged_word *w)
{
    return formed(m, m->rows->form, w->text, w->bytes);
}

static bool is_added(const word_choice *c, const char *word)
{
    for (size_t i = 0; i < json_array_size(c->added); i++)
        if (strcmp(json_string_value(json_array_get(c->added, i)), word) == 0)
            return true;
    return false;
}

/* Vocabularies that do not name their form may be of a time when ASCII's letters alone were lowered: a word tells
 * that has other capitals, and none of those. */
static bool is_lowered_as_ascii(row_maker *m)
{
    for (int32_t i = 0; i < words_count(m->rows->known); i++) {
        const char *word = words_at(m->rows->known, i);
        const size_t bytes = strlen(word);
        if (strcmp(formed(m, WORDS_LOWER, word, bytes), word) != 0 &&
            strcmp(formed(m, WORDS_LOWER_ASCII, word, bytes), word) == 0 && !is_added(&m->o->words, word))
            return true;
    }
    return false;
}

/* Words are formed as those of the vocabulary. */
static status find_form(row_maker *m, error *err)
{
    const char *said = json_string_value(json_object_get(m->o->tokenizer.vocabulary, "words_by"));
    const bool lowers = m->o->words.lowercase;
    if (!said) {
        m->rows->form = lowers && is_lowered_as_ascii(m) ? WORDS_LOWER_ASCII : m->rows->form;
        return OK;
    }
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (strcmp(said, forms[i].name) == 0 && (i != WORDS_AS_THEY_ARE) == lowers) {
            m->rows->form = (word_form)i;
            return OK;
        }
    return FAIL(err, E_DATA, "'%s': its words are made by '%s', those of these data by '%s' (lowercase_tokens: %s)",
                m->o->tokenizer.origin, said, forms[m->rows->form].name, lowers ? "true" : "false");
}

/* Behind those that are known: in order, and then those that are added in any case. */
static void learn_words(row_maker *m)
{
    words *known = m->rows->known;
    int32_t n_known = words_count(known);
    word_choice choice = m->o->words, none = {.added = choice.added};
    word_counts counts;
    word_counts_init(&counts);
    for (size_t i = 0; i < m->s->n_words; i++)
        word_counts_add(&counts, form_of(m, &m->s->words[i]), 1, (int64_t)i);
    json_t *counted = word_counts_json(&counts);
    choice.added = NULL;
    word_counts_choose(counted, &choice, known);
    int32_t *places = xmalloc(((size_t)words_count(known) + 1) * sizeof *places);
    words_sort_from(known, n_known, places);
    word_counts_choose(NULL, &none, known);
    free(places);
    json_decref(counted);
    word_counts_fini(&counts);
}

static status open_words(row_maker *m, error *err)
{
    const json_t *vocabulary = m->o->tokenizer.vocabulary;
    const char *origin = m->o->tokenizer.origin;
    m->rows->known = words_create();
    m->rows->form = m->o->words.lowercase ? WORDS_LOWER : WORDS_AS_THEY_ARE;
    if (!vocabulary) {
        learn_words(m);
        return OK;
    }
    const json_t *list = json_object_get(vocabulary, "words");
    if (!json_is_array(list))
        return FAIL(err, E_DATA, "'%s': has no list \"words\"", origin);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (!word || (size_t)words_add(m->rows->known, word) != i)
            return FAIL(err, E_DATA, "'%s': word %zu is no string, or not the first of its kind", origin, i);
    }
    TRY(find_form(m, err));
    if (m->o->grows)
        learn_words(m);
    return OK;
}

/* --- rows --- */

static status add_word(row_maker *m, const tagged_word *w, int32_t place, error *err)
{
    if (m->rows->tokenizer)
        return add_pieces(m, w, place, err);
    int32_t number = words_find(m->rows->known, form_of(m, w));
    add_token(m->rows, number < 0 ? UNKNOWN : number + FIRST_WORD, place);
    return OK;
}

/* The row has more tokens than it may: whole words go, from the last. */
static status cut_row(row_maker *m, const struct sentence *s, size_t begin, size_t most, error *err)
{
    word_rows *r = m->rows;
    const tagged_word *w = &m->s->words[s->first];
    size_t n = r->n - begin + m->rows->n_behind;
    if (!m->o->truncate)
        return FAIL(err, E_DATA, "'%s': line %u: a sentence of %zu tokens; max_length is %lld (truncate: true cuts it)",
                    s->file, w->line, n, (long long)m->o->max_length);
    r->n = begin + most - m->rows->n_behind;
    while (r->places[r->n] == WORD_ROWS_NONE)
        r->n--;
    r->n_cut++;
    if (r->n == begin + m->n_before)
        return FAIL(err, E_DATA, "'%s': line %u: the first word alone has more tokens than max_length %lld", s->file,
                    w->line, (long long)m->o->max_length);
    return OK;
}

static status add_row(row_maker *m, const struct sentence *s, error *err)
{
    word_rows *r = m->rows;
    size_t begin = r->n, most = m->o->max_length ? (size_t)m->o->max_length : SIZE_MAX;
    for (size_t i = 0; i < m->n_before; i++)
        add_token(r, m->before[i], WORD_ROWS_NONE);
    for (size_t i = 0; i < s->n; i++) {
        const tagged_word *w = &m->s->words[s->first + i];
        TRYF(add_word(m, w, (int32_t)i, err), err, "'%s': line %u", s->file, w->line);
    }
    if (r->n - begin + m->rows->n_behind > most)
        TRY(cut_row(m, s, begin, most, err));
    for (size_t i = 0; i < m->rows->n_behind; i++)
        add_token(r, m->behind[i], WORD_ROWS_NONE);
    r->longest = r->n - begin > r->longest ? r->n - begin : r->longest;
    return OK;
}

static status fill_rows(row_maker *m, error *err)
{
    word_rows *r = m->rows;
    r->first = xcalloc(m->s->n + 1, sizeof *r->first);
    read_progress_begin("making tokens of", m->o->path, m->s->n, "sentences");
    for (size_t i = 0; i < m->s->n; i++) {
        read_progress_add(1);
        TRY(add_row(m, &m->s->at[i], err));
        r->first[i + 1] = r->n;
    }
    return OK;
}

/* --- kept --- */

enum { IDS, PLACES, FIRST, COUNTS, ARRAYS };
enum { LONGEST, N_CUT, N_COUNTS };

static void drop_rows(word_rows *r)
{
    free(r->ids);
    free(r->places);
    free(r->first);
    r->ids = r->places = NULL;
    r->first = NULL;
    r->n = r->cap = r->longest = 0;
    r->n_cut = 0;
}

static status write_rows(void *user, kept_writer *w, error *err)
{
    row_maker *m = user;
    word_rows *r = m->rows;
    status st;
    TRY_OUT(st, fill_rows(m, err));
    const uint64_t counts[N_COUNTS] = {[LONGEST] = r->longest, [N_CUT] = (uint64_t)r->n_cut};
    TRY_OUT(st, kept_write(w, IDS, r->ids, r->n, err));
    TRY_OUT(st, kept_write(w, PLACES, r->places, r->n, err));
    TRY_OUT(st, kept_write(w, FIRST, r->first, m->s->n + 1, err));
    TRY_OUT(st, kept_write(w, COUNTS, counts, N_COUNTS, err));
out:
    drop_rows(r);
    return st;
}

static bool are_rows_sound(const void *user, const kept_arrays *a)
{
    const row_maker *m = user;
    const int32_t *ids = a->at[IDS].at, *places = a->at[PLACES].at;
    const size_t *first = a->at[FIRST].at;
    const uint64_t *counts = a->at[COUNTS].at;
    size_t n = a->at[IDS].n, rows = m->s->n;
    int64_t size = tokenizer_size(m->rows->tokenizer);
    bool good = a->at[PLACES].n == n && a->at[FIRST].n == rows + 1 && a->at[COUNTS].n == N_COUNTS && first[0] == 0 &&
                first[rows] == n;
    for (size_t i = 0; i < rows && good; i++) {
        good = first[i] <= first[i + 1] && first[i + 1] <= n && first[i + 1] - first[i] <= counts[LONGEST];
        for (size_t k = first[i]; good && k < first[i + 1]; k++)
            good = ids[k] >= 0 && ids[k] < size && places[k] >= WORD_ROWS_NONE &&
                   (places[k] < 0 || (size_t)places[k] < m->s->at[i].n);
    }
    return good;
}

static status keep_rows(row_maker *m, error *err)
{
    word_rows *r = m->rows;
    const kept_recipe recipe = {.what = "rows",
                                .of = m->o->path,
                                .source_bytes = shards_bytes(m->o->files),
                                .n = ARRAYS,
                                .width = {sizeof *r->ids, sizeof *r->places, sizeof *r->first, sizeof(uint64_t)},
                                .make = write_rows,
                                .is_sound = are_rows_sound,
                                .user = m};
    cache_key key;
    buf made = BUF_INIT;
    buf_addf(&made, "rows 1\n%s\n%s\nmost=%lld truncate=%d", m->o->type, tokenizer_fingerprint(r->tokenizer),
             (long long)m->o->max_length, m->o->truncate);
    shards_key(m->o->files, made.data, &key);
    buf_fini(&made);
    TRY(kept_arrays_open(&key, &recipe, &r->kept, err));
    const uint64_t *counts = r->kept.at[COUNTS].at;
    r->ids = r->kept.at[IDS].at;
    r->places = r->kept.at[PLACES].at;
    r->first = r->kept.at[FIRST].at;
    r->n = r->kept.at[IDS].n;
    r->longest = counts[LONGEST];
    r->n_cut = (int64_t)counts[N_CUT];
    return OK;
}

static status make_rows(row_maker *m, error *err)
{
    if (!m->o->tokenizer.path) {
        TRY(open_words(m, err));
        return fill_rows(m, err);
    }
    TRY(open_tokenizer(m, err));
    return keep_rows(m, err);
}

status word_rows_make(const word_rows_options *o, const sentences *s, word_rows *ret, error *err)
{
    word_rows r = {.tokenizer = NULL};
    row_maker m = {.o = o, .s = s, .rows = &r};
    status st = make_rows(&m, err);
    tokenizer_scratch_destroy(&m.scratch);
    free(m.before);
    free(m.behind);
    buf_fini(&m.word);
    if (st == OK)
        *ret = r;
    else
        word_rows_fini(&r);
    return st;
}

void word_rows_fini(word_rows *r)
{
    bool is_kept = r->tokenizer != NULL;
    tokenizer_destroy(&r->tokenizer);
    words_destroy(&r->known);
    if (!is_kept)
        drop_rows(r);
    kept_arrays_close(&r->kept);
    *r = (word_rows){.tokenizer = NULL};
}

void word_rows_say(const word_rows *r, json_t *vocabulary)
{
    if (r->tokenizer) {
        reader_tokenizer_tell(r->tokenizer, vocabulary);
        return;
    }
    json_t *list = json_array();
    for (int32_t i = 0; i < words_count(r->known); i++)
        json_array_append_new(list, json_string(words_at(r->known, i)));
    json_object_set_new(vocabulary, "words", list);
    json_object_set_new(vocabulary, "words_by", json_string(forms[r->form].name));
}

int64_t word_rows_size(const word_rows *r)
{
    return r->tokenizer ? tokenizer_size(r->tokenizer) : words_count(r->known) + FIRST_WORD;
}
