/* See decode_steps.h. */
#include "text/decode_steps.h"

#include "common/base/alloc.h"
#include "text/byte_level.h"
#include "text/chars.h"

#include <stdlib.h>
#include <string.h>

/* `from` in `text` becomes `to`, wherever it stands. */
static void add_replaced(buf *out, const char *text, size_t bytes, const char *from, const char *to)
{
    size_t n = strlen(from);
    const char *end = text + bytes, *found;
    while (n > 0 && (found = memmem(text, (size_t)(end - text), from, n)) != NULL) {
        buf_add(out, text, (size_t)(found - text));
        buf_adds(out, to);
        text = found + n;
    }
    buf_add(out, text, (size_t)(end - text));
}

/* Blanks before punctuation go. Done in place, from byte `begin` on. */
static void clean_up(buf *text, size_t begin)
{
    static const char *const pairs[][2] = {
        {" .", "."},     {" ?", "?"},    {" !", "!"},           {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
        {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},  {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        buf out = BUF_INIT;
        add_replaced(&out, text->data + begin, text->size - begin, pairs[i][0], pairs[i][1]);
        text->size = begin;
        buf_add(text, out.data ? out.data : "", out.size);
        buf_fini(&out);
    }
}

/* --- the steps --- */

status decode_check_grown(const decode_texts *out, error *err)
{
    if (out->text.size > out->most)
        return FAIL(err, E_DATA, "the tokenizer's decoders make a text of more than %zu bytes of these tokens",
                    out->most);
    return OK;
}

status decode_word_piece(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)err;
    size_t n = strlen(s->content), bytes;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        size_t begin = out->text.size;
        bool goes_on = bytes >= n && memcmp(text, s->content, n) == 0;
        if (i > 0 && !goes_on)
            buf_adds(&out->text, " ");
        size_t skip = i > 0 && goes_on ? n : 0;
        buf_add(&out->text, text + skip, bytes - skip);
        if (s->cleans)
            clean_up(&out->text, begin);
        decode_texts_end(out);
    }
    return OK;
}

/* Appends bytes as UTF-8; what is none becomes U+FFFD, once for each longest beginning of a character. */
static void add_lossy(buf *out, const unsigned char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        size_t n = utf8_decode(text + at, bytes - at, &code);
        if (n > 0) {
            buf_add(out, text + at, n);
            at += n;
            continue;
        }
        unsigned char first = text[at++], low = 0x80, high = 0xBF;
        size_t more = first >= 0xF0 && first <= 0xF4 ? 3 : first >= 0xE0 && first < 0xF0 ? 2 : 0;
        low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : low;
        high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : high;
        for (; more > 0 && at < bytes && text[at] >= low && text[at] <= high; more--, at++) {
            low = 0x80;
            high = 0xBF;
        }
        buf_adds(out, "\xEF\xBF\xBD");
    }
}

/* A token all of whose characters stand for bytes is those, any other is itself. */
static void add_bytes(buf *out, const char *text, size_t bytes)
{
    size_t begin = out->size, n = 0;
    for (size_t at = 0; at < bytes; at += n) {
        int byte = byte_level_byte(chars_next(text + at, &n));
        char one = (char)byte;
        if (byte < 0) {
            out->size = begin;
            buf_add(out, text, bytes);
            return;
        }
        buf_add(out, &one, 1);
    }
}

status decode_byte_level(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)s, (void)err;
    buf all = BUF_INIT;
    size_t bytes;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        add_bytes(&all, text, bytes);
    }
    add_lossy(&out->text, (const unsigned char *)(all.data ? all.data : ""), all.size);
    decode_texts_end(out);
    buf_fini(&all);
    return OK;
}

status decode_metaspace(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)err;
    size_t bytes, n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        for (size_t at = 0; at < bytes; at += n) {
            if (chars_next(text + at, &n) != s->code)
                buf_add(&out->text, text + at, n);
            else if (i > 0 || !s->drops_first)
                buf_adds(&out->text, " ");
        }
        decode_texts_end(out);
    }
    return OK;
}

status decode_suffix(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)err;
    size_t bytes;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        add_replaced(&out->text, text, bytes, s->content, i + 1 < in->n ? " " : "");
        decode_texts_end(out);
    }
    return OK;
}

status decode_ctc(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)err;
    size_t bytes, before = 0;
    const char *last = NULL;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        bool again = last && bytes == before && memcmp(text, last, bytes) == 0;
        last = text;
        before = bytes;
        if (again)
            continue;
        size_t begin = out->text.size;
        add_replaced(&out->text, text, bytes, s->content, "");
        if (s->cleans && out->text.size > begin) {
            clean_up(&out->text, begin);
            buf whole = BUF_INIT;
            add_replaced(&whole, out->text.data + begin, out->text.size - begin, s->extra, " ");
            out->text.size = begin;
            buf_add(&out->text, whole.data ? whole.data : "", whole.size);
            buf_fini(&whole);
        }
        if (out->text.size > begin)
            decode_texts_end(out);
    }
    return OK;
}

status decode_fuse(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)s, (void)err;
    decode_texts_add(out, in->text.data ? in->text.data : "", in->text.size);
    return OK;
}

status decode_strip(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)err;
    size_t bytes, n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        size_t begin = 0, end = bytes;
        for (int64_t k = 0; k < s->start && begin < end && chars_next(text + begin, &n) == s->code; k++)
            begin += n;
        for (int64_t k = 0; k < s->stop && end > begin; k++) {
            size_t back = chars_back(text, end);
            if (chars_next(text + back, &n) != s->code)
                break;
            end = back;
        }
        decode_texts_add(out, text + begin, end - begin);
    }
    return OK;
}

status decode_replace(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    pattern_scratch *scratch = pattern_scratch_create();
    status st = OK;
    size_t bytes;
    for (size_t i = 0; i < in->n && st == OK; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        uint32_t from = 0, done = 0, begin, end;
        bool found = true;
        while (st == OK && found && from <= bytes) {
            st = pattern_find(s->pattern, scratch, text, (uint32_t)bytes, from, &found, &begin, &end, err);
            if (st != OK || !found)
                break;
            buf_add(&out->text, text + done, begin - done);
            buf_adds(&out->text, s->content);
            size_t n = 1;
            if (begin == end && end < bytes)
                chars_next(text + end, &n);
            done = end;
            from = begin == end ? end + (uint32_t)n : end;
            st = decode_check_grown(out, err);
        }
        buf_add(&out->text, text + done, bytes - done);
        decode_texts_end(out);
    }
    pattern_scratch_destroy(&scratch);
    return st;
}

/* The byte that "<0x0A>" names, -1: none. */
static int byte_named(const char *text, size_t bytes)
{
    char hex[3] = "", *end;
    if (bytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    memcpy(hex, text + 3, 2);
    long byte = strtol(hex, &end, 16);
    return end == hex + 2 && hex[0] != '-' && hex[0] != '+' && hex[0] != ' ' ? (int)byte : -1;
}

/* Bytes that are waiting: a text of their own, or a U+FFFD for each. */
static void flush_bytes(buf *bytes, decode_texts *out)
{
    uint32_t code;
    size_t at = 0, n = 1;
    while (at < bytes->size && (n = utf8_decode((unsigned char *)bytes->data + at, bytes->size - at, &code)) > 0)
        at += n;
    if (bytes->size > 0 && n > 0) {
        decode_texts_add(out, bytes->data, bytes->size);
    } else {
        for (size_t i = 0; i < bytes->size; i++)
            decode_texts_add(out, "\xEF\xBF\xBD", 3);
    }
    buf_clear(bytes);
}

status decode_byte_fallback(const decode_step *s, const decode_texts *in, decode_texts *out, error *err)
{
    (void)s, (void)err;
    buf waiting = BUF_INIT;
    size_t bytes;
    for (size_t i = 0; i < in->n; i++) {
        const char *text = decode_texts_at(in, i, &bytes);
        int byte = byte_named(text, bytes);
        char one = (char)byte;
        if (byte >= 0) {
            buf_add(&waiting, &one, 1);
            continue;
        }
        flush_bytes(&waiting, out);
        decode_texts_add(out, text, bytes);
    }
    flush_bytes(&waiting, out);
    buf_fini(&waiting);
    return OK;
}
