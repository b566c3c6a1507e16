/*
 * What is made of a configuration and of the table: the dump, the digest and the help, and that the
 * table itself is sound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/config/options.h"
#include "unit/common/support_config.h"

#include <stdlib.h>
#include <string.h>

static void dump_reads_back_as_itself(void **state)
{
    (void)state;
    static const char *const texts[] = {
        config_smallest,
        config_layered,
        "{train_data_path: 'x', data_loader: {batch_size: 1}, trainer: {optimizer: 'sgd'}, model: "
        "{type: 'mlp', pretrained: {path: 'x', map: {'a\\\\.(\"b\")': '$1\\\\'}}}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        config *c = config_load_text(texts[i]);
        char *text = config_dump(c);
        config *again = config_load_text(text);
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
    config *c = config_load_text(config_smallest);
    char *text = config_dump(c);
    assert_non_null(strstr(text, "\n      \"lr\": 0.001,\n"));
    assert_non_null(strstr(text, "\n    \"hidden\": [512, 512],\n"));
    assert_non_null(strstr(text, "\n    \"heartbeat_timeout\": 10.0,\n"));
    free(text);
    config_destroy(&c);
}

static bool digest_changes(const char *setting, char *ret_key, size_t bytes)
{
    config *a = config_load_text(config_smallest), *b = config_load_set(config_smallest, setting);
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
        {"trainer.loss_scale=dynamic", "trainer.loss_scale"},
        {"trainer.loss_scale_start=1024", "trainer.loss_scale_start"},
        {"trainer.loss_scale_window=5", "trainer.loss_scale_window"},
    };
    static const char *const leave[] = {
        "train_data_path=/y",
        "validation_data_path=/y",
        "dataset_reader.labels=/y",
        "data_loader.prefetch=4",
        "distributed.workers=4",
        "distributed.ps=2",
        "distributed.lanes=2",
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
        "trainer.optimizer=huggingface_adamw",
        "trainer.optimizer=adadelta",
        "trainer.optimizer=adamax",
        "trainer.optimizer=nadam",
        "trainer.optimizer=radam",
        "trainer.optimizer=lion",
        "trainer.optimizer=ftrl",
        "trainer.learning_rate_scheduler=constant",
        "trainer.learning_rate_scheduler={\"type\": \"step\", \"step_size\": 1}",
        "trainer.learning_rate_scheduler=cosine",
        "trainer.learning_rate_scheduler=linear",
        "trainer.learning_rate_scheduler=slanted_triangular",
        "trainer.learning_rate_scheduler=linear_with_warmup",
        "trainer.learning_rate_scheduler=polynomial_decay",
        "trainer.learning_rate_scheduler=one_cycle",
        "trainer.learning_rate_scheduler={\"type\": \"multi_step\", \"milestones\": [1]}",
        "trainer.learning_rate_scheduler={\"type\": \"exponential\", \"gamma\": 0.5}",
        "trainer.learning_rate_scheduler={\"type\": \"constant_with_warmup\", \"warmup_steps\": 1}",
        "trainer.learning_rate_scheduler={\"type\": \"cosine_with_warmup\", \"warmup_steps\": 1}",
        "trainer.learning_rate_scheduler={\"type\": \"cosine_hard_restarts_with_warmup\", \"warmup_steps\": 1}",
        "trainer.learning_rate_scheduler={\"type\": \"noam\", \"warmup_steps\": 1, \"model_size\": 8}",
        "trainer.learning_rate_scheduler={\"type\": \"combined\", \"schedulers\": [[1, \"linear\"]]}",
        "trainer.moving_average=exponential",
        "trainer.sam={}",
        "model=mlp",
        "model=cnn",
        "model={\"type\": \"sequential\", \"layers\": []}",
        "model={\"type\": \"sequential\", \"layers\": [\"max_pool\", \"average_pool\", "
        "\"global_average_pool\", \"batch_norm\", \"dropout\", \"flatten\", \"relu\", \"gelu\", "
        "\"tanh\", \"sigmoid\"]}",
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        config *c = config_load_set(config_smallest, settings[i]);
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
                           "  data_loader.batch_size: an integer >= 1 or 'auto'; must be given\n"
                           "      Examples of one batch, the unit of work of one lane. auto: the smallest\n"));
    assert_non_null(strstr(markdown.data, "\n## `trainer.optimizer`\n"));
    for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    buf_fini(&text);
    buf_fini(&markdown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
