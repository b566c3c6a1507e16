/* See text_encoder.h. Scratches wait in a pool: as many as threads ever encoded at once. */
#include "data/text_encoder.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct scratch_pool {
    pthread_mutex_t lock;       /* guards what follows */
    tokenizer_scratch **at;     /* [n] those that nobody uses */
    size_t n, cap;
} scratch_pool;

struct text_encoder {
    text_words *words;          /* NULL: there is a tokenizer */
    tokenizer *tokenizer;
    int64_t most;
    bool has_pair, refuses_long, has_types;
    int64_t filler, type_filler;
    tokenizer_options how;
    tokenizer_truncation truncation;
    tokenizer_padding no_padding;
    scratch_pool *pool;
};

/* --- scratches --- */

static scratch_pool *pool_create(void)
{
    scratch_pool *p = xcalloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static void pool_empty(scratch_pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->n > 0)
        tokenizer_scratch_destroy(&p->at[--p->n]);
    pthread_mutex_unlock(&p->lock);
}

static void pool_destroy(scratch_pool *p)
{
    pool_empty(p);
    free(p->at);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static tokenizer_scratch *borrow(const text_encoder *e)
{
    scratch_pool *p = e->pool;
    pthread_mutex_lock(&p->lock);
    tokenizer_scratch *s = p->n > 0 ? p->at[--p->n] : NULL;
    pthread_mutex_unlock(&p->lock);
    return s ? s : tokenizer_scratch_create();
}

static void give_back(const text_encoder *e, tokenizer_scratch *s)
{
    scratch_pool *p = e->pool;
    pthread_mutex_lock(&p->lock);
    GROW(p->at, p->cap, p->n + 1);
    p->at[p->n++] = s;
    pthread_mutex_unlock(&p->lock);
}

/* --- opening --- */

/* Texts without a token are encoded: what comes out are the special tokens. */
static status check_room(const text_encoder *e, const text_encoder_options *o, error *err)
{
    static const tokenizer_truncation none = {.max_length = 0};
    const tokenizer_options how = {.truncation = &none, .padding = &e->no_padding};
    const tokenizer_input empty = {.text = "", .bytes = 0};
    tokenizer_encodings all = {.n = 0};
    tokenizer_scratch *s = tokenizer_scratch_create();
    status st = tokenizer_encode(e->tokenizer, &empty, e->has_pair ? &empty : NULL, &how, s, &all, err);
    if (st == OK && all.whole >= (size_t)e->most)
        st = FAIL(err, E_CONFIG, "%s: most: %" PRId64 " tokens leave no room beside the tokenizer's %zu special ones",
                  o->tokenizer.option, e->most, all.whole);
    tokenizer_scratch_destroy(&s);
    return st;
}

static void read_file_options(text_encoder *e)
{
    const tokenizer_padding *padding = tokenizer_file_padding(e->tokenizer);
    const tokenizer_truncation *truncation = tokenizer_file_truncation(e->tokenizer);
    int32_t pad = tokenizer_special(e->tokenizer, TOKENIZER_PAD);
    e->filler = pad == TOKENIZER_NO_TOKEN ? 0 : pad;
    e->type_filler = padding->is_on ? padding->type_id : 0;
    e->has_types = tokenizer_tells_types(e->tokenizer);
    e->truncation = (tokenizer_truncation){.max_length = e->most,
                                           .strategy = truncation->strategy,
                                           .side = truncation->side,
                                           .first_only = true};
    e->how = (tokenizer_options){.truncation = &e->truncation, .padding = &e->no_padding};
}

/* Rows of words are theirs alone: a tokenizer has its own. */
static status check_choice(const text_encoder_options *o, error *err)
{
    const word_choice *c = &o->words;
    const char *said = c->lowercase           ? "lowercase_tokens"
                       : c->min_count > 1     ? "min_count"
                       : c->max_size > 0      ? "max_vocab_size"
                       : json_array_size(c->added) > 0 ? "tokens_to_add"
                                              : NULL;
    if (!said)
        return OK;
    return FAIL(err, E_CONFIG, "%s: '%s' says by itself what its tokens are; %s is for whitespace, letters_digits and "
                               "character, which number the words of the training data",
                o->tokenizer.option, o->tokenizer.path, said);
}

static status open_tokenizer(const text_encoder_options *o, text_encoder *e, error *err)
{
    TRY(check_choice(o, err));
    TRY(reader_tokenizer_open(&o->tokenizer, &e->tokenizer, err));
    read_file_options(e);
    return check_room(e, o, err);
}

static status open_words(const text_encoder_options *o, word_split split, text_encoder *e, error *err)
{
    const text_words_options how = {.split = split,
                                    .choice = o->words,
                                    .vocabulary = o->tokenizer.vocabulary,
                                    .origin = o->tokenizer.origin,
                                    .grows = o->words_grow};
    if (!o->has_words)
        return FAIL(err, E_CONFIG, "%s: this reader has no words of its own data; '%s' is taken by jsonl, tfrecord, "
                                   "webdataset, text_classification_json and snli", o->tokenizer.option,
                    o->tokenizer.path);
    return text_words_open(&how, &e->words, err);
}

/* By the name of a way to part texts, or by its path. */
static status open_named(const text_encoder_options *o, text_encoder *e, error *err)
{
    word_split split;
    if (word_split_of(o->tokenizer.path, &split))
        return open_words(o, split, e, err);
    if (strcmp(o->tokenizer.path, "spacy") == 0)
        return FAIL(err, E_CONFIG,
                    "%s: spaCy's rules are Python code, which is not run here; take letters_digits, which parts words "
                    "and punctuation too, or a tokenizer.json", o->tokenizer.option);
    return open_tokenizer(o, e, err);
}

status text_encoder_open(const text_encoder_options *options, text_encoder **ret, error *err)
{
    text_encoder *e = xcalloc(1, sizeof *e);
    e->most = options->most;
    e->has_pair = options->has_pair;
    e->refuses_long = options->refuses_long;
    e->pool = pool_create();
    status st = open_named(options, e, err);
    if (st == OK)
        *ret = e;
    else
        text_encoder_destroy(&e);
    return st;
}

void text_encoder_destroy(text_encoder **e)
{
    if (!*e)
        return;
    pool_destroy((*e)->pool);
    tokenizer_destroy(&(*e)->tokenizer);
    text_words_destroy(&(*e)->words);
    free(*e);
    *e = NULL;
}

void text_encoder_rest(const text_encoder *e)
{
    pool_empty(e->pool);
}

void text_encoder_tell(const text_encoder *e, json_t *vocabulary)
{
    if (e->words)
        text_words_tell(e->words, vocabulary);
    else
        reader_tokenizer_tell(e->tokenizer, vocabulary);
}

size_t text_encoder_fields(const text_encoder *e, data_field ret[TEXT_FIELDS])
{
    static const char *const names[TEXT_FIELDS] = {"input_ids", "attention_mask", "token_type_ids"};
    size_t n = e->has_types ? TEXT_FIELDS : TEXT_FIELDS - 1;
    for (size_t i = 0; i < n; i++)
        ret[i] = (data_field){.name = names[i], .dtype = DT_I64, .rank = 1, .dim = {e->most}, .varies = true};
    ret[0].tokens = e->words ? text_words_size(e->words) : tokenizer_size(e->tokenizer);
    return n;
}

void text_encoder_describe(const text_encoder *e, buf *ret)
{
    if (e->words)
        text_words_describe(e->words, ret);
    else
        buf_addf(ret, "tokenizer %s", tokenizer_fingerprint(e->tokenizer));
    buf_addf(ret, " pair=%d most=%" PRId64 " refuses=%d\n", e->has_pair, e->most, e->refuses_long);
}

/* --- words --- */

bool text_encoder_has_words(const text_encoder *e)
{
    return e->words != NULL;
}

/* Of one text, or two; ret NULL: they are not put. */
static status take_words(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                         int64_t *ret, size_t *ret_n, size_t *ret_whole, word_counts *counts, int64_t place, error *err)
{
    const tokenizer_input *texts[] = {first, second};
    *ret_n = *ret_whole = 0;
    for (size_t i = 0; i < COUNT_OF(texts) && texts[i]; i++)
        TRY(text_words_take(e->words, texts[i]->text, texts[i]->bytes, (size_t)e->most, ret, ret_n, ret_whole, counts,
                            place, err));
    return OK;
}

status text_encoder_count(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                          word_counts *counts, int64_t place, error *err)
{
    size_t n, whole;
    return take_words(e, first, second, NULL, &n, &whole, counts, place, err);
}

void text_encoder_learn(text_encoder *e, const json_t *counted)
{
    text_words_learn(e->words, counted);
}

/* --- examples --- */

static void put_row(int64_t *to, const int32_t *from, size_t n, size_t most, int64_t filler)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from ? from[i] : 0;
    for (size_t i = n; i < most; i++)
        to[i] = filler;
}

void text_encoder_put(const text_encoder *e, const int32_t *ids, const int32_t *types, size_t n, void *const *ret)
{
    size_t most = (size_t)e->most;
    int64_t *mask = ret[1];
    BUG_ON(n > most);
    put_row(ret[0], ids, n, most, e->filler);
    for (size_t i = 0; i < most; i++)
        mask[i] = i < n;
    if (e->has_types)
        put_row(ret[2], types, n, most, e->type_filler);
}

static status check_tokens(const text_encoder *e, size_t n, size_t whole, error *err)
{
    if (n == 0)
        return FAIL(err, E_DATA, "there is no token in it");
    if (e->refuses_long && whole > (size_t)e->most)
        return FAIL(err, E_DATA, "has %zu tokens; at most %" PRId64 " are taken", whole, e->most);
    return OK;
}

static status encode_words(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                           void *const *ret, size_t *ret_tokens, size_t *ret_whole, error *err)
{
    int64_t *ids = ret ? ret[0] : NULL, *mask = ret ? ret[1] : NULL;
    TRY(take_words(e, first, second, ids, ret_tokens, ret_whole, NULL, 0, err));
    for (size_t i = 0; ret && i < (size_t)e->most; i++) {
        ids[i] = i < *ret_tokens ? ids[i] : e->filler;
        mask[i] = i < *ret_tokens;
    }
    return OK;
}

static status encode_pieces(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                            void *const *ret, size_t *ret_tokens, size_t *ret_whole, error *err)
{
    tokenizer_encodings all = {.n = 0};
    tokenizer_scratch *s = borrow(e);
    status st = tokenizer_encode(e->tokenizer, first, second, &e->how, s, &all, err);
    if (st == OK) {
        *ret_tokens = all.at[0].n;
        *ret_whole = all.whole;
    }
    if (st == OK && ret)
        text_encoder_put(e, all.at[0].ids, all.at[0].type_ids, all.at[0].n, ret);
    give_back(e, s);
    return st;
}

status text_encoder_take(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                         void *const *ret, size_t *ret_tokens, size_t *ret_whole, error *err)
{
    size_t n = 0, whole = 0;
    BUG_ON(e->has_pair != (second != NULL));
    TRY(e->words ? encode_words(e, first, second, ret, &n, &whole, err)
                 : encode_pieces(e, first, second, ret, &n, &whole, err));
    TRY(check_tokens(e, n, whole, err));
    *ret_tokens = n;
    if (ret_whole)
        *ret_whole = whole;
    return OK;
}
