#include "model/huggingface.h"

#include "common/config/huggingface.h"
#include "model/decoder.h"
#include "model/encoder.h"
#include "model/rope.h"

#include <string.h>

/* "BertForQuestionAnswering" */
static json_t *class_of(const config *model)
{
    static const char *const heads[][2] = {{"qa", "QuestionAnswering"},
                                           {"tokens", "TokenClassification"},
                                           {"sequence", "SequenceClassification"}};
    const encoder_family *f = encoder_family_of(model);
    size_t i = 0;
    if (!f)
        return json_string(decoder_family_of(model)->class_name);
    while (strcmp(heads[i][0], config_str(model, "head")) != 0)
        i++;
    return json_sprintf("%sFor%s", f->class_name, heads[i][1]);
}

static void fill(json_t *section, const char *key, json_t *otherwise)
{
    const json_t *value = json_object_get(section, key);
    if (!value || json_is_null(value))
        json_object_set_new(section, key, otherwise);
    else
        json_decref(otherwise);
}

static json_t *rows_of(const weights *w, const char *name)
{
    const st_tensor *t = weights_find(w, name);
    return t ? json_integer(t->dim[0]) : json_null();
}

static void fill_as(json_t *section, const char *key, const char *other)
{
    fill(section, key, json_incref(json_object_get(section, other)));
}

static void fill_decoder(const config *model, const decoder_family *f, const weights *w, json_t *s)
{
    fill(s, "activation", json_string(f->activation));
    fill(s, "dropout", json_real(f->dropout));
    fill(s, "tie_word_embeddings", json_boolean(f->is_tied));
    fill(s, "vocabulary", rows_of(w, f->table));
    fill_as(s, "num_kv_heads", "num_heads");
    fill(s, "head_dim", json_integer(config_int(model, "width") / config_int(model, "num_heads")));
    fill(s, "rope_theta", json_real(ROPE_THETA));
    fill(s, "attention_bias", json_false());
    fill(s, "mlp_bias", json_false());
    if (f->places)
        fill(s, "context", rows_of(w, f->places));
    else if (!config_has(model, "context"))
        json_object_del(s, "context"); /* nothing depends on it */
}

/* What follows from other keys, or from the data, in numbers. */
static json_t *whole_section(const config *model, const weights *w)
{
    json_t *s = json_deep_copy(config_json(model, ""));
    const decoder_family *family = decoder_family_of(model);
    fill(s, "feedforward", json_integer(4 * config_int(model, "width")));
    fill(s, "embedding_width", json_integer(config_int(model, "width")));
    if (family)
        fill_decoder(model, family, w, s);
    fill_as(s, "attention_dropout", config_has(model, "hidden_dropout") ? "hidden_dropout" : "dropout");
    fill_as(s, "head_dropout", "dropout");
    return s;
}

/* transformers counts the scores of a head by their names. */
static void add_labels(const config *model, const weights *w, const json_t *labels, json_t *out)
{
    const encoder_family *f = encoder_family_of(model);
    arena *a = arena_create();
    json_t *names = json_object(), *numbers = json_object();
    const char *head = f ? config_str(model, "head") : "";
    const char *scores = strcmp(head, "sequence") == 0 ? f->pooler.scores : "classifier";
    const st_tensor *bias = weights_find(w, arena_printf(a, "%s.bias", scores));
    for (int64_t i = 0; f && bias && strcmp(head, "qa") != 0 && i < bias->dim[0]; i++) {
        const char *word = json_string_value(json_array_get(labels, (size_t)i));
        const char *name = word ? word : arena_printf(a, "LABEL_%lld", (long long)i);
        json_object_set_new(names, arena_printf(a, "%lld", (long long)i), json_string(name));
        json_object_set_new(numbers, name, json_integer(i));
    }
    if (json_object_size(names)) {
        json_object_set(out, "id2label", names);
        json_object_set(out, "label2id", numbers);
    }
    json_decref(names);
    json_decref(numbers);
    arena_destroy(&a);
}

/* What AllenNLP's models have beside the encoder is transformers' head only in these forms. Its labels stand at the
 * first piece of a word. */
static bool has_their_head(const config *model, const encoder_family *f)
{
    const char *type = config_str(model, "type");
    if (config_section(model, "feedforward_layers"))
        return false;
    if (strcmp(type, "simple_tagger") == 0)
        return strcmp(config_str(model, "encoder.type"), "pass_through") == 0 &&
               strcmp(config_str(model, "sub_token_mode"), "first") == 0;
    if (strcmp(type, "basic_classifier") != 0)
        return true;
    return strcmp(config_str(model, "seq2vec_encoder.type"), "bert_pooler") == 0 && f->own_pooler &&
           strcmp(f->own_pooler, f->pooler.dense) == 0;
}

status huggingface_model(const config *model, const weights *w, const json_t *labels, json_t **ret, error *err)
{
    const encoder_family *f = encoder_family_of(model);
    if (!f && !decoder_family_of(model))
        return FAIL(err, E_UNSUPPORTED,
                    "%s.type: transformers has no network '%s'; expected bert or its kin, as a type or under "
                    "AllenNLP's, or transformer_lm",
                    config_path(model), config_str(model, "type"));
    if (f && !has_their_head(model, f))
        return FAIL(err, E_UNSUPPORTED,
                    "%s: transformers has no head of this form; of basic_classifier it has bert_pooler over bert or "
                    "albert, of simple_tagger pass_through with sub_token_mode first; none has feedforward_layers",
                    config_path(model));
    json_t *section = whole_section(model, w);
    *ret = huggingface_config(section, f ? f->name : config_str(model, "network"));
    json_object_set_new(*ret, "architectures", json_pack("[o]", class_of(model)));
    add_labels(model, w, labels, *ret);
    json_decref(section);
    return OK;
}

const char *huggingface_tensor(const config *model, const char *name, arena *a)
{
    const decoder_family *f = decoder_family_of(model);
    size_t n = f ? strlen(f->names.ours) : 0;
    bool is_within = f && strncmp(name, f->names.ours, n) == 0;
    return is_within ? arena_printf(a, "%s%s", f->names.theirs, name + n) : name;
}
