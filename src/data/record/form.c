/* See form.h. */
#include "data/record/form.h"

#include <string.h>

static const record_form forms[] = {
    {.type = "text_classification_json",
     .text = "text",
     .label = "label",
     .text_option = "text_key",
     .label_option = "label_key",
     .number_option = "skip_label_indexing"},
    {.type = "snli", .text = "sentence1", .pair = "sentence2", .label = "gold_label", .skips = "-"},
};

const record_form *record_form_of(const config *reader)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (strcmp(forms[i].type, config_str(reader, "type")) == 0)
            return &forms[i];
    return NULL;
}

static const char *key_of(const config *reader, const char *option, const char *otherwise, arena *memory)
{
    return option ? arena_strdup(memory, config_str(reader, option)) : otherwise;
}

size_t record_form_fields(const record_form *form, const config *reader, arena *memory, record_field ret[2])
{
    bool is_number = form->number_option && config_bool(reader, form->number_option);
    ret[0] = (record_field){.name = "text",
                            .key = key_of(reader, form->text_option, form->text, memory),
                            .pair = form->pair,
                            .kind = field_kind_of("text"),
                            .elements = config_int(reader, "max_sequence_length")};
    ret[1] = (record_field){.name = "label",
                            .key = key_of(reader, form->label_option, form->label, memory),
                            .kind = field_kind_of(is_number ? "label" : "word"),
                            .elements = 1,
                            .is_learned = true,
                            .skips = form->skips};
    return 2;
}
