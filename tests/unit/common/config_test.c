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
#include "common/config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char smallest[] =
    "{train_data_path: 'x', model: {type: 'mlp'}, data_loader: {batch_size: 8}}";

static const char layered[] = "{train_data_path: 'x', data_loader: {batch_size: 8},\n"
                              " model: {type: 'sequential', layers: [\n"
                              "   {type: 'conv', filters: 4, kernel: 3, name: 'first'}, 'relu',\n"
                              "   {type: 'residual', layers: [{type: 'residual', layers: ['tanh', "
                              "{type: 'dropout', p: 0}]}]},\n"
                              "   'flatten', {type: 'linear', features: 10, bias: false}]}}";

/* Loads or fails the test. */
static config *load(const config_source *source)
{
    config *c = NULL;
    error err = ERROR_INIT;
    if (config_load(source, &c, &err) != OK)
        fail_msg("%s", err.text);
    return c;
}

static config *load_text(const char *text)
{
    return load(&(config_source){.text = text});
}

static config *load_set(const char *text, const char *setting)
{
    const char *settings[] = {setting, NULL};
    return load(&(config_source){.text = text, .settings = settings});
}

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
    config *c = load_text(smallest);
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
    config *c = load_set(smallest, "trainer.optimizer=adagrad");
    assert_true(config_f64(c, "trainer.optimizer.lr") == 1e-2);
    assert_true(config_f64(c, "trainer.optimizer.eps") == 1e-10);
    config_destroy(&c);
    c = load_set(smallest, "trainer.optimizer.type=adamw");
    assert_true(config_f64(c, "trainer.optimizer.weight_decay") == 1e-2);
    config_destroy(&c);
    c = load_set(smallest, "model.type=cnn");
    assert_int_equal(config_int(c, "model.hidden[0]"), 128);
    config_destroy(&c);
}

static void null_and_foreign_keys_read_as_nothing(void **state)
{
    (void)state;
    config *c = load_text(smallest);
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
    config *c = load_text(smallest);
    assert_string_equal(config_str(c, "distributed.master_trains"), "auto");
    assert_false(config_bool(c, "distributed.master_trains"));
    config_destroy(&c);
    c = load_set(smallest, "distributed.master_trains=true");
    assert_null(config_str(c, "distributed.master_trains"));
    assert_true(config_bool(c, "distributed.master_trains"));
    config_destroy(&c);
}

static void sections_borrow_and_know_their_place(void **state)
{
    (void)state;
    config *c = load_text(layered);
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
    config *c =
        load_set(smallest, "dataset_reader={\"mean\": 0.5, \"labels\": \"l\", \"limit\": 9, "
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
    c = load_set(smallest, "validation_dataset_reader.std=2");
    assert_false(config_has(c, "validation_dataset_reader.mean"));
    assert_true(config_f64(c, "validation_dataset_reader.std") == 2.0);
    config_destroy(&c);
}

static void numbers_take_one_form(void **state)
{
    (void)state;
    config *c = load_set(smallest, "trainer.num_epochs=3.0");
    assert_true(json_is_integer(config_json(c, "trainer.num_epochs")));
    assert_int_equal(config_int(c, "trainer.num_epochs"), 3);
    config_destroy(&c);
    c = load_set(smallest, "trainer.grad_norm=1");
    assert_true(json_is_real(config_json(c, "trainer.grad_norm")));
    config_destroy(&c);
    c = load_set(smallest, "random_seed=9223372036854775807");
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
    config *c = load(&source);
    unsetenv("TEQUIO_SET");
    assert_int_equal(config_int(c, "trainer.threads"), 4);
    assert_int_equal(config_int(c, "trainer.num_epochs"), 3);
    assert_int_equal(config_int(c, "trainer.max_steps"), 2);
    assert_int_equal(config_int(c, "trainer.patience"), 1);
    config_destroy(&c);
}

static void environment_settings_name_themselves(void **state)
{
    (void)state;
    setenv("TEQUIO_SET", "trainer.threads=2\nfast", 1);
    assert_refused(&(config_source){.text = smallest}, "TEQUIO_SET: 'fast': expected key=value");
    unsetenv("TEQUIO_SET");
}

static void overrides_nest_or_have_dots(void **state)
{
    (void)state;
    config_source source = {
        .text = layered,
        .overrides = "{'trainer.optimizer.type': 'sgd', 'trainer.optimizer.lr': 0.5,\n"
                     " trainer: {optimizer: {momentum: 0.25}, 'learning_rate_scheduler.type': "
                     "'linear'},\n"
                     " 'model.layers[0].filters': 6, 'model.layers.4.features': 7,\n"
                     " 'model.layers.2.layers.0.layers.1.p': 0.75}",
    };
    config *c = load(&source);
    assert_string_equal(config_str(c, "trainer.optimizer.type"), "sgd");
    assert_true(config_f64(c, "trainer.optimizer.lr") == 0.5);
    assert_true(config_f64(c, "trainer.optimizer.momentum") == 0.25);
    assert_string_equal(config_str(c, "trainer.learning_rate_scheduler.type"), "linear");
    assert_int_equal(config_int(c, "model.layers[0].filters"), 6);
    assert_int_equal(config_int(c, "model.layers[4].features"), 7);
    assert_true(config_f64(c, "model.layers[2].layers[0].layers[1].p") == 0.75);
    config_destroy(&c);
}

static void settings_take_words_as_strings(void **state)
{
    (void)state;
    config *c = load_set(smallest, "train_data_path=/data/a=b.gz");
    assert_string_equal(config_str(c, "train_data_path"), "/data/a=b.gz");
    config_destroy(&c);
}

static void environment_reaches_jsonnet(void **state)
{
    (void)state;
    setenv("TEQUIO_TEST_EPOCHS", "7", 1);
    config_source source = {
        .text = smallest,
        .overrides = "{trainer: {num_epochs: std.parseInt(std.extVar('TEQUIO_TEST_EPOCHS'))}}",
    };
    config *c = load(&source);
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
    config *c = load(&(config_source){.path = path});
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
        .text = text ? text : smallest,
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
    static const char *const names[] = {"adam", "adamw", "sgd", "num_epochs", "batch_size"};
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

/* --- dump, digest, help --- */

static void dump_reads_back_as_itself(void **state)
{
    (void)state;
    static const char *const texts[] = {smallest, layered};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        config *c = load_text(texts[i]);
        char *text = config_dump(c);
        config *again = load_text(text);
        char *text_again = config_dump(again);
        assert_string_equal(text, text_again);
        char digest[65], digest_again[65];
        config_digest(c, digest);
        config_digest(again, digest_again);
        assert_string_equal(digest, digest_again);
        free(text);
        free(text_again);
        config_destroy(&c);
        config_destroy(&again);
    }
}

static void dump_is_for_people(void **state)
{
    (void)state;
    config *c = load_text(smallest);
    char *text = config_dump(c);
    assert_non_null(strstr(text, "\n      \"lr\": 0.001,\n"));
    assert_non_null(strstr(text, "\n    \"hidden\": [512, 512],\n"));
    assert_non_null(strstr(text, "\n    \"heartbeat_timeout\": 10.0,\n"));
    free(text);
    config_destroy(&c);
}

static bool digest_changes(const char *setting, char *ret_key, size_t bytes)
{
    config *a = load_text(smallest), *b = load_set(smallest, setting);
    char digest_a[65], digest_b[65];
    buf lines_a = BUF_INIT, lines_b = BUF_INIT;
    config_digest(a, digest_a);
    config_digest(b, digest_b);
    config_digest_lines(a, &lines_a);
    config_digest_lines(b, &lines_b);
    bool differs = config_digest_differs(lines_a.data, lines_b.data, ret_key, bytes);
    assert_true(differs == (strcmp(digest_a, digest_b) != 0));
    buf_fini(&lines_a);
    buf_fini(&lines_b);
    config_destroy(&a);
    config_destroy(&b);
    return differs;
}

static void digest_holds_what_decides_the_result(void **state)
{
    (void)state;
    static const char *const decide[][2] = {
        {"random_seed=1", "random_seed"},
        {"model.hidden=[8]", "model.hidden"},
        {"model.type=cnn", "model.type"},
        {"data_loader.batch_size=9", "data_loader.batch_size"},
        {"data_loader.shuffle=false", "data_loader.shuffle"},
        {"dataset_reader.mean=0.5", "dataset_reader.mean"},
        {"dataset_reader.augment={\"shift\": 1}", "dataset_reader.augment"},
        {"trainer.threads=2", "trainer.threads"},
        {"trainer.batches_per_step=2", "trainer.batches_per_step"},
        {"trainer.optimizer.lr=0.5", "trainer.optimizer.lr"},
        {"trainer.optimizer=sgd", "trainer.optimizer.type"},
        {"trainer.grad_norm=1", "trainer.grad_norm"},
    };
    static const char *const leave[] = {
        "train_data_path=/y",
        "validation_data_path=/y",
        "dataset_reader.labels=/y",
        "data_loader.prefetch=4",
        "distributed.workers=4",
        "distributed.ps=2",
        "distributed.lanes=2",
        "distributed.job_id=x",
        "trainer.save_checkpoints_steps=5",
        "trainer.keep_checkpoint_max=1",
        "trainer.save_summary_steps=1",
        "trainer.final_eval_timeout=1",
        "trainer.optimizer.lr=0.001",
        "trainer.num_epochs=20.0",
    };
    char key[64];
    for (size_t i = 0; i < COUNT_OF(decide); i++) {
        assert_true(digest_changes(decide[i][0], key, sizeof key));
        assert_string_equal(key, decide[i][1]);
    }
    for (size_t i = 0; i < COUNT_OF(leave); i++)
        if (digest_changes(leave[i], key, sizeof key))
            fail_msg("%s changes the digest at %s", leave[i], key);
}

static void differing_key_is_named_from_either_side(void **state)
{
    (void)state;
    char key[8];
    assert_false(config_digest_differs("a=1\nb=2\n", "a=1\nb=2\n", key, sizeof key));
    assert_true(config_digest_differs("a=1\nb=2\n", "a=1\nb=3\n", key, sizeof key));
    assert_string_equal(key, "b");
    assert_true(config_digest_differs("a=1\n", "a=1\nc=3\n", key, sizeof key));
    assert_string_equal(key, "c");
    assert_true(config_digest_differs("a-long-key=1\n", "", key, sizeof key));
    assert_string_equal(key, "a-long-");
}

/* The table itself: defaults are valid (loading the smallest one shows it for the types it has),
 * sections are described, every row has a sentence. */
static void table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        size_t n = strlen(o->help);
        assert_true(n > 0 && o->help[n - 1] == '.');
        if (o->initial) {
            json_t *value = json_loads(o->initial, JSON_DECODE_ANY, NULL);
            assert_non_null(value);
            json_decref(value);
        }
        for (size_t k = 0; k < i; k++) {
            const option *other = &option_table[k];
            char word[64];
            if (strcmp(other->path, o->path) != 0)
                continue;
            assert_true(o->types[0] && other->types[0]);
            for (const char *cursor = o->types; option_word(&cursor, word, sizeof word);)
                assert_false(option_has_type(other, word));
        }
        if (!(o->kinds & (OPTION_SECTION | OPTION_ITEMS)))
            continue;
        bool is_described = false;
        for (size_t k = 0; k < option_count; k++)
            is_described = is_described || option_is_in(&option_table[k], o->bounds);
        assert_true(is_described);
    }
    for (size_t i = 0; i < option_limit_count; i++) {
        json_t *accepted = json_loads(option_limits[i].accepted, 0, NULL);
        assert_true(json_array_size(accepted) > 0);
        json_decref(accepted);
    }
}

/* Every type's own defaults pass the checks once what must be given is given. */
static void every_type_loads(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "trainer.optimizer=adam",
        "trainer.optimizer=adamw",
        "trainer.optimizer=sgd",
        "trainer.optimizer=adagrad",
        "trainer.optimizer=rmsprop",
        "trainer.learning_rate_scheduler=constant",
        "trainer.learning_rate_scheduler={\"type\": \"step\", \"step_size\": 1}",
        "trainer.learning_rate_scheduler=cosine",
        "trainer.learning_rate_scheduler=linear",
        "trainer.learning_rate_scheduler=slanted_triangular",
        "model=mlp",
        "model=cnn",
        "model={\"type\": \"sequential\", \"layers\": []}",
        "model={\"type\": \"sequential\", \"layers\": [\"max_pool\", \"average_pool\", "
        "\"global_average_pool\", \"batch_norm\", \"dropout\", \"flatten\", \"relu\", \"gelu\", "
        "\"tanh\", \"sigmoid\"]}",
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        config *c = load_set(smallest, settings[i]);
        config_destroy(&c);
    }
}

static void help_names_every_key(void **state)
{
    (void)state;
    buf text = BUF_INIT, markdown = BUF_INIT;
    config_help_text(&text);
    config_help_markdown(&markdown);
    for (size_t i = 0; i < option_count; i++) {
        char *row =
            xasprintf("\n| `%s` | %s | ", option_key(&option_table[i]), option_table[i].types);
        assert_non_null(strstr(text.data, option_table[i].path));
        assert_non_null(strstr(markdown.data, row));
        free(row);
    }
    assert_non_null(strstr(text.data,
                           "  data_loader.batch_size: an integer >= 1; must be given\n"
                           "      Examples of one batch, the unit of work of one lane.\n"));
    assert_non_null(strstr(markdown.data, "\n## `trainer.optimizer`\n"));
    for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    buf_fini(&text);
    buf_fini(&markdown);
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
        cmocka_unit_test(environment_settings_name_themselves),
        cmocka_unit_test(overrides_nest_or_have_dots),
        cmocka_unit_test(settings_take_words_as_strings),
        cmocka_unit_test(environment_reaches_jsonnet),
        cmocka_unit_test_setup_teardown(files_import_from_their_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_files_are_named, make_folder, remove_folder),
        cmocka_unit_test(refusals_say_what_is_right),
        cmocka_unit_test(nearest_word_is_found),
        cmocka_unit_test(dump_reads_back_as_itself),
        cmocka_unit_test(dump_is_for_people),
        cmocka_unit_test(digest_holds_what_decides_the_result),
        cmocka_unit_test(differing_key_is_named_from_either_side),
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(every_type_loads),
        cmocka_unit_test(help_names_every_key),
    };
    unsetenv("TEQUIO_SET");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
