/* See pattern.h. */
#include "text/pattern.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    char *literal; /* NULL: a regular expression */
    size_t bytes;
    pcre2_code *code;
};

struct pattern_scratch {
    pcre2_match_data *match;
};

/* White_Space, as Oniguruma has it; PCRE2's \s has U+180E too. */
#define SPACES "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define WORDS "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}"

status pattern_literal(const char *text, size_t bytes, const char *place, pattern **ret, error *err)
{
    if (bytes == 0)
        return FAIL(err, E_DATA, "%s: is empty; it must match something", place);
    pattern *p = xcalloc(1, sizeof *p);
    p->literal = xstrndup(text, bytes);
    p->bytes = bytes;
    *ret = p;
    return OK;
}

/* The class that a letter behind a backslash stands for, NULL: none of those; is_not as in \S. */
static const char *class_of(char letter, bool *ret_is_not)
{
    *ret_is_not = letter == 'S' || letter == 'W' || letter == 'D';
    switch (letter) {
    case 's':
    case 'S': return SPACES;
    case 'w':
    case 'W': return WORDS;
    case 'd':
    case 'D': return "\\p{Nd}";
    default: return NULL;
    }
}

/* Appends what `\letter` is for PCRE2. */
static status translate_escape(char letter, bool in_class, const char *place, buf *ret, error *err)
{
    bool is_not;
    const char *class = class_of(letter, &is_not);
    if (letter == 'h' || letter == 'H')
        return FAIL(err, E_DATA, "%s: \\%c is not known here; write the class of characters", place, letter);
    if (class && is_not && in_class)
        return FAIL(err, E_DATA, "%s: \\%c inside [] is not known here", place, letter);
    if (!class)
        buf_addf(ret, "\\%c", letter);
    else if (in_class)
        buf_adds(ret, class);
    else
        buf_addf(ret, "[%s%s]", is_not ? "^" : "", class);
    return OK;
}

static status translate(const char *regex, const char *place, buf *ret, error *err)
{
    int depth = 0;
    for (const char *c = regex; *c; c++) {
        if (*c == '\\' && c[1]) {
            TRY(translate_escape(*++c, depth > 0, place, ret, err));
            continue;
        }
        if (depth > 0 && ((c[0] == '&' && c[1] == '&') || (c[0] == '[' && c[1] != ':')))
            return FAIL(err, E_DATA, "%s: classes inside classes are not known here", place);
        if (*c == '[' && depth == 0) {
            depth = 1;
            if (c[1] == '^') /* a ] right behind is an ordinary character */
                buf_add(ret, c++, 1);
            if (c[1] == ']')
                buf_add(ret, c++, 1);
        } else if (*c == ']') {
            depth = 0;
        }
        buf_add(ret, c, 1);
    }
    return OK;
}

status pattern_regex(const char *regex, const char *place, pattern **ret, error *err)
{
    buf text = BUF_INIT;
    int number = 0;
    size_t at = 0;
    pattern *p = xcalloc(1, sizeof *p);
    status st = translate(regex, place, &text, err);
    if (st == OK) {
        p->code = pcre2_compile((PCRE2_SPTR)(text.data ? text.data : ""), text.size,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &number, &at, NULL);
        if (!p->code) {
            PCRE2_UCHAR why[256];
            pcre2_get_error_message(number, why, sizeof why);
            st = FAIL(err, E_DATA, "%s: '%s': %s", place, regex, (const char *)why);
        }
    }
    buf_fini(&text);
    if (st != OK) {
        pattern_destroy(&p);
        return st;
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* where there is none it is interpreted */
    *ret = p;
    return OK;
}

status pattern_load(const json_t *value, const char *place, pattern **ret, bool *ret_is_regex, error *err)
{
    const json_t *literal = json_object_get(value, "String"), *regex = json_object_get(value, "Regex");
    if (json_object_size(value) != 1 || !(json_is_string(literal) || json_is_string(regex)))
        return FAIL(err, E_DATA, "%s: must be {\"String\": text} or {\"Regex\": expression}", place);
    *ret_is_regex = regex != NULL;
    if (regex)
        return pattern_regex(json_string_value(regex), place, ret, err);
    return pattern_literal(json_string_value(literal), json_string_length(literal), place, ret, err);
}

void pattern_destroy(pattern **p)
{
    if (!*p)
        return;
    free((*p)->literal);
    pcre2_code_free((*p)->code);
    free(*p);
    *p = NULL;
}

pattern_scratch *pattern_scratch_create(void)
{
    pattern_scratch *s = xcalloc(1, sizeof *s);
    s->match = pcre2_match_data_create(1, NULL);
    BUG_ON(!s->match);
    return s;
}

void pattern_scratch_destroy(pattern_scratch **s)
{
    if (!*s)
        return;
    pcre2_match_data_free((*s)->match);
    free(*s);
    *s = NULL;
}

status pattern_find(const pattern *p, pattern_scratch *s, const char *text, uint32_t bytes, uint32_t from,
                    bool *ret_found, uint32_t *ret_begin, uint32_t *ret_end, error *err)
{
    if (p->literal) {
        const char *found = from < bytes ? memmem(text + from, bytes - from, p->literal, p->bytes) : NULL;
        *ret_found = found != NULL;
        *ret_begin = found ? (uint32_t)(found - text) : 0;
        *ret_end = *ret_begin + (uint32_t)p->bytes;
        return OK;
    }
    PCRE2_SPTR subject = (PCRE2_SPTR)text;
    int rc = pcre2_match(p->code, subject, bytes, from, PCRE2_NO_UTF_CHECK, s->match, NULL);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, subject, bytes, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->match, NULL);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR why[256];
        pcre2_get_error_message(rc, why, sizeof why);
        return FAIL(err, E_DATA, "a pattern of the tokenizer, at byte %u of %u: %s", (unsigned)from,
                    (unsigned)bytes, (const char *)why);
    }
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->match);
    *ret_found = rc >= 0 && at[1] >= at[0];
    *ret_begin = *ret_found ? (uint32_t)at[0] : 0;
    *ret_end = *ret_found ? (uint32_t)at[1] : 0;
    return OK;
}

void pattern_library_version(char *ret, size_t bytes)
{
    char version[64];
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    snprintf(ret, bytes, "%.*s", (int)strcspn(version, " "), version); /* behind it stands its date */
}
