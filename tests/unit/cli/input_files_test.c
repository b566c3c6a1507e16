/* Which files of this machine a configuration names, and by which names tasks find them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/run/input_files.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scene {
    char folder[64];
    arena *memory;
} scene;

static void write_empty(const char *name)
{
    assert_int_equal(fs_write_atomic(name, "", 0, NULL), OK);
}

/* data/train and data/link, which is elsewhere/far; we are in `here`. */
static int build(void **state)
{
    static scene s;
    strcpy(s.folder, "/tmp/tequio-input-XXXXXX");
    s.memory = arena_create();
    if (!mkdtemp(s.folder) || chdir(s.folder))
        return -1;
    static const char *const folders[] = {"data", "elsewhere", "here", "folder"};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        assert_int_equal(fs_mkdirs(folders[i], NULL), OK);
    write_empty("data/train");
    write_empty("elsewhere/far");
    assert_int_equal(symlink("../elsewhere/far", "data/link"), 0);
    *state = &s;
    return chdir("here");
}

static int tear_down(void **state)
{
    scene *s = *state;
    arena_destroy(&s->memory);
    return chdir("/") || fs_remove_tree(s->folder, NULL) != OK;
}

static void paths_become_absolute(void **state)
{
    scene *s = *state;
    const config_source source = {
        .text = "{dataset_reader: {type: 'idx', labels: '../data/train'},"
                " train_data_path: '../data/link', validation_data_path: '../none/x',"
                " test_data_path: '../folder/', model: {type: 'mlp', hidden: [4]},"
                " data_loader: {batch_size: 4}, trainer: {num_epochs: 1}}"};
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(&source, &c, &err) != OK)
        fail_msg("%s", err.text);
    input_files r;
    input_files_find(c, s->memory, &r);
    json_t *top = NULL;
    assert_int_equal(json_parse(r.config, strlen(r.config), "it", E_CONFIG, &top, NULL), OK);
    static const struct {
        const char *key, *path;
    } wanted[] = {{"train_data_path", "data/link"}, {"test_data_path", "folder"}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_string_equal(json_string_value(json_object_get(top, wanted[i].key)),
                            arena_printf(s->memory, "%s/%s", s->folder, wanted[i].path));
    assert_string_equal(json_string_value(json_object_get(top, "validation_data_path")),
                        "../none/x");
    json_decref(top);
    static const char *const paths[] = {"data", "elsewhere", "folder"};
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        assert_string_equal(r.paths[i], arena_printf(s->memory, "%s/%s", s->folder, paths[i]));
    assert_null(r.paths[COUNT_OF(paths)]);
    config_destroy(&c);
}

/* A model's weights, and those of the model that it learns from. */
static void files_of_models_are_named(void **state)
{
    scene *s = *state;
    static const char *const teachers[] = {"{type: 'onnx', path: 'teacher'}",
                                           "{type: 'mlp', pretrained: {path: 'teacher'}}"};
    static const char *const keys[] = {"model.distillation.teacher.path", "model.distillation.teacher.pretrained.path"};
    for (size_t i = 0; i < COUNT_OF(teachers); i++) {
        config *c = NULL;
        error err = ERROR_INIT;
        const char *text = arena_printf(s->memory, "{train_data_path: '../data/train', data_loader: {batch_size: 4},"
                                                   " model: {type: 'mlp', pretrained: {path: 'begin'}, distillation:"
                                                   " {teacher: %s}}, trainer: {num_epochs: 1}}", teachers[i]);
        if (config_load(&(config_source){.text = text}, &c, &err) != OK)
            fail_msg("%s", err.text);
        const input_file_name *n = input_files_names(c, s->memory);
        assert_string_equal(n[1].key, "model.pretrained.path");
        assert_string_equal(n[2].key, keys[i]);
        assert_string_equal(n[2].path, "teacher");
        assert_null(n[3].key);
        config_destroy(&c);
    }
}

/* As AllenNLP names the data of several readers. */
static void paths_by_readers_become_absolute(void **state)
{
    scene *s = *state;
    const config_source source = {
        .text = "{dataset_reader: {type: 'multitask', readers: {a: 'idx', b: 'idx'}},"
                " train_data_path: {a: '../data/train', b: '../elsewhere/far'}, model: {type: 'mlp', hidden: [4]},"
                " data_loader: {batch_size: 4}, trainer: {num_epochs: 1}}"};
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(&source, &c, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(input_files_check(c, &err), OK);
    const char *before = arena_strdup(s->memory, config_str(c, "train_data_path"));
    input_files r;
    input_files_find(c, s->memory, &r);
    assert_string_equal(config_str(c, "train_data_path"), before);
    json_t *top = NULL;
    assert_int_equal(json_parse(r.config, strlen(r.config), "it", E_CONFIG, &top, NULL), OK);
    const char *named = arena_printf(s->memory, "{\"a\":\"%s/data/train\",\"b\":\"%s/elsewhere/far\"}", s->folder,
                                     s->folder);
    assert_string_equal(json_string_value(json_object_get(top, "train_data_path")), named);
    assert_string_equal(r.paths[0], arena_printf(s->memory, "%s/data", s->folder));
    assert_string_equal(r.paths[1], arena_printf(s->memory, "%s/elsewhere", s->folder));
    json_decref(top);
    config_destroy(&c);
}

/* Those of readers within readers, too. */
static void what_is_not_there_is_named_by_its_key(void **state)
{
    (void)state;
    static const struct {
        const char *reader, *part;
    } cases[] = {
        {"{type: 'sharded', base_reader: {type: 'transformer_squad', transformer_model_name: '../none'}}",
         "dataset_reader.base_reader.transformer_model_name: open '../none'"},
        {"{type: 'multitask', readers: [{name: 'a', reader: {type: 'text', context: 4}}, {name: 'b', reader:"
         " {type: 'text', context: 4, tokenizer: '../none'}}]}",
         "dataset_reader.readers[1].reader.tokenizer: open '../none'"},
        {"{type: 'multitask', readers: [{name: 'a', reader: {type: 'sharded', base_reader: {type: 'conll2003',"
         " vocabulary: '../none'}}}]}",
         "dataset_reader.readers[0].reader.base_reader.vocabulary: open '../none'"},
        {"{type: 'text', context: 4, vocabulary: 'https://here/none'}",
         "'https://here/none': No such file or directory; nothing is downloaded"},
        {"{type: 'text', context: 4, tokenizer: 'here/none'}",
         "No such file or directory; nor has Hugging Face's cache a model"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xasprintf("{dataset_reader: %s, train_data_path: '../data/train', data_loader: {batch_size: 4},"
                               " model: {type: 'mlp', hidden: [4]}, trainer: {num_epochs: 1}}",
                               cases[i].reader);
        config *c = NULL;
        error err = ERROR_INIT;
        if (config_load(&(config_source){.text = text}, &c, &err) != OK)
            fail_msg("%s", err.text);
        assert_int_equal(input_files_check(c, &err), E_DATA);
        if (!strstr(err.text, cases[i].part))
            fail_msg("message \"%s\" lacks \"%s\"", err.text, cases[i].part);
        config_destroy(&c);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_models_are_named, build, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_named_by_its_key, build, tear_down),
        cmocka_unit_test_setup_teardown(paths_become_absolute, build, tear_down),
        cmocka_unit_test_setup_teardown(paths_by_readers_become_absolute, build, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
