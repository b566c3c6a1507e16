#include "common/config/huggingface_value.h"

#include "common/base/alloc.h"

#include <stdint.h>
#include <string.h>

static json_t *value_copy(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

bool huggingface_same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (!json_is_object(a) || json_object_size(a) != json_object_size(b))
        return json_equal(a, b);
    json_object_foreach((json_t *)(uintptr_t)a, key, value)
    {
        if (!huggingface_same(value, json_object_get(b, key)))
            return false;
    }
    return true;
}

/* --- activations --- */

/* By both names; what is written out is the first of ours. */
static const struct {
    const char *ours, *theirs;
} activations[] = {
    {"gelu", "gelu"},           {"gelu_tanh", "gelu_new"}, {"gelu_tanh", "gelu_pytorch_tanh"},
    {"gelu_tanh", "gelu_fast"}, {"relu", "relu"},          {"tanh", "tanh"},
    {"sigmoid", "sigmoid"},     {"silu", "silu"},          {"silu", "swish"},
};

static json_t *activation_here(const json_t *theirs)
{
    const char *word = json_string_value(theirs);
    for (size_t i = 0; word && i < COUNT_OF(activations); i++)
        if (strcmp(activations[i].theirs, word) == 0)
            return json_string(activations[i].ours);
    return NULL;
}

static json_t *activation_there(const json_t *ours)
{
    const char *word = json_string_value(ours);
    for (size_t i = 0; word && i < COUNT_OF(activations); i++)
        if (strcmp(activations[i].ours, word) == 0)
            return json_string(activations[i].theirs);
    return value_copy(ours);
}

/* --- angles of positions --- */

void huggingface_unfold(json_t *theirs)
{
    static const char *const outside[] = {"rope_theta", "partial_rotary_factor"};
    json_t *all = json_object_get(theirs, "rope_parameters");
    if (!json_is_object(all))
        return;
    json_t *scaling = json_copy(all);
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        json_t *value = json_object_get(all, outside[i]);
        if (value)
            json_object_set(theirs, outside[i], value);
        json_object_del(scaling, outside[i]);
    }
    json_object_set_new(theirs, "rope_scaling", scaling);
    json_object_del(theirs, "rope_parameters");
}

/* What the keys of a kind are; all there are must be of them. */
static const struct {
    const char *type, *keys[5];
} scalings[] = {
    {"linear", {"factor"}},
    {"llama3", {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
};

static json_t *scaling_of(const char *const *keys, const char *type, const json_t *theirs)
{
    json_t *ours = json_pack("{s:s}", "type", type);
    for (; *keys; keys++)
        json_object_set(ours, *keys, json_object_get(theirs, *keys));
    return ours;
}

/* The type stands under one of two names, or, as transformers reads it, both. */
static json_t *scaling_here(const json_t *theirs)
{
    const json_t *new_name = json_object_get(theirs, "rope_type"), *old_name = json_object_get(theirs, "type");
    const char *type = json_string_value(new_name ? new_name : old_name);
    size_t n_types = (new_name != NULL) + (old_name != NULL);
    if (json_is_null(theirs) || (type && strcmp(type, "default") == 0))
        return json_null();
    for (size_t i = 0; type && i < COUNT_OF(scalings); i++) {
        if (strcmp(scalings[i].type, type) != 0)
            continue;
        json_t *ours = scaling_of(scalings[i].keys, type, theirs);
        if (json_object_size(ours) - 1 == json_object_size(theirs) - n_types)
            return ours;
        json_decref(ours);
    }
    return NULL;
}

static json_t *scaling_there(const json_t *ours)
{
    json_t *theirs = json_copy((json_t *)(uintptr_t)ours);
    if (json_is_object(ours)) {
        json_object_set(theirs, "rope_type", json_object_get(ours, "type"));
        json_object_del(theirs, "type");
    }
    return theirs;
}

/* --- by their keys --- */

static const struct {
    const char *key;
    json_t *(*here)(const json_t *theirs), *(*there)(const json_t *ours);
    const char *expected;
} kinds[] = {
    {"activation", activation_here, activation_there, NULL},
    {"rope_scaling", scaling_here, scaling_there,
     "null, or one of the types default, linear and llama3 with nothing but its numbers"},
};

const char *huggingface_value_expected(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].key, key) == 0)
            return kinds[i].expected;
    return NULL;
}

json_t *huggingface_value_here(const char *key, const json_t *theirs)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].key, key) == 0)
            return kinds[i].here(theirs);
    return value_copy(theirs);
}

json_t *huggingface_value_there(const char *key, const json_t *ours)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].key, key) == 0)
            return kinds[i].there(ours);
    return value_copy(ours);
}
