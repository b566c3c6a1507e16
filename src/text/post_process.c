/* See post_process.h: BERT's and RoBERTa's are templates, too. */
#include "text/post_process.h"

#include "text/byte_level.h"
#include "text/chars.h"
#include "text/fields.h"

#include <string.h>

static status add(post_template *t, post_item item, const char *place, error *err)
{
    if (t->n == POST_PROCESS_ITEMS)
        return FAIL(err, E_DATA, "%s: has more than %d tokens and texts", place, POST_PROCESS_ITEMS);
    t->at[t->n++] = item;
    t->n_special += item.sequence < 0;
    return OK;
}

static void plain(post_processor *p)
{
    for (int i = 0; i < 2; i++) {
        p->templates[i] = (post_template){.n = i + 1};
        p->templates[i].at[0] = (post_item){.sequence = 0};
        p->templates[i].at[1] = (post_item){.sequence = 1, .type_id = 1};
    }
}

/* ["[SEP]", 102] */
static status load_pair(fields *f, const char *key, int32_t *ret, error *err)
{
    const json_t *value = fields_any(f, key), *id = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) > INT32_MAX)
        return FAIL(err, E_DATA, "%s.%s: must be [text, id]", f->place, key);
    *ret = (int32_t)json_integer_value(id);
    return OK;
}

/* cls A sep, then with `doubled` another sep, and B sep of type `second`. */
static status load_bert(fields *f, bool doubled, int32_t second, post_processor *p, error *err)
{
    int32_t sep = 0, cls = 0;
    TRY(load_pair(f, "sep", &sep, err));
    TRY(load_pair(f, "cls", &cls, err));
    for (int i = 0; i < 2; i++) {
        post_template *t = &p->templates[i];
        *t = (post_template){.n = 0};
        TRY(add(t, (post_item){-1, cls, 0}, f->place, err));
        TRY(add(t, (post_item){0, 0, 0}, f->place, err));
        TRY(add(t, (post_item){-1, sep, 0}, f->place, err));
        if (i == 0)
            continue;
        if (doubled)
            TRY(add(t, (post_item){-1, sep, 0}, f->place, err));
        TRY(add(t, (post_item){1, 0, second}, f->place, err));
        TRY(add(t, (post_item){-1, sep, second}, f->place, err));
    }
    return OK;
}

static status load_trimming(fields *f, post_processor *p, error *err)
{
    TRY(fields_bool(f, "trim_offsets", true, &p->trims, err));
    return fields_bool(f, "add_prefix_space", true, &p->keeps_prefix, err);
}

static status load_special(const json_t *tokens, const char *name, int32_t type_id, const char *place,
                           post_template *t, error *err)
{
    const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");
    if (!json_is_array(ids))
        return FAIL(err, E_DATA, "%s: '%s' is not among special_tokens, or has no ids there", place, name);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t id = json_integer_value(json_array_get(ids, i));
        if (!json_is_integer(json_array_get(ids, i)) || id < 0 || id > INT32_MAX)
            return FAIL(err, E_DATA, "%s: the ids of '%s' must be integers from 0", place, name);
        TRY(add(t, (post_item){-1, (int32_t)id, type_id}, place, err));
    }
    return OK;
}

/* {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}} */
static status load_item(const json_t *value, const json_t *tokens, const char *place, post_template *t, error *err)
{
    static const char *const sequences[] = {"A", "B", NULL};
    const json_t *special = json_object_get(value, "SpecialToken");
    const json_t *inside = special ? special : json_object_get(value, "Sequence");
    if (json_object_size(value) != 1 || !inside)
        return FAIL(err, E_DATA, "%s: must be {\"SpecialToken\": ...} or {\"Sequence\": ...}", place);
    fields f;
    int64_t type_id = 0;
    int sequence = 0;
    const char *name = NULL;
    TRY(fields_begin(inside, place, &f, err));
    TRY(fields_count(&f, "type_id", 0, &type_id, err));
    if (special)
        TRY(fields_text(&f, "id", NULL, &name, err));
    else
        TRY(fields_choice(&f, "id", sequences, -1, &sequence, err));
    TRY(fields_end(&f, err));
    if (special)
        return load_special(tokens, name, (int32_t)type_id, place, t, err);
    return add(t, (post_item){(int8_t)sequence, 0, (int32_t)type_id}, place, err);
}

static bool has_each_once(const post_template *t, int n_texts)
{
    int n[2] = {0, 0};
    for (int i = 0; i < t->n; i++)
        if (t->at[i].sequence >= 0)
            n[t->at[i].sequence]++;
    return n[0] == 1 && n[1] == n_texts - 1;
}

static status load_template(fields *f, post_processor *p, error *err)
{
    static const char *const keys[] = {"single", "pair"};
    const json_t *tokens = fields_any(f, "special_tokens");
    for (int which = 0; which < 2; which++) {
        const json_t *list = fields_any(f, keys[which]);
        p->templates[which] = (post_template){.n = 0};
        for (size_t i = 0; i < json_array_size(list); i++) {
            char place[FIELDS_PLACE];
            fields_inside(f, keys[which], (int)i, place);
            TRY(load_item(json_array_get(list, i), tokens, place, &p->templates[which], err));
        }
        if (!has_each_once(&p->templates[which], which + 1))
            return FAIL(err, E_DATA, "%s.%s: must have %s once", f->place, keys[which],
                        which == 0 ? "the sequence A" : "each of the sequences A and B");
    }
    return OK;
}

static status load_one(const json_t *value, const char *place, int depth, post_processor *p, error *err);

static status load_sequence(fields *f, int depth, post_processor *p, error *err)
{
    const json_t *list = NULL;
    TRY(fields_list(f, "processors", &list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[FIELDS_PLACE];
        fields_inside(f, "processors", (int)i, place);
        TRY(load_one(json_array_get(list, i), place, depth + 1, p, err));
    }
    return OK;
}

enum { BERT, ROBERTA, BYTE_LEVEL, TEMPLATE, SEQUENCE };

static const char *const types[] = {"BertProcessing",     "RobertaProcessing", "ByteLevel",
                                    "TemplateProcessing", "Sequence",          NULL};

static status load_one(const json_t *value, const char *place, int depth, post_processor *p, error *err)
{
    fields f;
    int type = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "type", types, -1, &type, err));
    if (depth > FIELDS_DEPTH)
        return FAIL(err, E_DATA, "%s: sequences inside each other more than %d deep", place, FIELDS_DEPTH);
    bool has_tokens = p->templates[0].n_special + p->templates[1].n_special > 0;
    if (has_tokens && (type == BERT || type == ROBERTA || type == TEMPLATE))
        return FAIL(err, E_DATA, "%s: special tokens are added twice, which is not known here", place);
    switch (type) {
    case BERT: TRY(load_bert(&f, false, 1, p, err)); break;
    case ROBERTA:
        TRY(load_bert(&f, true, 0, p, err));
        TRY(load_trimming(&f, p, err));
        break;
    case BYTE_LEVEL:
        TRY(load_trimming(&f, p, err));
        fields_ignore(&f, "use_regex"); /* of the pre-tokenizer */
        break;
    case TEMPLATE: TRY(load_template(&f, p, err)); break;
    default: TRY(load_sequence(&f, depth, p, err)); break;
    }
    return fields_end(&f, err);
}

status post_processor_load(const json_t *value, const char *place, post_processor *ret, error *err)
{
    *ret = (post_processor){.trims = false};
    plain(ret);
    return value ? load_one(value, place, 0, ret, err) : OK;
}

static bool is_blank(uint32_t code)
{
    return chars_is(code, CHAR_SPACE) || code == byte_level_char(' ');
}

void post_processor_blanks(const char *text, size_t bytes, uint16_t *ret_leading, uint16_t *ret_trailing)
{
    size_t n = 0;
    *ret_leading = *ret_trailing = 0;
    for (size_t at = 0; at < bytes && is_blank(chars_next(text + at, &n)); at += n)
        ++*ret_leading;
    for (size_t at = bytes; at > 0 && is_blank(chars_next(text + chars_back(text, at), &n));
         at = chars_back(text, at))
        ++*ret_trailing;
}
