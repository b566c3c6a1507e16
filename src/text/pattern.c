/* See pattern.h. */
#include "text/pattern.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "text/chars.h"

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
    pcre2_match_context *context;
};

/* Backtracking of one search: a fixed amount, and more for each byte. An expression that wants more wants time that
 * grows with the square of the text, or worse. */
enum { STEPS = 20000, STEPS_OF_BYTE = 16 };

/* White_Space, as Oniguruma has it; PCRE2's \s has U+180E too. */
#define SPACES "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
/* \w: of Latin-1 its other numbers too, and letters in circles and squares. */
#define WORDS                                                                                                \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}"                                   \
    "\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"

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

/* Code points of a class (chars.h) that an older Unicode does not have, for the inside of []. */
static void add_recent(uint32_t class, buf *ret)
{
    for (uint32_t code = 0, end; code < UTF8_CODES; code = end) {
        for (end = code; end < UTF8_CODES && chars_is(end, class) && chars_is(end, CHAR_RECENT);)
            end++;
        if (end > code)
            buf_addf(ret, "\\x{%X}-\\x{%X}", (unsigned)code, (unsigned)(end - 1));
        else
            end++;
    }
}

/* \p{L}, \P{N} and the like, which begins at `c`: NULL if it is none of these two properties. */
static const char *property_of(const char *c, uint32_t *ret_class)
{
    if (c[0] && c[1] == '{' && c[2] && c[3] == '}' && (c[2] == 'L' || c[2] == 'N')) {
        *ret_class = c[2] == 'L' ? CHAR_LETTER : CHAR_NUMBER;
        return c[2] == 'L' ? "\\p{L}" : "\\p{N}";
    }
    return NULL;
}

/* Appends what the escape behind a backslash is for PCRE2; *c is moved to its last character. */
static status translate_escape(const char **c, bool in_class, const char *place, buf *ret, error *err)
{
    char letter = **c;
    bool is_not;
    uint32_t recent = letter == 'w' || letter == 'W' ? CHAR_WORD : 0;
    const char *class = class_of(letter, &is_not);
    if ((letter == 'p' || letter == 'P') && property_of(*c, &recent)) {
        class = property_of(*c, &recent);
        is_not = letter == 'P';
        *c += 3;
    }
    if (letter == 'h' || letter == 'H')
        return FAIL(err, E_DATA, "%s: \\%c is not known here; write the class of characters", place, letter);
    if (class && is_not && in_class)
        return FAIL(err, E_DATA, "%s: \\%c inside [] is not known here", place, letter);
    if (!class) {
        buf_addf(ret, "\\%c", letter);
        return OK;
    }
    if (!in_class)
        buf_adds(ret, is_not ? "[^" : "[");
    buf_adds(ret, class);
    if (recent)
        add_recent(recent, ret);
    if (!in_class)
        buf_adds(ret, "]");
    return OK;
}

static status translate(const char *regex, const char *place, buf *ret, error *err)
{
    int depth = 0;
    for (const char *c = regex; *c; c++) {
        if (*c == '\\' && c[1]) {
            c++;
            TRY(translate_escape(&c, depth > 0, place, ret, err));
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
    s->context = pcre2_match_context_create(NULL);
    BUG_ON(!s->match || !s->context);
    return s;
}

void pattern_scratch_destroy(pattern_scratch **s)
{
    if (!*s)
        return;
    pcre2_match_data_free((*s)->match);
    pcre2_match_context_free((*s)->context);
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
    uint64_t steps = STEPS + (uint64_t)STEPS_OF_BYTE * (bytes - from);
    pcre2_set_match_limit(s->context, steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX);
    int rc = pcre2_match(p->code, subject, bytes, from, PCRE2_NO_UTF_CHECK, s->match, s->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, subject, bytes, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->match, s->context);
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
