/* See squad.h. */
#include "metric/squad.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- normalizing --- */

static bool is_dropped(uint32_t code)
{
    return code < 0x80 && chars_is(code, CHAR_PUNCTUATION);
}

static bool is_article(const char *word, size_t bytes)
{
    return (bytes == 1 && word[0] == 'a') || (bytes == 2 && memcmp(word, "an", 2) == 0) ||
           (bytes == 3 && memcmp(word, "the", 3) == 0);
}

static void add_lower(buf *to, uint32_t code)
{
    uint32_t lower[2];
    size_t n = chars_lower(code, lower);
    for (size_t i = 0; i < n; i++) {
        char bytes[UTF8_MAX];
        buf_add(to, bytes, utf8_write(lower[i], bytes));
    }
}

static void lower_without_punctuation(const char *text, buf *to)
{
    size_t bytes;
    for (; *text; text += bytes) {
        uint32_t code = chars_next(text, &bytes);
        if (!is_dropped(code))
            add_lower(to, code);
    }
}

/* A run of letters and digits that is an article is a blank, whatever stands beside it; blanks part words. */
static void keep_words(const char *text, buf *to)
{
    bool is_blank = false;
    size_t bytes, run;
    for (; *text; text += bytes) {
        uint32_t code = chars_next(text, &bytes);
        for (run = 0; text[run] && chars_is(chars_next(text + run, &bytes), CHAR_LETTER | CHAR_NUMERIC);)
            run += bytes;
        if (run == 0)
            chars_next(text, &bytes);
        else
            bytes = run;
        if (chars_is_blank(code) || is_article(text, run)) {
            is_blank = true;
            continue;
        }
        if (is_blank && to->size > 0)
            buf_adds(to, " ");
        is_blank = false;
        buf_add(to, text, bytes);
    }
}

static status check_text(const char *text, error *err)
{
    uint32_t code;
    for (size_t at = 0, bytes, n = strlen(text); at < n; at += bytes) {
        bytes = utf8_decode((const unsigned char *)text + at, n - at, &code);
        if (bytes == 0)
            return FAIL(err, E_DATA, "byte %zu of '%s' is not UTF-8", at, text);
    }
    return OK;
}

status squad_normalize(const char *text, buf *ret, error *err)
{
    buf lower = BUF_INIT;
    TRY(check_text(text, err));
    chars_prepare();
    buf_adds(ret, "");
    lower_without_punctuation(text, &lower);
    if (lower.size > 0)
        keep_words(lower.data, ret);
    buf_fini(&lower);
    return OK;
}

/* --- scoring --- */

/* Of a normalized text, sorted. */
typedef struct words {
    char *text;
    const char **at;
    size_t n;
} words;

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static words words_of(const buf *text)
{
    words w = {.text = xstrndup(text->data, text->size)};
    char *rest = NULL;
    w.at = xcalloc(text->size / 2 + 1, sizeof *w.at);
    for (char *word = strtok_r(w.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        w.at[w.n++] = word;
    qsort(w.at, w.n, sizeof *w.at, compare_words);
    return w;
}

static void words_fini(words *w)
{
    free(w->text);
    free(w->at);
}

static size_t common_words(const words *a, const words *b)
{
    size_t same = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        int order = strcmp(a->at[i], b->at[k]);
        same += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return same;
}

static double f1_of(const buf *prediction, const buf *answer)
{
    words a = words_of(prediction), b = words_of(answer);
    size_t same = common_words(&a, &b);
    double precision = (double)same / (double)a.n, recall = (double)same / (double)b.n, f1 = 0.0;
    if (a.n == 0 || b.n == 0)
        f1 = a.n == b.n;
    else if (same > 0)
        f1 = 2.0 * precision * recall / (precision + recall);
    words_fini(&a);
    words_fini(&b);
    return f1;
}

static status compare(const buf *prediction, const char *answer, squad_score *best, error *err)
{
    buf normal = BUF_INIT;
    TRY(squad_normalize(answer, &normal, err));
    best->exact = best->exact || strcmp(prediction->data, normal.data) == 0;
    best->f1 = fmax(best->f1, f1_of(prediction, &normal));
    buf_fini(&normal);
    return OK;
}

status squad_score_of(const char *prediction, const char *const *answers, size_t n_answers, squad_score *ret,
                      error *err)
{
    static const char *const nothing[] = {""};
    buf normal = BUF_INIT;
    *ret = (squad_score){false, 0.0};
    TRYF(squad_normalize(prediction, &normal, err), err, "the prediction");
    status st = OK;
    for (size_t i = 0; i < (n_answers ? n_answers : 1) && st == OK; i++)
        st = compare(&normal, (n_answers ? answers : nothing)[i], ret, err);
    buf_fini(&normal);
    return st;
}
