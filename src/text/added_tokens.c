/* See added_tokens.h: of those that begin at a place the longest counts, then the search goes on behind it. */
#include "text/added_tokens.h"

#include "common/base/alloc.h"
#include "text/chars.h"
#include "text/fields.h"
#include "text/trie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct added {
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} added;

/* What is looked for in one kind of text. */
typedef struct finder {
    trie *texts;      /* values: places in `at` */
    bool begins[256]; /* whether any begins with the byte */
    bool is_empty;
} finder;

struct added_tokens {
    vocabulary *tokens;
    added *at;
    size_t n;
    finder finders[2]; /* by `normalized` */
};

static void put(finder *f, const char *text, size_t bytes, size_t place)
{
    int32_t node = TRIE_ROOT;
    for (size_t i = 0; i < bytes && node != TRIE_NONE; i++)
        node = trie_step(f->texts, node, (unsigned char)text[i]);
    if (bytes == 0 || (node != TRIE_NONE && trie_value(f->texts, node) != TRIE_NONE))
        return; /* the first one of a text counts */
    trie_add(f->texts, TRIE_ROOT, text, bytes, (int32_t)place);
    f->begins[(unsigned char)text[0]] = true;
    f->is_empty = false;
}

/* One that is normalized is looked for, and shown, as what becomes of it. */
static status put_normalized(added_tokens *a, const char *text, size_t bytes, size_t place, const normalizer *n,
                             error *err)
{
    run in = {.text = NULL}, out = {.text = NULL};
    normalize_scratch s = {.patterns = pattern_scratch_create()};
    run_of(&in, text, (uint32_t)bytes);
    status st = normalizer_apply(n, &s, &in, (piece){0, in.bytes, 0, PIECE_OPEN}, &out, err);
    if (st == OK && out.bytes > 0) {
        put(&a->finders[true], out.text, out.bytes, place);
        vocabulary_rename(a->tokens, a->at[place].id, out.text, out.bytes);
    }
    run_fini(&in);
    run_fini(&out);
    normalize_scratch_fini(&s);
    return st;
}

static status load_one(const json_t *value, const char *place, const vocabulary *model, added_tokens *a, added *one,
                       error *err)
{
    fields f;
    const char *text = NULL;
    int64_t id = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_count(&f, "id", -1, &id, err));
    TRY(fields_text(&f, "content", NULL, &text, err));
    TRY(fields_bool(&f, "single_word", false, &one->single_word, err));
    TRY(fields_bool(&f, "lstrip", false, &one->lstrip, err));
    TRY(fields_bool(&f, "rstrip", false, &one->rstrip, err));
    TRY(fields_bool(&f, "special", false, &one->special, err));
    TRY(fields_bool(&f, "normalized", !one->special, &one->normalized, err));
    TRY(fields_end(&f, err));
    int32_t known = vocabulary_find(model, text, strlen(text));
    if (id < 0 || id >= VOCABULARY_IDS)
        return FAIL(err, E_DATA, "%s.id: must be an integer from 0 to %d", place, VOCABULARY_IDS - 1);
    if (known != VOCABULARY_NONE && known != id)
        return FAIL(err, E_DATA, "%s.id: is %lld, but '%s' has the id %d in the vocabulary", place, (long long)id,
                    text, known);
    one->id = (int32_t)id;
    vocabulary_add(a->tokens, text, strlen(text), one->id, true);
    return OK;
}

static void fill(added_tokens *a, const json_t *list, bool special, const normalizer *n, status *st, error *err)
{
    for (size_t i = 0; i < a->n && *st == OK; i++) {
        const json_t *text = json_object_get(json_array_get(list, i), "content");
        if (a->at[i].special != special)
            continue;
        if (a->at[i].normalized)
            *st = put_normalized(a, json_string_value(text), json_string_length(text), i, n, err);
        else
            put(&a->finders[false], json_string_value(text), json_string_length(text), i);
    }
}

status added_tokens_load(const json_t *list, const char *place, const vocabulary *model, const normalizer *n,
                         added_tokens **ret, error *err)
{
    if (list && !json_is_array(list))
        return FAIL(err, E_DATA, "%s: is %s; it must be an array", place, json_kind(list));
    added_tokens *a = xcalloc(1, sizeof *a);
    a->tokens = vocabulary_create();
    a->n = json_array_size(list);
    a->at = xcalloc(a->n + 1, sizeof *a->at);
    for (int i = 0; i < 2; i++)
        a->finders[i] = (finder){.texts = trie_create(), .is_empty = true};
    status st = OK;
    for (size_t i = 0; i < a->n && st == OK; i++) {
        char where[FIELDS_PLACE];
        snprintf(where, sizeof where, "%.400s[%zu]", place, i);
        st = load_one(json_array_get(list, i), where, model, a, &a->at[i], err);
    }
    fill(a, list, true, n, &st, err); /* special ones first: they count where two become the same text */
    fill(a, list, false, n, &st, err);
    *ret = a;
    if (st != OK)
        added_tokens_destroy(ret);
    return st;
}

void added_tokens_destroy(added_tokens **a)
{
    if (!*a)
        return;
    vocabulary_destroy(&(*a)->tokens);
    for (int i = 0; i < 2; i++)
        trie_destroy(&(*a)->finders[i].texts);
    free((*a)->at);
    free(*a);
    *a = NULL;
}

const vocabulary *added_tokens_vocabulary(const added_tokens *a)
{
    return a->tokens;
}

bool added_tokens_is_special(const added_tokens *a, int32_t id)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].id == id && a->at[i].special)
            return true;
    return false;
}

/* The longest that begins at `at`: its place, and its end. */
static int32_t longest(const finder *f, const char *text, uint32_t at, uint32_t end, uint32_t *ret_end)
{
    int32_t node = TRIE_ROOT, found = TRIE_NONE;
    while (at < end) {
        node = trie_step(f->texts, node, (unsigned char)text[at++]);
        if (node == TRIE_NONE)
            break;
        if (trie_value(f->texts, node) == TRIE_NONE)
            continue;
        found = trie_value(f->texts, node);
        *ret_end = at;
    }
    return found;
}

static bool is_word_before(const char *text, uint32_t begin, uint32_t at)
{
    size_t n = 0;
    return at > begin && chars_is(chars_next(text + chars_back(text, at), &n), CHAR_WORD);
}

static bool is_word_at(const char *text, uint32_t at, uint32_t end)
{
    size_t n = 0;
    return at < end && chars_is(chars_next(text + at, &n), CHAR_WORD);
}

static uint32_t spaces_before(const char *text, uint32_t begin, uint32_t at)
{
    size_t n = 0;
    while (at > begin && chars_is(chars_next(text + chars_back(text, at), &n), CHAR_SPACE))
        at = (uint32_t)chars_back(text, at);
    return at;
}

static uint32_t spaces_behind(const char *text, uint32_t at, uint32_t end)
{
    size_t n = 0;
    while (at < end && chars_is(chars_next(text + at, &n), CHAR_SPACE))
        at += (uint32_t)n;
    return at;
}

void added_tokens_cut(const added_tokens *a, bool normalized, const run *r, piece of, pieces *out)
{
    const finder *f = &a->finders[normalized];
    const char *text = r->text;
    uint32_t done = of.begin, end = 0;
    for (uint32_t at = of.begin; !f->is_empty && at < of.end;) {
        int32_t place = TRIE_NONE;
        if (f->begins[(unsigned char)text[at]])
            place = longest(f, text, at, of.end, &end);
        if (place == TRIE_NONE) {
            at++;
            continue;
        }
        const added *one = &a->at[place];
        uint32_t begin = at;
        at = end;
        if (one->single_word && (is_word_before(text, of.begin, begin) || is_word_at(text, end, of.end)))
            continue;
        if (one->lstrip) /* as far as the one before leaves them */
            begin = spaces_before(text, done < begin ? done : begin, begin);
        if (one->rstrip)
            end = spaces_behind(text, end, of.end);
        pieces_cut(out, r, done, begin);
        pieces_add(out, (piece){begin, end, r->from[begin].begin, one->id});
        done = end;
    }
    pieces_cut(out, r, done, of.end);
}
