/*
 * Configurations: what is filled in, what lies over what, how values are read, and every refusal
 * with its text (data/config_refusals.json: a row lays settings, overrides or another text over the
 * smallest good configuration).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/config/config.h"
#include "common/config/resolved.h"
#include "unit/common/support_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(const config_source *source, const char *text)
{
    config *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(config_load(source, &c, &err), E_CONFIG);
    assert_string_equal(err.text, text);
    assert_null(c);
}

/* --- defaults and reading --- */

static void defaults_are_filled_in(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    assert_int_equal(config_int(c, "random_seed"), 13370);
    assert_int_equal(config_int(c, "trainer.num_epochs"), 20);
    assert_string_equal(config_str(c, "dataset_reader.type"), "idx");
    assert_string_equal(config_str(c, "trainer.optimizer.type"), "adam");
    assert_true(config_f64(c, "trainer.optimizer.lr") == 1e-3);
    assert_true(config_f64(c, "trainer.optimizer.betas[1]") == 0.999);
    assert_string_equal(config_str(c, "trainer.learning_rate_scheduler.type"), "constant");
    assert_true(config_bool(c, "data_loader.shuffle"));
    assert_int_equal(config_count(c, "model.hidden"), 2);
    assert_int_equal(config_int(c, "model.hidden[1]"), 512);
    assert_true(config_f64(c, "distributed.heartbeat_timeout") == 10.0);
    assert_string_equal(config_str(c, "distributed.mode"), "sync");
    config_destroy(&c);
    assert_null(c);
    config_destroy(&c);
    config_destroy(NULL);
}

static void defaults_follow_the_type(void **state)
{
    (void)state;
    config *c = config_load_set(config_smallest, "trainer.optimizer=adagrad");
    assert_true(config_f64(c, "trainer.optimizer.lr") == 1e-2);
    assert_true(config_f64(c, "trainer.optimizer.eps") == 1e-10);
    config_destroy(&c);
    c = config_load_set(config_smallest, "trainer.optimizer.type=adamw");
    assert_true(config_f64(c, "trainer.optimizer.weight_decay") == 1e-2);
    config_destroy(&c);
    c = config_load_set(config_smallest, "model.type=cnn");
    assert_int_equal(config_int(c, "model.hidden[0]"), 128);
    config_destroy(&c);
}

static void null_and_foreign_keys_read_as_nothing(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    assert_false(config_has(c, "trainer.patience"));
    assert_int_equal(config_int(c, "trainer.patience"), 0);
    assert_null(config_json(c, "trainer.patience"));
    assert_null(config_str(c, "validation_data_path"));
    assert_null(config_section(c, "dataset_reader.augment"));
    assert_false(config_has(c, "dataset_reader.augment.shift"));
    assert_int_equal(config_count(c, "distributed.cuda_devices"), 0);
    assert_false(config_has(c, "trainer.optimizer.momentum"));
    assert_true(config_f64(c, "trainer.optimizer.momentum") == 0.0);
    assert_true(config_has(c, "trainer.optimizer.betas"));
    config_destroy(&c);
}

static void alternatives_read_as_what_they_are(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    assert_string_equal(config_str(c, "distributed.master_trains"), "auto");
    assert_false(config_bool(c, "distributed.master_trains"));
    config_destroy(&c);
    c = config_load_set(config_smallest, "distributed.master_trains=true");
    assert_null(config_str(c, "distributed.master_trains"));
    assert_true(config_bool(c, "distributed.master_trains"));
    config_destroy(&c);
}

static void sections_borrow_and_know_their_place(void **state)
{
    (void)state;
    config *c = config_load_text(config_layered);
    assert_string_equal(config_path(c), "");
    const config *model = config_section(c, "model");
    assert_int_equal(config_count(model, "layers"), 5);
    const config *conv = config_section(model, "layers[0]");
    assert_string_equal(config_path(conv), "model.layers[0]");
    assert_string_equal(config_str(conv, "name"), "first");
    assert_string_equal(config_str(conv, "padding"), "same");
    assert_string_equal(config_str(config_section(c, "model.layers[1]"), "type"), "relu");
    const config *inner = config_section(c, "model.layers[2].layers[0]");
    assert_string_equal(config_path(inner), "model.layers[2].layers[0]");
    assert_int_equal(config_count(inner, "layers"), 2);
    assert_true(config_has(inner, "layers[1].p"));
    assert_true(config_f64(inner, "layers[1].p") == 0.0);
    assert_false(config_bool(c, "model.layers[4].bias"));
    assert_null(config_section(model, "layers[5]"));
    config_destroy(&c);
}

static void validation_follows_training(void **state)
{
    (void)state;
    config *c = config_load_set(config_smallest,
                                "dataset_reader={\"mean\": 0.5, \"labels\": \"l\", \"limit\": 9, "
                                "\"augment\": {\"shift\": 2}}");
    const config *reader = config_section(c, "validation_dataset_reader");
    assert_true(config_f64(reader, "mean") == 0.5);
    assert_int_equal(config_int(reader, "limit"), 9);
    assert_null(config_section(reader, "augment"));
    assert_null(config_str(reader, "labels"));
    assert_int_equal(config_int(c, "dataset_reader.augment.shift"), 2);
    assert_false(config_bool(c, "dataset_reader.augment.flip"));
    assert_int_equal(config_int(c, "validation_data_loader.batch_size"), 8);
    config_destroy(&c);
    c = config_load_set(config_smallest, "validation_dataset_reader.std=2");
    assert_false(config_has(c, "validation_dataset_reader.mean"));
    assert_true(config_f64(c, "validation_dataset_reader.std") == 2.0);
    config_destroy(&c);
    c = config_load_set(config_smallest,
                        "dataset_reader={\"type\": \"text\", \"tokenizer\": \"bytes\", "
                        "\"context\": 9, \"stride\": 1, \"range\": [0, 0.9]}");
    assert_string_equal(config_str(c, "validation_dataset_reader.tokenizer"), "bytes");
    assert_int_equal(config_int(c, "validation_dataset_reader.context"), 9);
    assert_false(config_has(c, "validation_dataset_reader.stride"));
    assert_false(config_has(c, "validation_dataset_reader.range"));
    config_destroy(&c);
}

static void numbers_take_one_form(void **state)
{
    (void)state;
    config *c = config_load_set(config_smallest, "trainer.num_epochs=3.0");
    assert_true(json_is_integer(config_json(c, "trainer.num_epochs")));
    assert_int_equal(config_int(c, "trainer.num_epochs"), 3);
    config_destroy(&c);
    c = config_load_set(config_smallest, "trainer.grad_norm=1");
    assert_true(json_is_real(config_json(c, "trainer.grad_norm")));
    config_destroy(&c);
    c = config_load_set(config_smallest, "random_seed=9223372036854775807");
    assert_true(config_int(c, "random_seed") == INT64_MAX);
    config_destroy(&c);
}

/* --- what lies over what --- */

static void sources_lie_over_each_other(void **state)
{
    (void)state;
    const char *settings[] = {"trainer.threads=4", NULL};
    config_source source = {
        .text = "{train_data_path: 'x', model: 'mlp', data_loader: {batch_size: 8},\n"
                " trainer: {threads: 1, num_epochs: 1, max_steps: 1, patience: 1}}",
        .overrides = "{trainer: {threads: 3, num_epochs: 3}}",
        .settings = settings,
    };
    setenv("TEQUIO_SET", "\ntrainer.threads=2\n  \ntrainer.num_epochs=2\ntrainer.max_steps=2\n", 1);
    config *c = config_load_or_fail(&source);
    unsetenv("TEQUIO_SET");
    assert_int_equal(config_int(c, "trainer.threads"), 4);
    assert_int_equal(config_int(c, "trainer.num_epochs"), 3);
    assert_int_equal(config_int(c, "trainer.max_steps"), 2);
    assert_int_equal(config_int(c, "trainer.patience"), 1);
    config_destroy(&c);
}

/* It has TEQUIO_SET already, and what lies over that. */
static void what_was_resolved_stays(void **state)
{
    (void)state;
    setenv("TEQUIO_SET", "trainer.threads=2\ntrainer.num_epochs=2", 1);
    config *c = config_load_set(config_smallest, "trainer.threads=4");
    char *text = config_dump(c);
    config *again = NULL;
    assert_int_equal(config_load_resolved(text, &again, NULL), OK);
    unsetenv("TEQUIO_SET");
    assert_int_equal(config_int(again, "trainer.threads"), 4);
    assert_int_equal(config_int(again, "trainer.num_epochs"), 2);
    free(text);
    config_destroy(&c);
    config_destroy(&again);
}

static void environment_settings_name_themselves(void **state)
{
    (void)state;
    setenv("TEQUIO_SET", "trainer.threads=2\nfast", 1);
    assert_refused(&(config_source){.text = config_smallest},
                   "TEQUIO_SET: 'fast': expected key=value");
    unsetenv("TEQUIO_SET");
}

static void overrides_nest_or_have_dots(void **state)
{
    (void)state;
    config_source source = {
        .text = config_layered,
        .overrides = "{'trainer.optimizer.type': 'sgd', 'trainer.optimizer.lr': 0.5,\n"
                     " trainer: {optimizer: {momentum: 0.25}, 'learning_rate_scheduler.type': "
                     "'linear'},\n"
                     " 'model.layers[0].filters': 6, 'model.layers.4.features': 7,\n"
                     " 'model.layers.2.layers.0.layers.1.p': 0.75}",
    };
    config *c = config_load_or_fail(&source);
    assert_string_equal(config_str(c, "trainer.optimizer.type"), "sgd");
    assert_true(config_f64(c, "trainer.optimizer.lr") == 0.5);
    assert_true(config_f64(c, "trainer.optimizer.momentum") == 0.25);
    assert_string_equal(config_str(c, "trainer.learning_rate_scheduler.type"), "linear");
    assert_int_equal(config_int(c, "model.layers[0].filters"), 6);
    assert_int_equal(config_int(c, "model.layers[4].features"), 7);
    assert_true(config_f64(c, "model.layers[2].layers[0].layers[1].p") == 0.75);
    config_destroy(&c);
}

/* AllenNLP's keys of readers, of which there are several. */
static void overrides_name_keys_of_allennlp(void **state)
{
    (void)state;
    config_source source = {
        .text = "{dataset_reader: {type: 'sharded', base_reader: {type: 'conll2003'}}, train_data_path: 'x', "
                "validation_dataset_reader: {type: 'snli', tokenizer: 't'}, model: 'mlp', "
                "data_loader: {batch_size: 1}}",
        .overrides = "{'dataset_reader.max_instances': 3, 'validation_dataset_reader.max_instances': 4, "
                     "'dataset_reader.base_reader.token_indexers': {tokens: {lowercase_tokens: true}}}",
    };
    config *c = config_load_or_fail(&source);
    assert_int_equal(config_int(c, "dataset_reader.limit"), 3);
    assert_int_equal(config_int(c, "validation_dataset_reader.limit"), 4);
    assert_true(config_bool(c, "dataset_reader.base_reader.lowercase_tokens"));
    config_destroy(&c);
}

static void settings_take_words_as_strings(void **state)
{
    (void)state;
    config *c = config_load_set(config_smallest, "train_data_path=/data/a=b.gz");
    assert_string_equal(config_str(c, "train_data_path"), "/data/a=b.gz");
    config_destroy(&c);
}

static void environment_reaches_jsonnet(void **state)
{
    (void)state;
    setenv("TEQUIO_TEST_EPOCHS", "7", 1);
    config_source source = {
        .text = config_smallest,
        .overrides = "{trainer: {num_epochs: std.parseInt(std.extVar('TEQUIO_TEST_EPOCHS'))}}",
    };
    config *c = config_load_or_fail(&source);
    assert_int_equal(config_int(c, "trainer.num_epochs"), 7);
    config_destroy(&c);
    unsetenv("TEQUIO_TEST_EPOCHS");
}

/* --- files --- */

typedef struct folder {
    char path[256];
} folder;

static int make_folder(void **state)
{
    folder *f = xcalloc(1, sizeof *f);
    const char *base = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/tequio-config-XXXXXX", base ? base : "/tmp");
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

static int remove_folder(void **state)
{
    folder *f = *state;
    status st = fs_remove_tree(f->path, NULL);
    free(f);
    return st == OK ? 0 : -1;
}

static char *write_file(const folder *f, const char *name, const void *data, size_t bytes)
{
    char *path = xasprintf("%s/%s", f->path, name);
    assert_int_equal(fs_write_atomic(path, data, bytes, NULL), OK);
    return path;
}

static void files_import_from_their_folder(void **state)
{
    const folder *f = *state;
    static const char base[] = "{data_loader: {batch_size: 16}}";
    static const char top[] = "(import 'base.libsonnet') + {train_data_path: 'x', model: 'cnn'}";
    char *base_path = write_file(f, "base.libsonnet", base, strlen(base));
    char *path = write_file(f, "top.jsonnet", top, strlen(top));
    config *c = config_load_or_fail(&(config_source){.path = path});
    assert_int_equal(config_int(c, "data_loader.batch_size"), 16);
    config_destroy(&c);
    free(base_path);
    free(path);
}

static void bad_files_are_named(void **state)
{
    const folder *f = *state;
    char *missing = xasprintf("%s/none.jsonnet", f->path);
    char *text = xasprintf("config: open '%s': No such file or directory", missing);
    assert_refused(&(config_source){.path = missing}, text);
    free(text);
    text = xasprintf("config: read '%s': Is a directory", f->path);
    assert_refused(&(config_source){.path = f->path}, text);
    free(text);
    char *path = write_file(f, "zero.jsonnet", "{a\0}", 4);
    text = xasprintf("%s: zero byte at offset 2; expected jsonnet text", path);
    assert_refused(&(config_source){.path = path}, text);
    free(text);
    free(path);
    path = write_file(f, "bad.jsonnet", "{\n\n a: }", 8);
    text = xasprintf("%s:3:5: ", path);
    config *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(config_load(&(config_source){.path = path}, &c, &err), E_CONFIG);
    assert_memory_equal(err.text, text, strlen(text));
    free(text);
    free(path);
    free(missing);
}

/* --- refusals --- */

static bool is_refused_rightly(const json_t *row)
{
    const char *id = json_string_value(json_object_get(row, "id"));
    const char *text = json_string_value(json_object_get(row, "text"));
    const char *settings[8] = {NULL};
    const json_t *set = json_object_get(row, "set");
    for (size_t i = 0; i < json_array_size(set); i++)
        settings[i] = json_string_value(json_array_get(set, i));
    config_source source = {
        .text = text ? text : config_smallest,
        .overrides = json_string_value(json_object_get(row, "overrides")),
        .settings = settings,
    };
    config *c = NULL;
    error err = ERROR_INIT;
    status st = config_load(&source, &c, &err);
    const char *want = json_string_value(json_object_get(row, "error"));
    bool is_right = st == E_CONFIG && strcmp(err.text, want) == 0;
    if (!is_right)
        print_error("%s: %s: '%s'; expected '%s'\n", id, status_name(st), err.text, want);
    config_destroy(&c);
    return is_right;
}

static void refusals_say_what_is_right(void **state)
{
    (void)state;
    json_t *rows = NULL;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/config_refusals.json", &rows, &err) != OK)
        fail_msg("%s", err.text);
    assert_true(json_array_size(rows) > 50);
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        wrong += !is_refused_rightly(json_array_get(rows, i));
    assert_int_equal(wrong, 0);
    json_decref(rows);
}

static void nearest_word_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"adam", "adamw", "sgd", "num_epochs", "batch_size",
                                        "transformer_model_name", "no_deprecation_warning"};
    static const struct {
        const char *word, *near;
    } rows[] = {
        {"adam", "adam"},
        {"adm", "adam"},
        {"adamww", "adamw"},
        {"dgs", NULL},
        {"sdg", "sgd"},
        {"num_epoch", "num_epochs"},
        {"numepoch", "num_epochs"},
        {"bath_siz", "batch_size"},
        {"size", NULL},
        {"transformer_name", "transformer_model_name"},
        {"num_train_epochs", "num_epochs"},
        {"per_gpu_train_batch_size", "batch_size"},
        {"name_transformer", NULL},
        {"model", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *near = config_did_you_mean(rows[i].word, names, COUNT_OF(names));
        if (!rows[i].near)
            assert_null(near);
        else
            assert_string_equal(near, rows[i].near);
    }
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(config_did_you_mean(longest, names, COUNT_OF(names)));
    assert_null(config_did_you_mean("adam", NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(defaults_follow_the_type),
        cmocka_unit_test(null_and_foreign_keys_read_as_nothing),
        cmocka_unit_test(alternatives_read_as_what_they_are),
        cmocka_unit_test(sections_borrow_and_know_their_place),
        cmocka_unit_test(validation_follows_training),
        cmocka_unit_test(numbers_take_one_form),
        cmocka_unit_test(sources_lie_over_each_other),
        cmocka_unit_test(what_was_resolved_stays),
        cmocka_unit_test(environment_settings_name_themselves),
        cmocka_unit_test(overrides_nest_or_have_dots),
        cmocka_unit_test(overrides_name_keys_of_allennlp),
        cmocka_unit_test(settings_take_words_as_strings),
        cmocka_unit_test(environment_reaches_jsonnet),
        cmocka_unit_test_setup_teardown(files_import_from_their_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_files_are_named, make_folder, remove_folder),
        cmocka_unit_test(refusals_say_what_is_right),
        cmocka_unit_test(nearest_word_is_found),
    };
    unsetenv("TEQUIO_SET");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
