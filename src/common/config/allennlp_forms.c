/* See allennlp_forms.h. */
#include "common/config/allennlp_forms.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/huggingface.h"
#include "common/config/reader_sections.h"

#include <stdlib.h>
#include <string.h>

typedef struct forms {
    json_t *tree;
    allennlp_note_fn *note;
    void *user;
} forms;

static void say(const forms *f, char *text)
{
    f->note(f->user, false, text);
    free(text);
}

static bool is_word(const json_t *section, const char *key, const char *word)
{
    const char *text = json_string_value(json_object_get(section, key));
    return text && strcmp(text, word) == 0;
}

/* --- several readers --- */

static void list_readers(void *user, json_t *section, const char *place)
{
    json_t *named = json_object_get(section, "readers"), *reader;
    if (!json_is_object(named))
        return;
    const char *name;
    json_t *list = json_array();
    json_object_foreach(named, name, reader)
    {
        json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "reader", reader));
    }
    json_object_set_new(section, "readers", list);
    say(user, xasprintf("%s.readers is taken as a list, each reader with its name", place));
}

/* Whoever reads such data: dataset_reader if validation data have no reader of their own. */
static const json_t *reader_of(const json_t *tree, const char *data)
{
    const json_t *own = json_object_get(tree, "validation_dataset_reader");
    bool is_training = strcmp(data, "train_data_path") == 0;
    return is_training || !json_is_object(own) ? json_object_get(tree, "dataset_reader") : own;
}

/* An object for another reader stays one, which the rows refuse. */
static void name_paths(const forms *f, const char *key)
{
    const json_t *paths = json_object_get(f->tree, key);
    if (!json_is_object(paths) || !json_object_get(reader_of(f->tree, key), "readers"))
        return;
    char *text = json_text(paths);
    json_object_set_new(f->tree, key, json_string(text));
    say(f, xasprintf("%s is taken as the text of its object, a path for each reader: %s", key, text));
    free(text);
}

static void type_scheduler(const forms *f, const char *loader)
{
    json_t *scheduler = json_object_get(json_object_get(f->tree, loader), "scheduler");
    if (json_is_object(scheduler) && !json_object_get(scheduler, "type"))
        json_object_set_new(scheduler, "type", json_string("homogeneous_roundrobin"));
}

/* --- pretrained models by default --- */

static void name_model(const forms *f, json_t *section, const char *place)
{
    static const char key[] = "transformer_model_name", name[] = "bert-base-cased";
    if (json_object_get(section, key))
        return;
    json_object_set_new(section, key, json_string(name));
    say(f, xasprintf("%s.%s is taken as \"%s\", AllenNLP's default", place, key, name));
}

static void name_tokenizer(void *user, json_t *section, const char *place)
{
    if (is_word(section, "type", "transformer_squad"))
        name_model(user, section, place);
}

static bool has_network(const json_t *model)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)model, key, value)
    {
        if (huggingface_sets(key))
            return true;
    }
    return false;
}

static void name_network(const forms *f)
{
    json_t *model = json_object_get(f->tree, "model");
    if (is_word(f->tree, "model", "transformer_qa")) {
        model = json_pack("{s:O}", "type", model);
        json_object_set_new(f->tree, "model", model);
    }
    if (is_word(model, "type", "transformer_qa") && !has_network(model))
        name_model(f, model, "model");
}

/* AllenNLP's reader gives trees in any case. */
static void give_trees(void *user, json_t *section, const char *place)
{
    static const char key[] = "dependencies";
    if (!is_word(section, "type", "universal_dependencies") || json_object_get(section, key))
        return;
    json_object_set_new(section, key, json_true());
    say(user, xasprintf("%s.%s is taken as true, as biaffine_parser reads trees", place, key));
}

void allennlp_forms_take(json_t *tree, allennlp_note_fn *note, void *user)
{
    static const char *const data[] = {"train_data_path", "validation_data_path", "test_data_path"};
    static const char *const loaders[] = {"data_loader", "validation_data_loader"};
    forms f = {.tree = tree, .note = note, .user = user};
    reader_sections_each(tree, list_readers, &f);
    reader_sections_each(tree, name_tokenizer, &f);
    name_network(&f);
    if (is_word(json_object_get(tree, "model"), "type", "biaffine_parser"))
        reader_sections_each(tree, give_trees, &f);
    for (size_t i = 0; i < COUNT_OF(data); i++)
        name_paths(&f, data[i]);
    for (size_t i = 0; i < COUNT_OF(loaders); i++)
        type_scheduler(&f, loaders[i]);
}

/* --- what a schedule counts --- */

static void count_epochs(const forms *f, json_t *schedule, const char *place, const char *of_allennlp)
{
    if (!is_word(schedule, "type", "step") || json_object_get(schedule, "unit"))
        return;
    json_object_set_new(schedule, "unit", json_string("epoch"));
    say(f, xasprintf("%s.step_size counts epochs, as AllenNLP's does, since %s is its key: unit \"step\" would count "
                     "steps",
                     place, of_allennlp));
}

void allennlp_forms_count_epochs(json_t *tree, const char *of_allennlp, allennlp_note_fn *note, void *user)
{
    static const char path[] = "trainer.learning_rate_scheduler";
    forms f = {.tree = tree, .note = note, .user = user};
    json_t *schedule = json_object_get(json_object_get(tree, "trainer"), "learning_rate_scheduler"), *part;
    size_t i;
    count_epochs(&f, schedule, path, of_allennlp);
    json_array_foreach(json_object_get(schedule, "schedulers"), i, part)
    {
        char *place = xasprintf("%s.schedulers[%zu].scheduler", path, i);
        json_t *pair = json_array_get(part, 1);
        count_epochs(&f, pair ? pair : json_object_get(part, "scheduler"), place, of_allennlp);
        free(place);
    }
}
