/* See pre_tokenize.h: a list of steps; some only cut the pieces, some rewrite their text. */
#include "text/pre_tokenize.h"

#include "common/base/alloc.h"
#include "text/byte_level.h"
#include "text/chars.h"
#include "text/cut.h"
#include "text/fields.h"
#include "text/scan.h"

#include <stdlib.h>
#include <string.h>

/* Everything that a step may need, of which it uses what is its own. */
typedef struct step step;
struct step {
    /* one of the two */
    status (*cut)(const step *s, pre_tokenize_scratch *scratch, const run *text, piece of, pieces *out, error *err);
    void (*rewrite)(const step *s, rewrite *w);
    cut_behavior behavior;
    bool inverted;
    uint32_t class; /* of characters that are delimiters */
    uint32_t code;  /* the delimiter */
    scan *scan;
    pattern *pattern;
    enum { PREFIX_NEVER, PREFIX_FIRST, PREFIX_ALWAYS } prefix;
};

struct pre_tokenizer {
    step *steps;
    size_t n, cap;
};

/* --- cutting --- */

static status cut_by_class(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                           error *err)
{
    (void)scratch, (void)err;
    cutter c = cutter_begin(s->behavior, false, r, out);
    size_t n = 0;
    uint32_t begin = of.begin;
    for (uint32_t at = begin; at < of.end; at += (uint32_t)n) {
        if (!chars_is(chars_next(r->text + at, &n), s->class))
            continue;
        cutter_part(&c, begin, at, false);
        begin = at + (uint32_t)n;
        cutter_part(&c, at, begin, true);
    }
    cutter_part(&c, begin, of.end, false);
    cutter_end(&c);
    return OK;
}

static status cut_by_char(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                          error *err)
{
    (void)scratch, (void)err;
    cutter c = cutter_begin(s->behavior, false, r, out);
    size_t n = 0;
    uint32_t begin = of.begin;
    for (uint32_t at = begin; at < of.end; at += (uint32_t)n) {
        if (chars_next(r->text + at, &n) != s->code)
            continue;
        cutter_part(&c, begin, at, false);
        begin = at + (uint32_t)n;
        cutter_part(&c, at, begin, true);
    }
    cutter_part(&c, begin, of.end, false);
    cutter_end(&c);
    return OK;
}

/* BERT: white space goes, every punctuation mark is a word. */
static status cut_bert(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                       error *err)
{
    (void)s, (void)scratch, (void)err;
    size_t n = 0;
    uint32_t begin = of.begin;
    for (uint32_t at = begin; at < of.end; at += (uint32_t)n) {
        uint32_t class = chars_of(chars_next(r->text + at, &n)) & (CHAR_SPACE | CHAR_PUNCTUATION);
        if (!class)
            continue;
        pieces_cut(out, r, begin, at);
        begin = at + (uint32_t)n;
        if (!(class & CHAR_SPACE))
            pieces_cut(out, r, at, begin);
    }
    pieces_cut(out, r, begin, of.end);
    return OK;
}

/* \w+|[^\w\s]+ */
static status cut_words(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                        error *err)
{
    (void)s, (void)scratch, (void)err;
    size_t n = 0;
    uint32_t begin = of.begin, kind = CHAR_SPACE;
    for (uint32_t at = begin; at < of.end; at += (uint32_t)n) {
        uint32_t here = chars_of(chars_next(r->text + at, &n)) & (CHAR_SPACE | CHAR_WORD);
        if (here == kind)
            continue;
        if (kind != CHAR_SPACE)
            pieces_cut(out, r, begin, at);
        begin = at;
        kind = here;
    }
    if (kind != CHAR_SPACE)
        pieces_cut(out, r, begin, of.end);
    return OK;
}

static status cut_by_pattern(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                             error *err)
{
    cutter c = cutter_begin(s->behavior, s->inverted, r, out);
    const char *text = r->text + of.begin;
    uint32_t bytes = of.end - of.begin, from = 0, begin, end, done = 0;
    while (from < bytes) {
        bool found;
        TRY(pattern_find(s->pattern, scratch->patterns, text, bytes, from, &found, &begin, &end, err));
        if (!found)
            break;
        cutter_part(&c, of.begin + done, of.begin + begin, false);
        cutter_part(&c, of.begin + begin, of.begin + end, true);
        size_t n = 0;
        if (begin == end && end < bytes)
            chars_next(text + end, &n);
        done = end;
        from = end + (uint32_t)n + (begin == end && n == 0);
    }
    cutter_part(&c, of.begin + done, of.end, false);
    cutter_end(&c);
    return OK;
}

/* A pattern that matches everywhere: with words for delimiters. */
static status cut_by_scan(const step *s, pre_tokenize_scratch *scratch, const run *r, piece of, pieces *out,
                          error *err)
{
    (void)scratch, (void)err;
    cutter c = cutter_begin(s->behavior, s->inverted, r, out);
    const char *text = r->text + of.begin;
    uint32_t bytes = of.end - of.begin;
    for (uint32_t at = 0, end; at < bytes; at = end) {
        end = s->scan(text, bytes, at);
        if (s->behavior == CUT_ISOLATED)
            pieces_cut(out, r, of.begin + at, of.begin + end);
        else
            cutter_part(&c, of.begin + at, of.begin + end, true);
    }
    cutter_end(&c);
    return OK;
}

/* --- rewriting --- */

static bool begins_with(const rewrite *w, uint32_t code)
{
    size_t n = 0;
    return chars_next(w->in->text + w->at, &n) == code;
}

static void put_prefix(const step *s, rewrite *w)
{
    char text[UTF8_MAX];
    rewrite_prepend(w, text, utf8_write(s->code, text));
}

static void rewrite_space_first(const step *s, rewrite *w)
{
    if (!begins_with(w, s->code))
        put_prefix(s, w);
    rewrite_keep(w, w->of.end);
}

static void rewrite_bytes(const step *s, rewrite *w)
{
    (void)s;
    byte_level_rewrite(w);
}

static void rewrite_metaspace(const step *s, rewrite *w)
{
    bool wants = s->prefix == PREFIX_ALWAYS || (s->prefix == PREFIX_FIRST && w->of.origin == 0);
    if (wants && !begins_with(w, s->code) && !begins_with(w, ' '))
        put_prefix(s, w);
    while (w->at < w->of.end) {
        const char *blank = memchr(w->in->text + w->at, ' ', w->of.end - w->at);
        rewrite_keep(w, blank ? (uint32_t)(blank - w->in->text) : w->of.end);
        if (blank)
            rewrite_put(w, s->code, 0);
    }
}

/* --- loading --- */

static step *add(pre_tokenizer *p, step what)
{
    GROW(p->steps, p->cap, p->n + 1);
    p->steps[p->n] = what;
    return &p->steps[p->n++];
}

static status load_byte_level(fields *f, pre_tokenizer *p, error *err)
{
    bool prefix, regex;
    TRY(fields_bool(f, "add_prefix_space", true, &prefix, err));
    TRY(fields_bool(f, "use_regex", true, &regex, err));
    fields_ignore(f, "trim_offsets"); /* of the post-processor */
    if (prefix)
        add(p, (step){.rewrite = rewrite_space_first, .code = ' '});
    if (regex)
        add(p, (step){.cut = cut_by_scan, .scan = scan_gpt2, .behavior = CUT_ISOLATED});
    add(p, (step){.rewrite = rewrite_bytes});
    return OK;
}

static status load_metaspace(fields *f, pre_tokenizer *p, error *err)
{
    static const char *const schemes[] = {"never", "first", "always", NULL};
    bool old, split;
    int scheme = PREFIX_ALWAYS;
    step s = {.rewrite = rewrite_metaspace};
    TRY(fields_char(f, "replacement", "\xE2\x96\x81", &s.code, err));
    fields_ignore(f, "str_rep");
    TRY(fields_bool(f, "add_prefix_space", true, &old, err)); /* what old files have instead of the scheme */
    TRY(fields_choice(f, "prepend_scheme", schemes, old ? PREFIX_ALWAYS : PREFIX_NEVER, &scheme, err));
    TRY(fields_bool(f, "split", true, &split, err));
    s.prefix = scheme;
    add(p, s);
    if (split)
        add(p, (step){.cut = cut_by_char, .code = s.code, .behavior = CUT_MERGED_WITH_NEXT});
    return OK;
}

static status load_punctuation(fields *f, pre_tokenizer *p, error *err)
{
    int behavior = CUT_ISOLATED;
    TRY(fields_choice(f, "behavior", cut_behavior_words, CUT_ISOLATED, &behavior, err));
    add(p, (step){.cut = cut_by_class, .class = CHAR_PUNCTUATION, .behavior = (cut_behavior)behavior});
    return OK;
}

static status load_digits(fields *f, pre_tokenizer *p, error *err)
{
    bool each;
    TRY(fields_bool(f, "individual_digits", false, &each, err));
    cut_behavior behavior = each ? CUT_ISOLATED : CUT_CONTIGUOUS;
    add(p, (step){.cut = cut_by_class, .class = CHAR_NUMERIC, .behavior = behavior});
    return OK;
}

static status load_delimiter(fields *f, pre_tokenizer *p, error *err)
{
    step s = {.cut = cut_by_char, .behavior = CUT_REMOVED};
    TRY(fields_char(f, "delimiter", NULL, &s.code, err));
    add(p, s);
    return OK;
}

static status load_split(fields *f, pre_tokenizer *p, error *err)
{
    int behavior = CUT_ISOLATED;
    bool inverted, is_regex;
    char place[FIELDS_PLACE];
    TRY(fields_choice(f, "behavior", cut_behavior_words, -1, &behavior, err));
    TRY(fields_bool(f, "invert", false, &inverted, err));
    const json_t *value = fields_any(f, "pattern"), *regex = json_object_get(value, "Regex");
    fields_inside(f, "pattern", -1, place);
    scan *known = json_is_string(regex) ? scan_of(json_string_value(regex)) : NULL;
    step *s = add(p, (step){.behavior = (cut_behavior)behavior, .inverted = inverted, .scan = known});
    s->cut = known ? cut_by_scan : cut_by_pattern;
    return known ? OK : pattern_load(value, place, &s->pattern, &is_regex, err);
}

static status load_one(const json_t *value, const char *place, int depth, pre_tokenizer *p, error *err);

static status load_sequence(fields *f, int depth, pre_tokenizer *p, error *err)
{
    const json_t *list = NULL;
    TRY(fields_list(f, "pretokenizers", &list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[FIELDS_PLACE];
        fields_inside(f, "pretokenizers", (int)i, place);
        TRY(load_one(json_array_get(list, i), place, depth + 1, p, err));
    }
    return OK;
}

enum { BERT, WHITESPACE, WHITESPACE_SPLIT, BYTE_LEVEL, METASPACE, DIGITS, PUNCTUATION, SPLIT, DELIMITER, SEQUENCE };

static const char *const types[] = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "ByteLevel",
                                    "Metaspace",        "Digits",     "Punctuation",     "Split",
                                    "CharDelimiterSplit", "Sequence", NULL};

static status load_one(const json_t *value, const char *place, int depth, pre_tokenizer *p, error *err)
{
    fields f;
    int type = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "type", types, -1, &type, err));
    if (depth > FIELDS_DEPTH)
        return FAIL(err, E_DATA, "%s: sequences inside each other more than %d deep", place, FIELDS_DEPTH);
    status st = OK;
    switch (type) {
    case BERT: add(p, (step){.cut = cut_bert}); break;
    case WHITESPACE: add(p, (step){.cut = cut_words}); break;
    case WHITESPACE_SPLIT:
        add(p, (step){.cut = cut_by_class, .class = CHAR_SPACE, .behavior = CUT_REMOVED});
        break;
    case BYTE_LEVEL: st = load_byte_level(&f, p, err); break;
    case METASPACE: st = load_metaspace(&f, p, err); break;
    case DIGITS: st = load_digits(&f, p, err); break;
    case PUNCTUATION: st = load_punctuation(&f, p, err); break;
    case SPLIT: st = load_split(&f, p, err); break;
    case DELIMITER: st = load_delimiter(&f, p, err); break;
    default: st = load_sequence(&f, depth, p, err); break;
    }
    TRY(st);
    return fields_end(&f, err);
}

status pre_tokenizer_load(const json_t *value, const char *place, pre_tokenizer **ret, error *err)
{
    *ret = NULL;
    if (!value)
        return OK;
    pre_tokenizer *p = xcalloc(1, sizeof *p);
    status st = load_one(value, place, 0, p, err);
    if (st != OK)
        pre_tokenizer_destroy(&p);
    *ret = p;
    return st;
}

void pre_tokenizer_destroy(pre_tokenizer **p)
{
    if (!*p)
        return;
    for (size_t i = 0; i < (*p)->n; i++)
        pattern_destroy(&(*p)->steps[i].pattern);
    free((*p)->steps);
    free(*p);
    *p = NULL;
}

/* --- applying --- */

static status apply_rewrite(const step *s, const words *from, words *to, error *err)
{
    if (from->text.bytes > RUN_LIMIT)
        return FAIL(err, E_DATA, "a text has grown to more than %d bytes; give it in parts", RUN_LIMIT);
    for (size_t i = 0; i < from->pieces.n; i++) {
        piece p = from->pieces.at[i];
        uint32_t begin = to->text.bytes;
        rewrite w = rewrite_begin(&from->text, &to->text, p);
        if (p.id == PIECE_OPEN)
            s->rewrite(s, &w);
        else
            rewrite_keep(&w, p.end);
        pieces_add(&to->pieces, (piece){begin, to->text.bytes, p.origin, p.id});
    }
    return OK;
}

static status apply_cut(const step *s, pre_tokenize_scratch *scratch, const words *from, words *to, error *err)
{
    for (size_t i = 0; i < from->pieces.n; i++) {
        piece p = from->pieces.at[i];
        if (p.id == PIECE_OPEN)
            TRY(s->cut(s, scratch, &from->text, p, &to->pieces, err));
        else
            pieces_add(&to->pieces, p);
    }
    return OK;
}

status pre_tokenizer_apply(const pre_tokenizer *p, pre_tokenize_scratch *s, words *w, error *err)
{
    for (size_t i = 0; p && i < p->n; i++) {
        words *to = &s->spare, old = *w;
        pieces_clear(&to->pieces);
        run_clear(&to->text);
        if (p->steps[i].rewrite) {
            TRY(apply_rewrite(&p->steps[i], w, to, err));
            w->text = to->text;
            to->text = old.text;
        } else {
            TRY(apply_cut(&p->steps[i], s, w, to, err));
        }
        w->pieces = to->pieces;
        to->pieces = old.pieces;
    }
    return OK;
}
