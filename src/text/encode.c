/* See tokenizer.h: truncation to windows, special tokens, padding. */
#include "common/base/alloc.h"
#include "text/chars.h"
#include "text/text_tokens.h"

#include <stdlib.h>
#include <string.h>

/* Tokens begin .. end-1 of a text. */
typedef struct stretch {
    size_t begin, end;
} stretch;

typedef struct stretches {
    stretch *at;
    size_t n, cap;
} stretches;

struct tokenizer_scratch {
    text_scratch text;
    text_tokens tokens[2];
    stretches windows[2]; /* of each text */
    tokenizer_encoding *encodings;
    size_t n, encodings_cap;
    char *memory; /* of all encodings */
    size_t memory_bytes;
};

tokenizer_scratch *tokenizer_scratch_create(void)
{
    tokenizer_scratch *s = xcalloc(1, sizeof *s);
    s->text.cache = word_cache_create();
    s->text.normalize.patterns = pattern_scratch_create();
    s->text.pre_tokenize.patterns = s->text.normalize.patterns;
    return s;
}

void tokenizer_scratch_destroy(tokenizer_scratch **s)
{
    if (!*s)
        return;
    text_scratch_fini(&(*s)->text);
    for (int i = 0; i < 2; i++) {
        free((*s)->tokens[i].at);
        free((*s)->windows[i].at);
    }
    free((*s)->encodings);
    free((*s)->memory);
    free(*s);
    *s = NULL;
}

/* --- truncation --- */

static void add_stretch(stretches *w, size_t begin, size_t end)
{
    GROW(w->at, w->cap, w->n + 1);
    w->at[w->n++] = (stretch){begin, end};
}

/* Windows of `max` tokens, each with `stride` of the one before. */
static status part(stretches *w, size_t n, int64_t max, const tokenizer_truncation *how, error *err)
{
    size_t most = max < 0 ? n : (size_t)max, stride = (size_t)how->stride;
    w->n = 0;
    if (most >= n) {
        add_stretch(w, 0, n);
        return OK;
    }
    if (most <= stride)
        return FAIL(err, E_DATA, "truncation leaves %zu tokens of a text, which must be more than its stride, %zu",
                    most, stride);
    if (how->side == TOKENIZER_RIGHT) {
        for (size_t begin = 0, end = 0; end < n; begin += most - stride) {
            end = begin + most < n ? begin + most : n;
            add_stretch(w, begin, end);
            if (how->first_only)
                break;
        }
        return OK;
    }
    for (size_t begin = n, end = n; begin > 0; end -= most - stride) {
        begin = end > most ? end - most : 0;
        add_stretch(w, begin, end);
        if (how->first_only)
            break;
    }
    return OK;
}

/* Of two texts the longer one gives way, then both. */
static void share(int64_t max, const int64_t n[2], int64_t ret[2])
{
    int64_t less = n[0] <= n[1] ? n[0] : n[1];
    int64_t more = less > max ? less : max - less > less ? max - less : less;
    if (less + more > max) {
        less = max / 2;
        more = less + max % 2;
    }
    ret[0] = n[0] <= n[1] ? less : more;
    ret[1] = n[0] <= n[1] ? more : less;
}

static status truncate_to(tokenizer_scratch *s, int64_t max, const tokenizer_truncation *how, int n_texts, error *err)
{
    int64_t n[2] = {(int64_t)s->tokens[0].n, n_texts > 1 ? (int64_t)s->tokens[1].n : 0}, most[2] = {n[0], n[1]};
    int64_t surplus = n[0] + n[1] - max;
    if (surplus > 0 && how->strategy == TOKENIZER_LONGEST_FIRST && n_texts > 1) {
        share(max, n, most);
    } else if (surplus > 0 && how->strategy == TOKENIZER_LONGEST_FIRST) {
        most[0] = max;
    } else if (surplus > 0) {
        int which = how->strategy == TOKENIZER_ONLY_SECOND;
        if (which == 1 && n_texts == 1)
            return FAIL(err, E_DATA, "truncation is for the second text, and there is only one");
        if (n[which] <= surplus)
            return FAIL(err, E_DATA, "truncation: the other text and the special tokens alone are longer than "
                                     "max_length");
        most[which] -= surplus;
    }
    for (int i = 0; i < n_texts; i++)
        TRY(part(&s->windows[i], (size_t)n[i], most[i], how, err));
    return OK;
}

static status truncate_texts(tokenizer_scratch *s, const tokenizer_truncation *how, int n_special, int n_texts,
                             error *err)
{
    static const tokenizer_truncation none = {.max_length = 0};
    if (how->max_length == 0)
        return truncate_to(s, INT64_MAX, &none, n_texts, err);
    if (how->max_length <= n_special || how->stride < 0)
        return FAIL(err, E_DATA, "truncation: max_length %lld must be more than the %d special tokens, and stride "
                                 "%lld at least 0",
                    (long long)how->max_length, n_special, (long long)how->stride);
    return truncate_to(s, how->max_length - n_special, how, n_texts, err);
}

/* --- putting windows together --- */

/* Memory for the arrays of `n` tokens, behind `*at` of the scratch. */
static void lay_out(tokenizer_encoding *e, size_t n, char **at)
{
    e->n = n;
    e->bytes = (tokenizer_span *)(void *)*at;
    e->characters = e->bytes + n;
    e->ids = (int32_t *)(e->characters + n);
    e->type_ids = e->ids + n;
    e->words = e->type_ids + n;
    e->sequences = (int8_t *)(e->words + n);
    e->special = (uint8_t *)(e->sequences + n);
    e->attention = e->special + n;
    *at += size_round_up((size_t)((char *)(e->attention + n) - *at), sizeof(uint64_t));
}

enum { TOKEN_BYTES = 2 * sizeof(tokenizer_span) + 3 * sizeof(int32_t) + 3, LAYOUT_SLACK = 16 };

static void put_special(tokenizer_encoding *e, size_t at, int32_t id, int32_t type_id, bool is_padding)
{
    e->ids[at] = id;
    e->type_ids[at] = type_id;
    e->bytes[at] = e->characters[at] = (tokenizer_span){0, 0};
    e->words[at] = -1;
    e->sequences[at] = -1;
    e->special[at] = 1;
    e->attention[at] = !is_padding;
}

/* Takes the white space off the ends of what a token comes from. */
static void trim(const post_processor *p, const char *text, bool is_first, text_token *t)
{
    size_t n = 0;
    uint32_t leading = t->blanks.leading, trailing = t->blanks.trailing;
    tokenizer_span *c = &t->characters, *b = &t->bytes;
    if ((is_first || c->begin == 0) && p->keeps_prefix && leading == 1)
        leading = 0;
    for (; leading > 0 && c->begin < c->end; leading--, c->begin++) {
        chars_next(text + b->begin, &n);
        b->begin += (uint32_t)n;
    }
    if (c->end < trailing)
        return;
    for (; trailing > 0 && c->end > c->begin; trailing--, c->end--)
        b->end = (uint32_t)chars_back(text, b->end);
}

static size_t put_text(const tokenizer *t, const text_tokens *from, stretch of, post_item item,
                       tokenizer_encoding *e, size_t at)
{
    for (size_t i = of.begin; i < of.end; i++, at++) {
        text_token one = from->at[i];
        if (t->post.trims)
            trim(&t->post, from->text, i == of.begin, &one);
        e->ids[at] = one.id;
        e->type_ids[at] = item.type_id;
        e->bytes[at] = one.bytes;
        e->characters[at] = one.characters;
        e->words[at] = one.word;
        e->sequences[at] = item.sequence;
        e->special[at] = 0;
        e->attention[at] = 1;
    }
    return at;
}

typedef struct assembly {
    const tokenizer *t;
    const post_template *template;
    bool no_special;
    tokenizer_padding padding;
} assembly;

static size_t length_of(const assembly *a, const stretch of[2])
{
    size_t n = a->no_special ? 0 : (size_t)a->template->n_special;
    for (int i = 0; i < a->template->n; i++)
        if (a->template->at[i].sequence >= 0)
            n += of[a->template->at[i].sequence].end - of[a->template->at[i].sequence].begin;
    return n;
}

/* The length that windows are padded to, of which the first has n tokens. */
static size_t padded_length(const tokenizer_padding *p, size_t n)
{
    if (!p->is_on)
        return 0;
    size_t to = p->length > 0 ? (size_t)p->length : n;
    return p->multiple_of > 0 ? size_round_up(to, (size_t)p->multiple_of) : to;
}

static void fill(const assembly *a, const tokenizer_scratch *s, const stretch of[2], tokenizer_encoding *e)
{
    size_t n = length_of(a, of), at = 0, pad = e->n - n;
    for (; a->padding.side == TOKENIZER_LEFT && at < pad; at++)
        put_special(e, at, a->padding.id, a->padding.type_id, true);
    for (int i = 0; i < a->template->n; i++) {
        post_item item = a->template->at[i];
        if (item.sequence >= 0)
            at = put_text(a->t, &s->tokens[item.sequence], of[item.sequence], item, e, at);
        else if (!a->no_special)
            put_special(e, at++, item.id, item.type_id, false);
    }
    for (; at < e->n; at++)
        put_special(e, at, a->padding.id, a->padding.type_id, true);
}

/* Which stretches window k has. The first windows of both texts are the first; then come those of the first text,
 * with all of the second; at last the first of the first text with the others of the second. */
static void choose(const tokenizer_scratch *s, int n_texts, size_t k, stretch ret[2])
{
    size_t others = n_texts > 1 ? s->windows[1].n : 1, first = 0, second = 0;
    if (k > 0 && k <= (s->windows[0].n - 1) * others) {
        first = 1 + (k - 1) / others;
        second = (k - 1) % others;
    } else if (k > 0) {
        second = k - (s->windows[0].n - 1) * others;
    }
    ret[0] = s->windows[0].at[first];
    ret[1] = n_texts > 1 ? s->windows[1].at[second] : (stretch){0, 0};
}

static status assemble(const assembly *a, tokenizer_scratch *s, int n_texts, error *err)
{
    stretch of[2];
    size_t room = 0, padded = 0, n = s->windows[0].n * (n_texts > 1 ? s->windows[1].n : 1);
    GROW(s->encodings, s->encodings_cap, n);
    for (size_t k = 0; k < n; k++) {
        choose(s, n_texts, k, of);
        size_t length = length_of(a, of);
        padded = k == 0 ? padded_length(&a->padding, length) : padded;
        s->encodings[k].n = length > padded ? length : padded;
        room += s->encodings[k].n * TOKEN_BYTES + LAYOUT_SLACK;
    }
    if (room > s->memory_bytes) {
        free(s->memory);
        s->memory_bytes = room + room / 2;
        s->memory = malloc(s->memory_bytes);
        if (!s->memory) {
            s->memory_bytes = 0;
            return FAIL(err, E_NOMEM, "%zu windows of a text take %zu bytes, more than there are", n, room);
        }
    }
    char *at = s->memory;
    for (size_t k = 0; k < n; k++) {
        choose(s, n_texts, k, of);
        lay_out(&s->encodings[k], s->encodings[k].n, &at);
        fill(a, s, of, &s->encodings[k]);
    }
    s->n = n;
    return OK;
}

status tokenizer_encode(const tokenizer *t, const tokenizer_input *first, const tokenizer_input *second,
                        const tokenizer_options *options, tokenizer_scratch *s, tokenizer_encodings *ret, error *err)
{
    static const tokenizer_options usual = {.no_special_tokens = false};
    const tokenizer_options *o = options ? options : &usual;
    int n_texts = second ? 2 : 1;
    assembly a = {.t = t,
                  .template = &t->post.templates[n_texts - 1],
                  .no_special = o->no_special_tokens,
                  .padding = o->padding ? *o->padding : t->padding};
    TRYF(text_tokens_of(t, &s->text, first, &s->tokens[0], err), err, "the text");
    if (second)
        TRYF(text_tokens_of(t, &s->text, second, &s->tokens[1], err), err, "the second text");
    stretch all[2] = {{0, s->tokens[0].n}, {0, second ? s->tokens[1].n : 0}};
    size_t whole = length_of(&a, all);
    TRY(truncate_texts(s, o->truncation ? o->truncation : &t->truncation,
                       a.no_special ? 0 : a.template->n_special, n_texts, err));
    TRY(assemble(&a, s, n_texts, err));
    *ret = (tokenizer_encodings){s->n, s->encodings, whole};
    return OK;
}
