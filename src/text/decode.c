/* See decode.h: a list of steps. */
#include "text/decode.h"

#include "common/base/alloc.h"
#include "text/decode_steps.h"
#include "text/fields.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a step may leave, and more for each byte of the tokens. */
enum { MOST = 64 << 10, MOST_OF_BYTE = 64 };

struct decoder {
    decode_step *steps;
    size_t n, cap;
};

/* --- loading --- */

static decode_step *add(decoder *d, decode_step what)
{
    GROW(d->steps, d->cap, d->n + 1);
    d->steps[d->n] = what;
    return &d->steps[d->n++];
}

static status load_word_piece(fields *f, decoder *d, error *err)
{
    const char *prefix = NULL;
    bool cleans;
    TRY(fields_text(f, "prefix", "##", &prefix, err));
    TRY(fields_bool(f, "cleanup", true, &cleans, err));
    add(d, (decode_step){.apply = decode_word_piece, .content = xstrdup(prefix), .cleans = cleans});
    return OK;
}

static status load_metaspace(fields *f, decoder *d, error *err)
{
    static const char *const schemes[] = {"never", "first", "always", NULL};
    bool old, split;
    int scheme = 0;
    decode_step s = {.apply = decode_metaspace};
    TRY(fields_char(f, "replacement", "\xE2\x96\x81", &s.code, err));
    fields_ignore(f, "str_rep");
    TRY(fields_bool(f, "add_prefix_space", true, &old, err));
    TRY(fields_choice(f, "prepend_scheme", schemes, old ? 2 : 0, &scheme, err));
    TRY(fields_bool(f, "split", true, &split, err));
    s.drops_first = scheme != 0;
    add(d, s);
    return OK;
}

static status load_suffix(fields *f, decoder *d, error *err)
{
    const char *suffix = NULL;
    TRY(fields_text(f, "suffix", "</w>", &suffix, err));
    add(d, (decode_step){.apply = decode_suffix, .content = xstrdup(suffix)});
    return OK;
}

static status load_ctc(fields *f, decoder *d, error *err)
{
    const char *pad = NULL, *delimiter = NULL;
    bool cleans;
    TRY(fields_text(f, "pad_token", "<pad>", &pad, err));
    TRY(fields_text(f, "word_delimiter_token", "|", &delimiter, err));
    TRY(fields_bool(f, "cleanup", true, &cleans, err));
    add(d, (decode_step){.apply = decode_ctc,
                         .content = xstrdup(pad),
                         .extra = xstrdup(delimiter),
                         .cleans = cleans});
    return OK;
}

static status load_strip(fields *f, decoder *d, error *err)
{
    decode_step s = {.apply = decode_strip};
    TRY(fields_char(f, "content", NULL, &s.code, err));
    TRY(fields_count(f, "start", 0, &s.start, err));
    TRY(fields_count(f, "stop", 0, &s.stop, err));
    add(d, s);
    return OK;
}

static status load_replace(fields *f, decoder *d, error *err)
{
    const char *content = NULL;
    char place[FIELDS_PLACE];
    bool is_regex;
    fields_inside(f, "pattern", -1, place);
    TRY(fields_text(f, "content", NULL, &content, err));
    decode_step *s = add(d, (decode_step){.apply = decode_replace, .content = xstrdup(content)});
    TRY(pattern_load(fields_any(f, "pattern"), place, &s->pattern, &is_regex, err));
    if (is_regex && strchr(content, '$'))
        return FAIL(err, E_DATA, "%s: groups ($1) in the content are not known here", f->place);
    return OK;
}

static status load_one(const json_t *value, const char *place, int depth, decoder *d, error *err);

static status load_sequence(fields *f, int depth, decoder *d, error *err)
{
    const json_t *list = NULL;
    TRY(fields_list(f, "decoders", &list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[FIELDS_PLACE];
        fields_inside(f, "decoders", (int)i, place);
        TRY(load_one(json_array_get(list, i), place, depth + 1, d, err));
    }
    return OK;
}

static status load_byte_level(fields *f, decoder *d, error *err)
{
    (void)err;
    fields_ignore(f, "add_prefix_space"); /* of the pre-tokenizer, as the others */
    fields_ignore(f, "trim_offsets");
    fields_ignore(f, "use_regex");
    add(d, (decode_step){.apply = decode_byte_level});
    return OK;
}

enum { WORD_PIECE, BYTE_LEVEL, METASPACE, SUFFIX, CTC, FUSE, STRIP, REPLACE, BYTE_FALLBACK, SEQUENCE };

static const char *const types[] = {"WordPiece", "ByteLevel", "Metaspace", "BPEDecoder",   "CTC",
                                    "Fuse",      "Strip",     "Replace",   "ByteFallback", "Sequence", NULL};

static status load_one(const json_t *value, const char *place, int depth, decoder *d, error *err)
{
    fields f;
    int type = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "type", types, -1, &type, err));
    if (depth > FIELDS_DEPTH)
        return FAIL(err, E_DATA, "%s: sequences inside each other more than %d deep", place, FIELDS_DEPTH);
    status st = OK;
    switch (type) {
    case WORD_PIECE: st = load_word_piece(&f, d, err); break;
    case BYTE_LEVEL: st = load_byte_level(&f, d, err); break;
    case METASPACE: st = load_metaspace(&f, d, err); break;
    case SUFFIX: st = load_suffix(&f, d, err); break;
    case CTC: st = load_ctc(&f, d, err); break;
    case FUSE: add(d, (decode_step){.apply = decode_fuse}); break;
    case STRIP: st = load_strip(&f, d, err); break;
    case REPLACE: st = load_replace(&f, d, err); break;
    case BYTE_FALLBACK: add(d, (decode_step){.apply = decode_byte_fallback}); break;
    default: st = load_sequence(&f, depth, d, err); break;
    }
    TRY(st);
    return fields_end(&f, err);
}

status decoder_load(const json_t *value, const char *place, decoder **ret, error *err)
{
    *ret = NULL;
    if (!value)
        return OK;
    decoder *d = xcalloc(1, sizeof *d);
    status st = load_one(value, place, 0, d, err);
    if (st != OK)
        decoder_destroy(&d);
    *ret = d;
    return st;
}

void decoder_destroy(decoder **d)
{
    if (!*d)
        return;
    for (size_t i = 0; i < (*d)->n; i++) {
        free((*d)->steps[i].content);
        free((*d)->steps[i].extra);
        pattern_destroy(&(*d)->steps[i].pattern);
    }
    free((*d)->steps);
    free(*d);
    *d = NULL;
}

status decoder_apply(const decoder *d, decode_texts *t, buf *ret, error *err)
{
    size_t bytes, most = MOST + MOST_OF_BYTE * t->text.size;
    decode_texts other = {.n = 0};
    status st = OK;
    for (size_t i = 0; d && i < d->n && st == OK; i++) {
        other.n = 0;
        other.most = most;
        buf_clear(&other.text);
        st = d->steps[i].apply(&d->steps[i], t, &other, err);
        st = st == OK ? decode_check_grown(&other, err) : st;
        decode_texts swap = *t;
        *t = other;
        other = swap;
    }
    for (size_t i = 0; i < t->n && st == OK; i++) {
        const char *text = decode_texts_at(t, i, &bytes);
        if (!d && i > 0)
            buf_adds(ret, " ");
        buf_add(ret, text, bytes);
    }
    decode_texts_fini(&other);
    return st;
}
