/*
 * See forms.h. ASCII is copied; between it, a stretch is decomposed, its marks are sorted, and for C and KC it is
 * composed again. Nothing composes with ASCII that follows, so stretches end there.
 */
#include "text/forms.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

enum { DECOMPOSED_MAX = 32 }; /* code points that one becomes; Unicode has up to 18 */

void forms_scratch_fini(forms_scratch *s)
{
    free(s->at);
    *s = (forms_scratch){.at = NULL};
}

static uint8_t class_of(uint32_t code)
{
    if (chars_is(code, CHAR_RECENT))
        return 0;
    return (uint8_t)utf8proc_get_property((utf8proc_int32_t)code)->combining_class;
}

static void push(forms_scratch *s, uint32_t code, int32_t change)
{
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = (form_char){code, change, class_of(code)};
}

static void decompose(forms_scratch *s, uint32_t code, utf8proc_option_t how)
{
    utf8proc_int32_t to[DECOMPOSED_MAX];
    int boundary = 0;
    utf8proc_ssize_t n = 1;
    to[0] = (utf8proc_int32_t)code;
    if (!chars_is(code, CHAR_RECENT))
        n = utf8proc_decompose_char((utf8proc_int32_t)code, to, DECOMPOSED_MAX, how, &boundary);
    BUG_ON(n < 1 || n > DECOMPOSED_MAX);
    for (utf8proc_ssize_t i = 0; i < n; i++)
        push(s, (uint32_t)to[i], i > 0);
}

/* Marks between two starters go by their class; those of one class stay in order. */
static void sort_marks(form_char *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        form_char one = at[i];
        size_t to = i;
        for (; one.class != 0 && to > 0 && at[to - 1].class > one.class; to--)
            at[to] = at[to - 1];
        at[to] = one;
    }
}

/* Whether a code point can be the second of two that compose. */
static bool may_follow(const form_char *c)
{
    return c->class != 0 || chars_is(c->code, CHAR_MARK) || (c->code >= 0x1161 && c->code <= 0x11C2);
}

static bool compose_two(uint32_t first, uint32_t second, uint32_t *ret)
{
    utf8proc_int32_t two[2] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second};
    if (chars_is(first, CHAR_RECENT) || chars_is(second, CHAR_RECENT))
        return false;
    if (utf8proc_normalize_utf32(two, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) != 1)
        return false;
    *ret = (uint32_t)two[0];
    return !chars_is(*ret, CHAR_RECENT);
}

static void compose(forms_scratch *s)
{
    size_t kept = 0, starter = SIZE_MAX;
    int last = -1; /* class of what stands between the starter and here; -1: nothing does */
    for (size_t i = 0; i < s->n; i++) {
        form_char one = s->at[i];
        uint32_t both;
        if (starter != SIZE_MAX && may_follow(&one) && last < (int)one.class &&
            compose_two(s->at[starter].code, one.code, &both)) {
            s->at[starter].code = both;
            s->at[starter].change += one.change - 1;
            continue;
        }
        s->at[kept] = one;
        last = one.class;
        if (one.class == 0) {
            starter = kept;
            last = -1;
        }
        kept++;
    }
    s->n = kept;
}

/* Where ASCII ends that begins at `at`; the character before what is no ASCII belongs to that. */
static uint32_t plain_until(const rewrite *w)
{
    const char *text = w->in->text;
    uint32_t at = w->at;
    while (at < w->of.end && (unsigned char)text[at] < 0x80)
        at++;
    return at > w->at && at < w->of.end ? at - 1 : at;
}

/* From here to the next ASCII, which is not the first character. */
static void take_stretch(const rewrite *w, forms_scratch *s, utf8proc_option_t how)
{
    size_t n = 0;
    s->n = 0;
    for (uint32_t at = w->at; at < w->of.end; at += (uint32_t)n) {
        if (at > w->at && (unsigned char)w->in->text[at] < 0x80)
            break;
        decompose(s, chars_next(w->in->text + at, &n), how);
    }
}

void forms_rewrite(form which, forms_scratch *s, rewrite *w)
{
    bool is_compat = which == FORM_NFKC || which == FORM_NFKD;
    bool composes = which == FORM_NFC || which == FORM_NFKC;
    utf8proc_option_t how = UTF8PROC_DECOMPOSE;
    if (is_compat)
        how |= UTF8PROC_COMPAT;
    while (w->at < w->of.end) {
        rewrite_keep(w, plain_until(w));
        if (w->at == w->of.end)
            return;
        take_stretch(w, s, how);
        sort_marks(s->at, s->n);
        if (composes)
            compose(s);
        for (size_t i = 0; i < s->n; i++)
            rewrite_put(w, s->at[i].code, s->at[i].change);
    }
}

void forms_library_version(char *ret, size_t bytes)
{
    snprintf(ret, bytes, "%s", utf8proc_version());
}
