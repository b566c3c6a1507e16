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

static void pool_destroy(scratch_pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        tokenizer_scratch_destroy(&p->at[i]);
    free(p->at);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

tokenizer_scratch *text_encoder_borrow(const text_encoder *e)
{
    scratch_pool *p = e->pool;
    pthread_mutex_lock(&p->lock);
    tokenizer_scratch *s = p->n > 0 ? p->at[--p->n] : NULL;
    pthread_mutex_unlock(&p->lock);
    return s ? s : tokenizer_scratch_create();
}

void text_encoder_give_back(const text_encoder *e, tokenizer_scratch *s)
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
    tokenizer_scratch *s = text_encoder_borrow(e);
    status st = tokenizer_encode(e->tokenizer, &empty, e->has_pair ? &empty : NULL, &how, s, &all, err);
    if (st == OK && all.whole >= (size_t)e->most)
        st = FAIL(err, E_CONFIG, "%s: most: %" PRId64 " tokens leave no room beside the tokenizer's %zu special ones",
                  o->tokenizer.option, e->most, all.whole);
    text_encoder_give_back(e, s);
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

status text_encoder_open(const text_encoder_options *options, text_encoder **ret, error *err)
{
    tokenizer *t = NULL;
    TRY(reader_tokenizer_open(&options->tokenizer, &t, err));
    text_encoder *e = xcalloc(1, sizeof *e);
    e->tokenizer = t;
    e->most = options->most;
    e->has_pair = options->has_pair;
    e->refuses_long = options->refuses_long;
    e->pool = pool_create();
    read_file_options(e);
    status st = check_room(e, options, err);
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
    free(*e);
    *e = NULL;
}

const tokenizer *text_encoder_tokenizer(const text_encoder *e)
{
    return e->tokenizer;
}

size_t text_encoder_fields(const text_encoder *e, data_field ret[TEXT_FIELDS])
{
    static const char *const names[TEXT_FIELDS] = {"input_ids", "attention_mask", "token_type_ids"};
    size_t n = e->has_types ? TEXT_FIELDS : TEXT_FIELDS - 1;
    for (size_t i = 0; i < n; i++)
        ret[i] = (data_field){.name = names[i], .dtype = DT_I64, .rank = 1, .dim = {e->most}, .varies = true};
    ret[0].tokens = tokenizer_size(e->tokenizer);
    return n;
}

void text_encoder_describe(const text_encoder *e, buf *ret)
{
    buf_addf(ret, "tokenizer %s pair=%d most=%" PRId64 " refuses=%d\n", tokenizer_fingerprint(e->tokenizer),
             e->has_pair, e->most, e->refuses_long);
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

static status take_encoding(const text_encoder *e, const tokenizer_encodings *all, void *const *ret,
                            size_t *ret_tokens, size_t *ret_whole, error *err)
{
    const tokenizer_encoding *window = &all->at[0];
    if (window->n == 0)
        return FAIL(err, E_DATA, "there is no token in it");
    if (e->refuses_long && all->whole > (size_t)e->most)
        return FAIL(err, E_DATA, "has %zu tokens; at most %" PRId64 " are taken", all->whole, e->most);
    if (ret)
        text_encoder_put(e, window->ids, window->type_ids, window->n, ret);
    *ret_tokens = window->n;
    if (ret_whole)
        *ret_whole = all->whole;
    return OK;
}

status text_encoder_take(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                         void *const *ret, size_t *ret_tokens, size_t *ret_whole, error *err)
{
    tokenizer_encodings all = {.n = 0};
    tokenizer_scratch *s = text_encoder_borrow(e);
    BUG_ON(e->has_pair != (second != NULL));
    status st = tokenizer_encode(e->tokenizer, first, second, &e->how, s, &all, err);
    if (st == OK)
        st = take_encoding(e, &all, ret, ret_tokens, ret_whole, err);
    text_encoder_give_back(e, s);
    return st;
}
