/* See load.h: a tokenizer.json, section by section. */
#include "text/load.h"

#include "common/base/alloc.h"
#include "text/chars.h"
#include "text/fields.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const tokenizer_role_keys[TOKENIZER_ROLES] = {
    [TOKENIZER_CLS] = "cls_token",   [TOKENIZER_SEP] = "sep_token", [TOKENIZER_PAD] = "pad_token",
    [TOKENIZER_UNK] = "unk_token",   [TOKENIZER_MASK] = "mask_token", [TOKENIZER_BOS] = "bos_token",
    [TOKENIZER_EOS] = "eos_token",
};

/* {"Fixed": 128} or "BatchLongest" */
static status load_pad_strategy(fields *f, int64_t *ret, error *err)
{
    const json_t *value = fields_any(f, "strategy"), *fixed = json_object_get(value, "Fixed");
    const char *word = json_string_value(value);
    if (json_is_integer(fixed) && json_integer_value(fixed) >= 0 && json_integer_value(fixed) <= INT32_MAX)
        *ret = json_integer_value(fixed);
    else if (word && strcmp(word, "BatchLongest") == 0)
        *ret = 0;
    else
        return FAIL(err, E_DATA, "%s.strategy: must be \"BatchLongest\" or {\"Fixed\": tokens}", f->place);
    return OK;
}

static status load_padding(const json_t *value, const char *place, tokenizer *t, error *err)
{
    static const char *const sides[] = {"Right", "Left", NULL};
    if (!value)
        return OK;
    fields f;
    int64_t id = 0, type_id = 0;
    int side = TOKENIZER_RIGHT;
    tokenizer_padding *p = &t->padding;
    TRY(fields_begin(value, place, &f, err));
    TRY(load_pad_strategy(&f, &p->length, err));
    TRY(fields_choice(&f, "direction", sides, TOKENIZER_RIGHT, &side, err));
    TRY(fields_count(&f, "pad_to_multiple_of", 0, &p->multiple_of, err));
    TRY(fields_count(&f, "pad_id", 0, &id, err));
    TRY(fields_count(&f, "pad_type_id", 0, &type_id, err));
    fields_ignore(&f, "pad_token"); /* the text of pad_id */
    TRY(fields_end(&f, err));
    p->is_on = true;
    p->side = (tokenizer_side)side;
    p->id = (int32_t)id;
    p->type_id = (int32_t)type_id;
    return OK;
}

static status load_truncation(const json_t *value, const char *place, tokenizer *t, error *err)
{
    static const char *const sides[] = {"Right", "Left", NULL};
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond", NULL};
    if (!value)
        return OK;
    fields f;
    int side = TOKENIZER_RIGHT, strategy = TOKENIZER_LONGEST_FIRST;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "direction", sides, TOKENIZER_RIGHT, &side, err));
    TRY(fields_choice(&f, "strategy", strategies, TOKENIZER_LONGEST_FIRST, &strategy, err));
    TRY(fields_count(&f, "max_length", 512, &t->truncation.max_length, err));
    TRY(fields_count(&f, "stride", 0, &t->truncation.stride, err));
    TRY(fields_end(&f, err));
    t->truncation.side = (tokenizer_side)side;
    t->truncation.strategy = (tokenizer_strategy)strategy;
    return OK;
}

static void find_blanks(tokenizer *t)
{
    if (!t->post.trims)
        return;
    int64_t size = tokenizer_size(t);
    t->blanks = xcalloc((size_t)size + 1, sizeof *t->blanks);
    for (int64_t id = 0; id < size; id++) {
        size_t bytes;
        const char *text = tokenizer_text(t, id, &bytes);
        if (text)
            post_processor_blanks(text, bytes, &t->blanks[id].leading, &t->blanks[id].trailing);
    }
}

static void find_roles(tokenizer *t)
{
    static const char *const usual[TOKENIZER_ROLES][4] = {
        [TOKENIZER_CLS] = {"[CLS]", "<s>", "<cls>"},    [TOKENIZER_SEP] = {"[SEP]", "</s>", "<sep>"},
        [TOKENIZER_PAD] = {"[PAD]", "<pad>"},           [TOKENIZER_UNK] = {"[UNK]", "<unk>"},
        [TOKENIZER_MASK] = {"[MASK]", "<mask>"},        [TOKENIZER_BOS] = {"<s>", "<bos>", "<|begin_of_text|>"},
        [TOKENIZER_EOS] = {"</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>"},
    };
    for (int role = 0; role < TOKENIZER_ROLES; role++) {
        t->roles[role] = TOKENIZER_NO_TOKEN;
        for (size_t i = 0; i < COUNT_OF(usual[role]) && t->roles[role] == TOKENIZER_NO_TOKEN; i++)
            if (usual[role][i])
                t->roles[role] = tokenizer_id(t, usual[role][i]);
    }
    if (t->model->unk != VOCABULARY_NONE)
        t->roles[TOKENIZER_UNK] = t->model->unk;
    if (t->padding.is_on)
        t->roles[TOKENIZER_PAD] = t->padding.id;
}

static status load(fields *f, tokenizer *t, error *err)
{
    char place[FIELDS_PLACE];
    const char *version = NULL;
    TRY(fields_text(f, "version", "1.0", &version, err));
    if (strcmp(version, "1.0") != 0)
        return FAIL(err, E_DATA, "%s: version: '%s' is not known here; known is 1.0", f->place, version);
    fields_inside(f, "model", -1, place);
    TRY(model_load(fields_any(f, "model"), place, &t->model, err));
    fields_inside(f, "normalizer", -1, place);
    TRY(normalizer_load(fields_any(f, "normalizer"), place, &t->normalizer, err));
    fields_inside(f, "pre_tokenizer", -1, place);
    TRY(pre_tokenizer_load(fields_any(f, "pre_tokenizer"), place, &t->pre_tokenizer, err));
    fields_inside(f, "added_tokens", -1, place);
    TRY(added_tokens_load(fields_any(f, "added_tokens"), place, t->model->tokens, t->normalizer, &t->added, err));
    fields_inside(f, "post_processor", -1, place);
    TRY(post_processor_load(fields_any(f, "post_processor"), place, &t->post, err));
    fields_inside(f, "decoder", -1, place);
    TRY(decoder_load(fields_any(f, "decoder"), place, &t->decoder, err));
    fields_inside(f, "truncation", -1, place);
    TRY(load_truncation(fields_any(f, "truncation"), place, t, err));
    fields_inside(f, "padding", -1, place);
    TRY(load_padding(fields_any(f, "padding"), place, t, err));
    TRY(fields_end(f, err));
    find_blanks(t);
    find_roles(t);
    return OK;
}

status tokenizer_load_json(const json_t *whole, const char *origin, tokenizer **ret, error *err)
{
    static atomic_uint_fast64_t serial;
    fields f;
    chars_prepare();
    TRY(fields_begin(whole, origin, &f, err));
    tokenizer *t = xcalloc(1, sizeof *t);
    t->serial = atomic_fetch_add(&serial, 1) + 1;
    status st = load(&f, t, err);
    if (st != OK)
        tokenizer_destroy(&t);
    *ret = t;
    return st;
}
