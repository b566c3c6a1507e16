#include "model/huggingface.h"

#include "common/config/huggingface.h"
#include "model/encoder.h"

#include <string.h>

static bool is_decoder(const config *model)
{
    return strcmp(config_str(model, "type"), "transformer_lm") == 0;
}

/* "BertForQuestionAnswering" */
static json_t *class_of(const config *model)
{
    static const char *const heads[][2] = {{"qa", "QuestionAnswering"},
                                           {"tokens", "TokenClassification"},
                                           {"sequence", "SequenceClassification"}};
    const encoder_family *f = encoder_family_of(model);
    size_t i = 0;
    if (!f)
        return json_string("GPT2LMHeadModel");
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

/* What follows from other keys, or from the data, in numbers. */
static json_t *whole_section(const config *model, const weights *w)
{
    json_t *s = json_deep_copy(config_json(model, ""));
    fill(s, "feedforward", json_integer(4 * config_int(model, "width")));
    fill(s, "embedding_width", json_integer(config_int(model, "width")));
    fill(s, "attention_dropout", json_real(config_f64(model, "dropout")));
    fill(s, "head_dropout", json_real(config_f64(model, "dropout")));
    if (is_decoder(model)) {
        fill(s, "vocabulary", rows_of(w, "wte.weight"));
        fill(s, "context", rows_of(w, "wpe.weight"));
    }
    return s;
}

/* transformers counts the scores of a head by their names. */
static void add_labels(const config *model, const weights *w, json_t *out)
{
    const encoder_family *f = encoder_family_of(model);
    arena *a = arena_create();
    json_t *names = json_object(), *numbers = json_object();
    const char *head = f ? config_str(model, "head") : "";
    const char *scores = strcmp(head, "sequence") == 0 ? f->pooler.scores : "classifier";
    const st_tensor *bias = weights_find(w, arena_printf(a, "%s.bias", scores));
    for (int64_t i = 0; f && bias && strcmp(head, "qa") != 0 && i < bias->dim[0]; i++) {
        const char *name = arena_printf(a, "LABEL_%lld", (long long)i);
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

status huggingface_model(const config *model, const weights *w, json_t **ret, error *err)
{
    const encoder_family *f = encoder_family_of(model);
    if (!f && !is_decoder(model))
        return FAIL(err, E_UNSUPPORTED,
                    "%s.type: transformers has no network '%s'; expected bert or its kin, or transformer_lm",
                    config_path(model), config_str(model, "type"));
    json_t *section = whole_section(model, w);
    *ret = huggingface_config(section, f ? f->name : config_str(model, "network"));
    json_object_set_new(*ret, "architectures", json_pack("[o]", class_of(model)));
    add_labels(model, w, *ret);
    json_decref(section);
    return OK;
}

const char *huggingface_tensor(const config *model, const char *name, arena *a)
{
    return is_decoder(model) ? arena_printf(a, "transformer.%s", name) : name;
}
