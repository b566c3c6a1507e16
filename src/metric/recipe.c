/* See recipe.h. */
#include "metric/recipe.h"

#include "metric/packed.h"
#include "metric/training_metrics.h"

#include <math.h>
#include <string.h>

enum { MOST = 256, NONE = -1 }; /* metrics; the length of a list or a text that is not there */

/* Writes to `out`, or reads what is left of `at`: one description serves both. */
typedef struct pass {
    buf *out;
    const char *at;
    size_t left;
    arena *a;
    bool bad;
} pass;

static void whole(pass *p, int64_t *x)
{
    if (p->out)
        packed_put(p->out, *x);
    else if (p->bad || packed_get(&p->at, &p->left, x, NULL) != OK) {
        p->bad = true;
        *x = 0;
    }
}

/* One of 0 .. most. */
static void choice(pass *p, int64_t *x, int64_t most)
{
    whole(p, x);
    if (*x >= 0 && *x <= most)
        return;
    p->bad = true;
    *x = 0;
}

static void flag(pass *p, bool *x)
{
    int64_t word = *x;
    choice(p, &word, 1);
    *x = word;
}

static void raw(pass *p, void *data, size_t bytes)
{
    if (p->out)
        buf_add(p->out, data, bytes);
    else if (p->bad || bytes > p->left) {
        p->bad = true;
        memset(data, 0, bytes);
    } else {
        memcpy(data, p->at, bytes);
        p->at += bytes;
        p->left -= bytes;
    }
}

static void fraction(pass *p, double *x)
{
    raw(p, x, sizeof *x);
    p->bad |= !isfinite(*x);
}

/* How long a list is, NONE where it is not there; each of its items has a byte at least. */
static int64_t length(pass *p, bool is_there, size_t n)
{
    int64_t ret = is_there ? (int64_t)n : NONE;
    whole(p, &ret);
    bool fits = ret == NONE || (ret >= 0 && (p->out || (uint64_t)ret <= p->left));
    p->bad |= !fits;
    return fits && !p->bad ? ret : NONE;
}

static void text(pass *p, const char **x)
{
    int64_t n = length(p, *x != NULL, *x ? strlen(*x) : 0);
    if (n == NONE) {
        *x = NULL;
        return;
    }
    char *bytes = p->out ? (char *)(uintptr_t)*x : arena_alloc(p->a, (size_t)n + 1);
    raw(p, bytes, (size_t)n);
    if (!p->out)
        bytes[n] = '\0';
    *x = bytes;
}

static void texts(pass *p, const char *const **x, size_t *n)
{
    int64_t have = length(p, *x != NULL, *n);
    const char **at = have == NONE ? NULL : arena_alloc(p->a, ((size_t)have + 1) * sizeof *at);
    for (int64_t i = 0; i < have; i++) {
        at[i] = p->out ? (*x)[i] : NULL;
        text(p, &at[i]);
        p->bad |= !at[i];
    }
    if (p->out)
        return;
    *x = at;
    *n = have == NONE ? 0 : (size_t)have;
}

enum { NUMBER = 8 }; /* bytes of a whole or a fraction */
_Static_assert(sizeof(int64_t) == NUMBER && sizeof(double) == NUMBER, "one list serves both");

static void one_whole(pass *p, void *x)
{
    whole(p, x);
}

static void one_fraction(pass *p, void *x)
{
    fraction(p, x);
}

/* A list of numbers, each by `one`; gives what is to stand for `x`. */
static const void *numbers(pass *p, const void *x, size_t *n, void (*one)(pass *p, void *x))
{
    int64_t have = length(p, x != NULL, *n);
    size_t bytes = have == NONE ? 0 : (size_t)have * NUMBER;
    char *at = have == NONE ? NULL : arena_alloc(p->a, bytes + NUMBER);
    if (at && p->out)
        memcpy(at, x, bytes);
    else if (at)
        memset(at, 0, bytes);
    for (size_t i = 0; i < bytes; i += NUMBER)
        one(p, at + i);
    *n = have == NONE ? 0 : (size_t)have;
    return p->out ? x : at;
}

static void pass_options(pass *p, metric_options *o)
{
    int64_t average = o->average, encoding = o->encoding;
    text(p, &o->kind);
    text(p, &o->name);
    whole(p, &o->top_k);
    flag(p, &o->tie_break);
    whole(p, &o->positive_label);
    fraction(p, &o->beta);
    choice(p, &average, METRIC_WEIGHTED);
    fraction(p, &o->threshold);
    o->labels = numbers(p, o->labels, &o->n_labels, one_whole);
    choice(p, &encoding, METRIC_BMES);
    texts(p, &o->tags, &o->n_tags);
    texts(p, &o->ignore_classes, &o->n_ignore_classes);
    texts(p, &o->ignore_pos, &o->n_ignore_pos);
    choice(p, &o->bins, TRAINING_METRICS_ROOM);
    choice(p, &o->ngram_size, METRIC_NGRAMS);
    o->ngram_weights = numbers(p, o->ngram_weights, &o->n_ngram_weights, one_fraction);
    o->exclude = numbers(p, o->exclude, &o->n_exclude, one_whole);
    o->average = (metric_average)average;
    o->encoding = (metric_encoding)encoding;
    p->bad |= !o->kind;
}

static void pass_source(pass *p, metric_source *s)
{
    int64_t input = s->input;
    size_t n_words = (size_t)s->classes, n_pos = (size_t)s->n_parts_of_speech;
    choice(p, &input, METRIC_ARCS);
    choice(p, &s->classes, TRAINING_METRICS_CLASSES);
    choice(p, &s->labels, INT32_MAX);
    flag(p, &s->is_odds);
    flag(p, &s->has_ignore_index);
    whole(p, &s->ignore_index);
    texts(p, &s->words, &n_words);
    flag(p, &s->is_span);
    texts(p, &s->parts_of_speech, &n_pos);
    p->bad |= input == 0 || (input & (input - 1)) || (s->words && n_words != (size_t)s->classes);
    s->input = (metric_input)input;
    s->n_parts_of_speech = (int64_t)n_pos;
}

static void pass_recipe(pass *p, recipe *r)
{
    int64_t n = (int64_t)r->n;
    pass_source(p, &r->source);
    choice(p, &n, MOST);
    if (!p->out) {
        r->n = (size_t)n;
        r->options = arena_alloc(p->a, ((size_t)n + 1) * sizeof *r->options);
        memset(r->options, 0, ((size_t)n + 1) * sizeof *r->options);
    }
    for (int64_t i = 0; i < n; i++)
        pass_options(p, &r->options[i]);
}

void recipe_write(const metric_options *options, size_t n, const metric_source *source, buf *to)
{
    arena *a = arena_create();
    recipe r = {.n = n, .source = *source};
    r.options = arena_alloc(a, (n + 1) * sizeof *r.options);
    if (n)
        memcpy(r.options, options, n * sizeof *options);
    pass p = {.out = to, .a = a};
    pass_recipe(&p, &r);
    arena_destroy(&a);
}

status recipe_read(const void *bytes, size_t n, arena *a, recipe *ret, error *err)
{
    recipe r = {.n = 0};
    pass p = {.at = bytes, .left = n, .a = a};
    pass_recipe(&p, &r);
    if (p.bad || p.left)
        return FAIL(err, E_PROTOCOL, "%zu bytes that should say which metrics training counts do not", n);
    *ret = r;
    return OK;
}
