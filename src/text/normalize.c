/* See normalize.h: a list of steps, each of which rewrites the run of the one before. */
#include "text/normalize.h"

#include "common/base/alloc.h"
#include "text/byte_level.h"
#include "text/chars.h"
#include "text/charsmap.h"
#include "text/fields.h"

#include <stdlib.h>
#include <string.h>

/* Everything that a step may need, of which it uses what is its own. */
typedef struct step step;
struct step {
    status (*apply)(const step *s, normalize_scratch *scratch, rewrite *w, error *err);
    form form;
    bool left, right;
    char *content;
    pattern *pattern;
    charsmap *charsmap;
};

enum { GROWTH = 12 }; /* bytes that one becomes; U+FDFA is 3, and 33 decomposed */
/* Bytes that all steps may leave, and more for each byte of the text. */
enum { MOST = 64 << 10, MOST_OF_BYTE = 64 };

struct normalizer {
    step *steps;
    size_t n, cap;
};

void normalize_scratch_fini(normalize_scratch *s)
{
    run_fini(&s->between[0]);
    run_fini(&s->between[1]);
    forms_scratch_fini(&s->forms);
    pattern_scratch_destroy(&s->patterns);
}

static status check_grown(const normalize_scratch *scratch, const run *out, error *err)
{
    if (out->bytes > scratch->most)
        return FAIL(err, E_DATA, "the tokenizer's normalizers make a text %d times as long, and longer", MOST_OF_BYTE);
    return OK;
}

/* --- the steps --- */

/* The next character that is no ASCII; what stands before it is copied. false: there is none. */
static bool next_foreign(rewrite *w, uint32_t *ret_code, uint32_t *ret_end)
{
    uint32_t at = w->at;
    while (at < w->of.end && (unsigned char)w->in->text[at] < 0x80)
        at++;
    rewrite_keep(w, at);
    if (at == w->of.end)
        return false;
    size_t n = 0;
    *ret_code = chars_next(w->in->text + at, &n);
    *ret_end = at + (uint32_t)n;
    return true;
}

static status apply_form(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)err;
    forms_rewrite(s->form, &scratch->forms, w);
    return OK;
}

static void lower_ascii(char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(text[i] + (text[i] >= 'A' && text[i] <= 'Z' ? 'a' - 'A' : 0));
}

static status apply_lowercase(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    for (;;) {
        uint32_t code, end, low[2], before = w->out->bytes;
        bool more = next_foreign(w, &code, &end);
        lower_ascii(w->out->text + before, w->out->bytes - before);
        if (!more)
            return OK;
        size_t codes = chars_lower(code, low);
        rewrite_put(w, low[0], 0);
        if (codes > 1)
            rewrite_put(w, low[1], 1);
    }
}

/* Leaves out characters of a class, in which there is no ASCII. */
static void drop(rewrite *w, uint32_t class)
{
    uint32_t code, end;
    while (next_foreign(w, &code, &end)) {
        if (chars_is(code, class))
            w->at = end;
        else
            rewrite_keep(w, end);
    }
}

static status apply_drop_nonspacing(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    drop(w, CHAR_NONSPACING);
    return OK;
}

static status apply_drop_marks(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    drop(w, CHAR_MARK);
    return OK;
}

/* BERT's cleaning: no control characters, and only one kind of white space. */
static status apply_clean(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    while (w->at < w->of.end) {
        uint32_t end = w->at;
        while (end < w->of.end && w->in->text[end] >= ' ' && w->in->text[end] < 0x7F)
            end++;
        rewrite_keep(w, end);
        if (end == w->of.end)
            return OK;
        size_t n = 0;
        uint32_t code = chars_next(w->in->text + w->at, &n);
        if (chars_is(code, CHAR_DIRT))
            w->at += (uint32_t)n;
        else
            rewrite_put(w, chars_is(code, CHAR_SPACE) ? ' ' : code, 0);
    }
    return OK;
}

static bool is_chinese(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                         {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                         {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (size_t i = 0; c >= 0x3400 && i < COUNT_OF(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static status apply_space_chinese(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    uint32_t code, end;
    while (next_foreign(w, &code, &end)) {
        if (!is_chinese(code)) {
            rewrite_keep(w, end);
            continue;
        }
        rewrite_put(w, ' ', 1);
        rewrite_put(w, code, 0);
        rewrite_put(w, ' ', 1);
    }
    return OK;
}

static status apply_strip(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)scratch, (void)err;
    const char *text = w->in->text;
    size_t n = 0;
    while (s->left && w->at < w->of.end && chars_is(chars_next(text + w->at, &n), CHAR_SPACE))
        w->at += (uint32_t)n;
    uint32_t end = w->of.end;
    while (s->right && end > w->at) {
        size_t back = chars_back(text, end);
        if (!chars_is(chars_next(text + back, &n), CHAR_SPACE))
            break;
        end = (uint32_t)back;
    }
    rewrite_keep(w, end);
    return OK;
}

static status apply_prepend(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)scratch, (void)err;
    rewrite_prepend(w, s->content, strlen(s->content));
    rewrite_keep(w, w->of.end);
    return OK;
}

static status apply_replace(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    const char *text = w->in->text + w->of.begin;
    uint32_t bytes = w->of.end - w->of.begin, from = 0;
    while (from <= bytes) {
        bool found;
        uint32_t begin, end;
        size_t n = 1;
        TRY(pattern_find(s->pattern, scratch->patterns, text, bytes, from, &found, &begin, &end, err));
        if (!found)
            break;
        rewrite_keep(w, w->of.begin + begin);
        w->at = w->of.begin + end;
        for (const char *c = s->content; *c; c += n)
            rewrite_put(w, chars_next(c, &n), 1);
        TRY(check_grown(scratch, w->out, err));
        if (begin == end && end < bytes)
            chars_next(text + end, &n);
        from = begin == end ? end + (uint32_t)n : end;
    }
    rewrite_keep(w, w->of.end);
    return OK;
}

static status apply_byte_level(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)s, (void)scratch, (void)err;
    byte_level_rewrite(w);
    return OK;
}

static status apply_charsmap(const step *s, normalize_scratch *scratch, rewrite *w, error *err)
{
    (void)scratch, (void)err;
    charsmap_rewrite(s->charsmap, w);
    return OK;
}

/* --- loading --- */

static step *add(normalizer *n)
{
    GROW(n->steps, n->cap, n->n + 1);
    n->steps[n->n] = (step){.apply = NULL};
    return &n->steps[n->n++];
}

static status load_bert(fields *f, normalizer *n, error *err)
{
    bool clean, chinese, lower, strip;
    TRY(fields_bool(f, "clean_text", true, &clean, err));
    TRY(fields_bool(f, "handle_chinese_chars", true, &chinese, err));
    TRY(fields_bool(f, "lowercase", true, &lower, err));
    TRY(fields_bool(f, "strip_accents", lower, &strip, err)); /* null: as lowercase says */
    if (clean)
        add(n)->apply = apply_clean;
    if (chinese)
        add(n)->apply = apply_space_chinese;
    if (strip) {
        *add(n) = (step){.apply = apply_form, .form = FORM_NFD};
        add(n)->apply = apply_drop_nonspacing;
    }
    if (lower)
        add(n)->apply = apply_lowercase;
    return OK;
}

static status load_strip(fields *f, normalizer *n, error *err)
{
    step *s = add(n);
    s->apply = apply_strip;
    TRY(fields_bool(f, "strip_left", true, &s->left, err));
    return fields_bool(f, "strip_right", true, &s->right, err);
}

static status load_prepend(fields *f, normalizer *n, error *err)
{
    const char *text = NULL;
    TRY(fields_text(f, "prepend", NULL, &text, err));
    *add(n) = (step){.apply = apply_prepend, .content = xstrdup(text)};
    return OK;
}

static status load_replace(fields *f, normalizer *n, error *err)
{
    const char *content = NULL;
    char place[FIELDS_PLACE];
    bool is_regex;
    fields_inside(f, "pattern", -1, place);
    TRY(fields_text(f, "content", NULL, &content, err));
    step *s = add(n);
    *s = (step){.apply = apply_replace, .content = xstrdup(content)};
    TRY(pattern_load(fields_any(f, "pattern"), place, &s->pattern, &is_regex, err));
    if (is_regex && strchr(content, '$'))
        return FAIL(err, E_DATA, "%s: groups ($1) in the content are not known here", f->place);
    return OK;
}

static status load_charsmap(fields *f, normalizer *n, error *err)
{
    const char *table = NULL;
    char place[FIELDS_PLACE];
    fields_inside(f, "precompiled_charsmap", -1, place);
    TRY(fields_text(f, "precompiled_charsmap", NULL, &table, err));
    step *s = add(n);
    s->apply = apply_charsmap;
    return charsmap_load(table, place, &s->charsmap, err);
}

static status load_one(const json_t *value, const char *place, int depth, normalizer *n, error *err);

static status load_sequence(fields *f, int depth, normalizer *n, error *err)
{
    const json_t *list = NULL;
    TRY(fields_list(f, "normalizers", &list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[FIELDS_PLACE];
        fields_inside(f, "normalizers", (int)i, place);
        TRY(load_one(json_array_get(list, i), place, depth + 1, n, err));
    }
    return OK;
}

enum { BERT, NFC, NFD, NFKC, NFKD, LOWERCASE, STRIP, STRIP_ACCENTS, REPLACE, PREPEND, BYTE_LEVEL, CHARSMAP, SEQUENCE };

static const char *const types[] = {"BertNormalizer", "NFC",         "NFD",          "NFKC",    "NFKD",
                                    "Lowercase",      "Strip",       "StripAccents", "Replace", "Prepend",
                                    "ByteLevel",      "Precompiled", "Sequence",     NULL};

static status load_one(const json_t *value, const char *place, int depth, normalizer *n, error *err)
{
    static const form forms[] = {[NFC] = FORM_NFC, [NFD] = FORM_NFD, [NFKC] = FORM_NFKC, [NFKD] = FORM_NFKD};
    fields f;
    int type = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "type", types, -1, &type, err));
    if (depth > FIELDS_DEPTH)
        return FAIL(err, E_DATA, "%s: sequences inside each other more than %d deep", place, FIELDS_DEPTH);
    status st = OK;
    switch (type) {
    case BERT: st = load_bert(&f, n, err); break;
    case LOWERCASE: add(n)->apply = apply_lowercase; break;
    case STRIP: st = load_strip(&f, n, err); break;
    case STRIP_ACCENTS: add(n)->apply = apply_drop_marks; break;
    case REPLACE: st = load_replace(&f, n, err); break;
    case PREPEND: st = load_prepend(&f, n, err); break;
    case BYTE_LEVEL: add(n)->apply = apply_byte_level; break;
    case CHARSMAP: st = load_charsmap(&f, n, err); break;
    case SEQUENCE: st = load_sequence(&f, depth, n, err); break;
    default: *add(n) = (step){.apply = apply_form, .form = forms[type]}; break;
    }
    TRY(st);
    return fields_end(&f, err);
}

status normalizer_load(const json_t *value, const char *place, normalizer **ret, error *err)
{
    *ret = NULL;
    if (!value)
        return OK;
    normalizer *n = xcalloc(1, sizeof *n);
    status st = load_one(value, place, 0, n, err);
    if (st != OK)
        normalizer_destroy(&n);
    *ret = n;
    return st;
}

void normalizer_destroy(normalizer **n)
{
    if (!*n)
        return;
    for (size_t i = 0; i < (*n)->n; i++) {
        free((*n)->steps[i].content);
        pattern_destroy(&(*n)->steps[i].pattern);
        charsmap_destroy(&(*n)->steps[i].charsmap);
    }
    free((*n)->steps);
    free(*n);
    *n = NULL;
}

/* Whether what a step may leave has room. */
static status check_growth(const step *s, piece of, const run *out, error *err)
{
    uint64_t content = s->content ? strlen(s->content) : s->charsmap ? charsmap_longest(s->charsmap) : 0;
    uint64_t each = content + 1 > GROWTH ? content + 1 : GROWTH;
    if (out->bytes + (of.end - of.begin) * each + content > RUN_LIMIT)
        return FAIL(err, E_DATA, "a text may grow to more than %d bytes as it is normalized; give it in parts",
                    RUN_LIMIT);
    return OK;
}

status normalizer_apply(const normalizer *n, normalize_scratch *s, const run *in, piece of, run *out, error *err)
{
    uint64_t most = MOST + (uint64_t)MOST_OF_BYTE * (of.end - of.begin);
    for (size_t i = 0; n && i < n->n && of.begin < of.end; i++) {
        bool is_last = i + 1 == n->n;
        run *to = is_last ? out : &s->between[i % 2];
        if (!is_last)
            run_clear(to);
        uint32_t begin = to->bytes;
        s->most = begin + most;
        TRY(check_growth(&n->steps[i], of, to, err));
        rewrite w = rewrite_begin(in, to, of);
        TRY(n->steps[i].apply(&n->steps[i], s, &w, err));
        TRY(check_grown(s, to, err));
        in = to;
        of = (piece){begin, to->bytes, of.origin, PIECE_OPEN};
    }
    if (!n || n->n == 0)
        run_copy(out, in, of.begin, of.end);
    return OK;
}
