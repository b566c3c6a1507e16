/*
 * AllenNLP's keys: what becomes of each kind of row, that configurations as AllenNLP's users have them
 * (data/allennlp) hold no key that nobody knows, that every argument of AllenNLP's constructors has a row
 * (data/allennlp/arguments.txt), and that the table is sound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/allennlp.h"
#include "common/config/allennlp_table.h"
#include "common/config/jsonnet.h"
#include "common/config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void gather(void *user, bool is_warning, const char *text)
{
    buf_addf(user, "%s%s\n", is_warning ? "! " : "", text);
}

/* What is written, what becomes of it, and what is said; or what is refused. */
static const struct {
    const char *written, *becomes, *said;
} cases[] = {
    {"{trainer: {cuda_device: -1}}", "{distributed: {cuda_devices: [-1]}, trainer: {}}",
     "trainer.cuda_device is taken as distributed.cuda_devices=[-1]\n"},
    {"{trainer: {cuda_device: [0, 1]}}", "{distributed: {cuda_devices: [0, 1]}, trainer: {}}",
     "trainer.cuda_device is taken as distributed.cuda_devices=[0,1]\n"},
    {"{trainer: {cuda_device: 0}, distributed: {cuda_devices: [2, 3]}}",
     "{distributed: {cuda_devices: [2, 3]}, trainer: {}}",
     "! trainer.cuda_device is ignored: distributed.cuda_devices is given too\n"},
    {"{trainer: {type: 'gradient_descent', use_amp: true}}", "{trainer: {precision: 'f16'}}",
     "trainer.use_amp is taken as trainer.precision=\"f16\"\n"},
    {"{trainer: {use_amp: false, grad_norm: false, opt_level: 'O0'}}", "{trainer: {grad_norm: null}}",
     "trainer.grad_norm is taken as trainer.grad_norm=null\n"},
    {"{trainer: {optimizer: 'dense_sparse_adam'}}", "{trainer: {optimizer: {type: 'adam'}}}",
     "trainer.optimizer.type is taken as trainer.optimizer.type=\"adam\"\n"},
    {"{trainer: {checkpointer: {type: 'default', keep_most_recent_by_count: 3, save_every_num_batches: 9}}}",
     "{trainer: {keep_checkpoint_max: 3, save_checkpoints_steps: 9}}",
     "trainer.checkpointer.save_every_num_batches is taken as trainer.save_checkpoints_steps=9\n"
     "trainer.checkpointer.keep_most_recent_by_count is taken as trainer.keep_checkpoint_max=3\n"},
    {"{trainer: {checkpointer: null, tensorboard_writer: {}, callbacks: []}}", "{trainer: {}}", ""},
    {"{trainer: {callbacks: ['tensorboard', {type: 'tensorboard', summary_interval: 3}]}}", "{trainer: {}}",
     "! trainer.callbacks[0] is ignored: event files are written in any case, every trainer.save_summary_steps and "
     "save_histogram_steps steps\n"
     "! trainer.callbacks[1] is ignored: event files are written in any case, every trainer.save_summary_steps and "
     "save_histogram_steps steps\n"},
    {"{iterator: {type: 'bucket', batch_size: 2, sorting_keys: [['a', 'b']]}}",
     "{data_loader: {batch_size: 2, batch_sampler: {type: 'bucket'}}}",
     "iterator.type is taken as data_loader.batch_sampler.type=\"bucket\"\n"
     "iterator.batch_size is taken as data_loader.batch_size=2\n"
     "! iterator.sorting_keys is ignored: examples are sorted by the lengths of their reader's fields\n"},
    {"{dataset_reader: {max_instances: 5}, validation_dataset_reader: {max_instances: 6, lazy: true}}",
     "{dataset_reader: {limit: 5}, validation_dataset_reader: {limit: 6}}",
     "dataset_reader.max_instances is taken as dataset_reader.limit=5\n"
     "validation_dataset_reader.max_instances is taken as validation_dataset_reader.limit=6\n"},
    {"{dataset_reader: {type: 'snli', combine_input_fields: true}, validation_dataset_reader: {type: 'snli', "
     "combine_input_fields: null}}",
     "{dataset_reader: {type: 'snli'}, validation_dataset_reader: {type: 'snli'}}", ""},
    {"{vocabulary: {type: 'empty'}, datasets_for_vocab_creation: ['train'], batch_weight_key: ''}", "{}", ""},
    {"{distributed: null, validation_data_loader: null, trainer: {learning_rate_scheduler: null, patience: null}}",
     "{trainer: {patience: null}}", ""},
    {"{dataset_reader: {tokenizer: {type: 'pretrained_transformer', model_name: 'm', max_length: 9}, "
     "token_indexers: {tokens: {type: 'pretrained_transformer', model_name: 'm'}}}}",
     "{dataset_reader: {tokenizer: 'm', max_sequence_length: 9}}",
     "dataset_reader.tokenizer.max_length is taken as dataset_reader.max_sequence_length=9\n"
     "dataset_reader.tokenizer.model_name is taken as dataset_reader.tokenizer=\"m\"\n"},
    {"{dataset_reader: {tokenizer: {type: 'just_spaces'}}, vocabulary: {max_vocab_size: 9}}",
     "{dataset_reader: {tokenizer: 'whitespace', max_vocab_size: 9}}",
     "vocabulary.max_vocab_size is taken as dataset_reader.max_vocab_size=9\n"
     "dataset_reader.tokenizer.type is taken as dataset_reader.tokenizer=\"whitespace\"\n"},
    {"{dataset_reader: {tokenizer: {type: 'character', lowercase_characters: false}}, "
     "vocabulary: {max_vocab_size: {tokens: 9}, tokens_to_add: {tokens: ['x']}}}",
     "{dataset_reader: {tokenizer: 'character', max_vocab_size: 9, tokens_to_add: ['x']}}",
     "vocabulary.max_vocab_size.tokens is taken as dataset_reader.max_vocab_size=9\n"
     "vocabulary.tokens_to_add.tokens is taken as dataset_reader.tokens_to_add=[\"x\"]\n"
     "dataset_reader.tokenizer.type is taken as dataset_reader.tokenizer=\"character\"\n"},
    {"{dataset_reader: {tokenizer: 'm', token_indexers: {tokens: {type: 'pretrained_transformer', model_name: 'o'}}}}",
     "{dataset_reader: {tokenizer: 'm'}}",
     "! dataset_reader.token_indexers.tokens.model_name is ignored: dataset_reader.tokenizer is given too\n"},
    {"{dataset_reader: {token_indexers: {tokens: {type: 'pretrained_transformer_mismatched', model_name: 'm'}}}, "
     "model: {text_field_embedder: {token_embedders: {tokens: {type: 'pretrained_transformer_mismatched', "
     "model_name: 'm', sub_token_mode: 'first'}}}}}",
     "{dataset_reader: {tokenizer: 'm'}, model: {transformer_model_name: 'm', sub_token_mode: 'first'}}",
     "dataset_reader.token_indexers.tokens.model_name is taken as dataset_reader.tokenizer=\"m\"\n"
     "model.text_field_embedder.token_embedders.tokens.model_name is taken as model.transformer_model_name=\"m\"\n"
     "model.text_field_embedder.token_embedders.tokens.sub_token_mode is taken as model.sub_token_mode=\"first\"\n"},
    {"{model: {feedforward: {num_layers: 1}}}", "{model: {feedforward_layers: {num_layers: 1}}}",
     "model.feedforward is taken as model.feedforward_layers={\"num_layers\":1}\n"},
    {"{model: {feedforward: 12}}", "{model: {feedforward: 12}}", ""},
    {"{validation_dataset_reader: {token_indexers: {tokens: {type: 'single_id', lowercase_tokens: true}}}, "
     "vocabulary: {min_count: {tokens: 2}}}",
     "{validation_dataset_reader: {lowercase_tokens: true}, dataset_reader: {min_count: 2}}",
     "vocabulary.min_count.tokens is taken as dataset_reader.min_count=2\n"
     "validation_dataset_reader.token_indexers.tokens.lowercase_tokens is taken as "
     "validation_dataset_reader.lowercase_tokens=true\n"},
    {"{numpy_seed: 1, random_seed: 1}", "{random_seed: 1}",
     "! numpy_seed is ignored: random_seed alone decides everything drawn by chance\n"},
    {"{distributed: {master_address: '10.0.0.1', cuda_devices: [0]}}",
     "{distributed: {rendezvous: '10.0.0.1:29500', cuda_devices: [0]}}",
     "distributed.master_address is taken as part of distributed.rendezvous=10.0.0.1:29500\n"},
    {"{distributed: {primary_address: 'a', primary_port: 7, ddp_accelerator: {type: 'torch'}}}",
     "{distributed: {rendezvous: 'a:7'}}",
     "distributed.primary_address is taken as part of distributed.rendezvous=a:29500\n"
     "distributed.primary_port is taken as part of distributed.rendezvous=a:7\n"},
    {"{dataset_reader: {type: 'transformer_squad', tokenizer_kwargs: {}}, model: 'transformer_qa'}",
     "{dataset_reader: {type: 'transformer_squad', transformer_model_name: 'bert-base-cased'}, "
     "model: {type: 'transformer_qa', transformer_model_name: 'bert-base-cased'}}",
     "dataset_reader.transformer_model_name is taken as \"bert-base-cased\", AllenNLP's default\n"
     "model.transformer_model_name is taken as \"bert-base-cased\", AllenNLP's default\n"},
    {"{dataset_reader: {type: 'transformer_squad', transformer_model_name: 'm', tokenizer_kwargs: null}, "
     "model: {type: 'transformer_qa', width: 8}}",
     "{dataset_reader: {type: 'transformer_squad', transformer_model_name: 'm'}, "
     "model: {type: 'transformer_qa', width: 8}}",
     ""},
    {"{dataset_reader: {type: 'conll2003', convert_to_coding_scheme: 'BIOUL', label_namespace: 'ner_tags', "
     "token_indexers: {tokens: {type: 'single_id', namespace: 'words', feature_name: 'text', tokenizer_kwargs: {}}}}}",
     "{dataset_reader: {type: 'conll2003', coding_scheme: 'BIOUL'}}",
     "dataset_reader.convert_to_coding_scheme is taken as dataset_reader.coding_scheme=\"BIOUL\"\n"
     "! dataset_reader.label_namespace is ignored: words and labels have one vocabulary each\n"},
    {"{dataset_reader: {type: 'sharded', base_reader: {type: 'conll2003', convert_to_coding_scheme: null, "
     "lazy: true, max_instances: 4}}}",
     "{dataset_reader: {type: 'sharded', base_reader: {type: 'conll2003', limit: 4}}}",
     "dataset_reader.base_reader.max_instances is taken as dataset_reader.base_reader.limit=4\n"},
    {"{vocabulary: {type: 'from_pretrained_transformer_and_instances', transformers: {tokens: 'm'}, "
     "min_count: {tokens: 3, labels: 2}, pretrained_files: {}, oov_token: '@@UNKNOWN@@'}}",
     "{dataset_reader: {min_count: 3}}",
     "! vocabulary.transformers is ignored: a tokenizer brings its own vocabulary\n"
     "vocabulary.min_count.tokens is taken as dataset_reader.min_count=3\n"
     "! vocabulary.min_count is ignored: rare words of the namespace \"tokens\" alone are left out, not classes or "
     "tags\n"},
    {"{dataset_reader: {type: 'multitask', readers: {a: {type: 'snli', tokenizer: {model_name: 'm'}}, "
     "b: {type: 'conll2003', lazy: false}}}, train_data_path: {a: 'x', b: 'y'}, "
     "data_loader: {type: 'multitask', scheduler: {batch_size: 4}, instances_per_epoch: null}}",
     "{dataset_reader: {type: 'multitask', readers: [{name: 'a', reader: {type: 'snli', tokenizer: 'm'}}, "
     "{name: 'b', reader: {type: 'conll2003'}}]}, train_data_path: '{\"a\":\"x\",\"b\":\"y\"}', "
     "data_loader: {batch_size: 4}}",
     "dataset_reader.readers is taken as a list, each reader with its name\n"
     "train_data_path is taken as the text of its object, a path for each reader: {\"a\":\"x\",\"b\":\"y\"}\n"
     "dataset_reader.readers[0].reader.tokenizer.model_name is taken as "
     "dataset_reader.readers[0].reader.tokenizer=\"m\"\n"
     "! data_loader.scheduler.type is ignored: data_loader.shuffle mixes the examples of all readers, and a batch has "
     "those of several\n"
     "data_loader.scheduler.batch_size is taken as data_loader.batch_size=4\n"},
    {"{validation_dataset_reader: {type: 'interleaving', readers: {a: 'idx'}, scheme: 'all_at_once'}, "
     "dataset_reader: 'idx', train_data_path: 'x', validation_data_path: {a: 'y'}}",
     "{validation_dataset_reader: {type: 'multitask', readers: [{name: 'a', reader: 'idx'}]}, "
     "dataset_reader: 'idx', train_data_path: 'x', validation_data_path: '{\"a\":\"y\"}'}",
     "validation_dataset_reader.readers is taken as a list, each reader with its name\n"
     "validation_data_path is taken as the text of its object, a path for each reader: {\"a\":\"y\"}\n"
     "validation_dataset_reader.type is taken as validation_dataset_reader.type=\"multitask\"\n"},
    {"{trainer: {learning_rate_scheduler: {type: 'step', step_size: 2}}, numpy_seed: 3}",
     "{trainer: {learning_rate_scheduler: {type: 'step', step_size: 2, unit: 'epoch'}}}",
     "! numpy_seed is ignored: random_seed alone decides everything drawn by chance\n"
     "trainer.learning_rate_scheduler.step_size counts epochs, as AllenNLP's does, since numpy_seed is its key: unit "
     "\"step\" would count steps\n"},
    {"{trainer: {cuda_device: null, learning_rate_scheduler: {type: 'combined', schedulers: [[1, 'constant'], "
     "[2, {type: 'step', step_size: 2}], {epochs: 2, scheduler: {type: 'step', step_size: 2, unit: 'step'}}]}}}",
     "{trainer: {learning_rate_scheduler: {type: 'combined', schedulers: [[1, 'constant'], "
     "[2, {type: 'step', step_size: 2, unit: 'epoch'}], "
     "{epochs: 2, scheduler: {type: 'step', step_size: 2, unit: 'step'}}]}}}",
     "trainer.learning_rate_scheduler.schedulers[1].scheduler.step_size counts epochs, as AllenNLP's does, since "
     "trainer.cuda_device is its key: unit \"step\" would count steps\n"},
    {"{trainer: {learning_rate_scheduler: {type: 'step', step_size: 2}}}",
     "{trainer: {learning_rate_scheduler: {type: 'step', step_size: 2}}}", ""},
    {"{model: {type: 'mlp'}, trainer: {num_epochs: 3}}", "{model: {type: 'mlp'}, trainer: {num_epochs: 3}}", ""},

    {"{trainer: {type: 'callback'}}", NULL,
     "trainer.type: \"callback\" is refused: give patience, validation_metric, grad_norm and the schedule as keys of "
     "the trainer"},
    {"{trainer: {callbacks: ['tensorboard', {type: 'mine'}]}}", NULL,
     "trainer.callbacks[1]: {\"type\":\"mine\"} is refused: a callback is Python; none of this name is known here"},
    {"{trainer: {checkpointer: {keep_most_recent_by_coun: 3}}}", NULL,
     "trainer.checkpointer.keep_most_recent_by_coun: unknown key; did you mean 'keep_most_recent_by_count'?"},
    {"{trainer: {checkpointer: 3}}", NULL, "trainer.checkpointer: got an integer; expected an object"},
    {"{distributed: {primary_port: 'x'}}", NULL, "distributed.primary_port: got a string; expected an integer"},
    {"{dataset_reader: {tokenizer: {type: 'spacy'}}}", NULL,
     "dataset_reader.tokenizer.type: \"spacy\" is refused: spaCy's rules are Python code, which is not run here; "
     "letters_digits parts words and punctuation too"},
    {"{dataset_reader: {tokenizer: {model_name: 'm', odd: 1}}}", NULL,
     "dataset_reader.tokenizer.odd: unknown key beside model_name"},
    {"{dataset_reader: {type: 'sharded', base_reader: {type: 'conll2003'}}, vocabulary: {type: 'extend', "
     "directory: 'v', min_count: {tokens: 2}}}",
     "{dataset_reader: {type: 'sharded', base_reader: {type: 'conll2003', vocabulary: 'v', extend_vocabulary: true, "
     "min_count: 2}}}",
     "vocabulary.type is taken as dataset_reader.base_reader.extend_vocabulary=true\n"
     "vocabulary.directory is taken as dataset_reader.base_reader.vocabulary=\"v\"\n"
     "vocabulary.min_count.tokens is taken as dataset_reader.base_reader.min_count=2\n"},
    {"{dataset_reader: {type: 'snli', max_sequence_length: null}}", "{dataset_reader: {type: 'snli'}}",
     "! dataset_reader.max_sequence_length is ignored: a row has a length, of 512 tokens if none is given; the log "
     "says how many texts lose some\n"},
    {"{dataset_reader: {type: 'universal_dependencies'}, model: {type: 'biaffine_parser', "
     "use_mst_decoding_for_validation: true}}",
     "{dataset_reader: {type: 'universal_dependencies', dependencies: true}, model: {type: 'biaffine_parser'}}",
     "dataset_reader.dependencies is taken as true, as biaffine_parser reads trees\n"
     "! model.use_mst_decoding_for_validation is ignored: each word's head is the one with the highest score, whether "
     "they make a tree or not\n"},
    {"{dataset_reader: {type: 'universal_dependencies', dependencies: false}, model: {type: 'biaffine_parser', "
     "pos_tag_embedding: {}}}", NULL, "model.pos_tag_embedding: {} is refused: biaffine_parser reads words alone"},
    {"{dataset_reader: {type: 'transformer_squad', tokenizer_kwargs: {max_len: 9}}}", NULL,
     "dataset_reader.tokenizer_kwargs: {\"max_len\":9} is refused: the files of a tokenizer say how it works"},
    {"{dataset_reader: {type: 'sharded', base_reader: {token_indexers: {token_characters: {}}}}}", NULL,
     "dataset_reader.base_reader.token_indexers.token_characters: {} is refused: a word is indexed in one way: by its "
     "number or by the pieces of a tokenizer, as token_indexers.tokens"},
    {"{dataset_reader: {readers: {a: {tokenizer: {model_name: 'm', add_special_tokens: false}}}}}", NULL,
     "dataset_reader.readers[0].reader.tokenizer.add_special_tokens: false is refused: the files of a tokenizer say "
     "which special tokens it adds; expected true"},
    {"{data_loader: {type: 'multitask', scheduler: {batch_size: {a: 1, b: 2}}}}", NULL,
     "data_loader.scheduler.batch_size: {\"a\":1,\"b\":2} is refused: readers have one batch size; expected a number"},
    {"{dataset_reader: 'idx', train_data_path: {a: 'x'}}", NULL,
     "train_data_path: {\"a\":\"x\"} is refused: multitask and interleaving alone take a path for each of their "
     "readers"},
    {"{data_loader: {type: 'multitask', instances_per_epoch: 100}}", NULL,
     "data_loader.instances_per_epoch: 100 is refused: an epoch has all examples; dataset_reader.weights says how many "
     "times each reader's"},
    {"{data_loader: {sampler: 'weighted'}}", NULL,
     "data_loader.sampler: \"weighted\" is refused: expected random or sequential, or a data_loader.batch_sampler"},
    {"{vocabulary: {type: 'from_files', directory: 'v'}}", "{dataset_reader: {vocabulary: 'v'}}",
     "vocabulary.directory is taken as dataset_reader.vocabulary=\"v\"\n"},
    {"{vocabulary: {type: 'extend', directory: 'v'}}", "{dataset_reader: {vocabulary: 'v', extend_vocabulary: true}}",
     "vocabulary.type is taken as dataset_reader.extend_vocabulary=true\n"
     "vocabulary.directory is taken as dataset_reader.vocabulary=\"v\"\n"},
    {"{vocabulary: {max_vocab_size: {tokens: 0, labels: 9}}}", NULL,
     "vocabulary.max_vocab_size: {\"labels\":9} is refused: words of the namespace \"tokens\" alone can be limited, "
     "not classes or tags"},
    {"{vocabulary: {tokens_to_add: {labels: ['a']}}}", NULL,
     "vocabulary.tokens_to_add: {\"labels\":[\"a\"]} is refused: words of the namespace \"tokens\" alone can be added, "
     "not classes or tags"},
    {"{dataset_reader: {tokenizer: {type: 'character', byte_encoding: 'utf-8'}}}", NULL,
     "dataset_reader.tokenizer.byte_encoding: \"utf-8\" is refused: characters are code points; expected null"},
    {"{trainer: {callbacks: ['should_validate_callback']}}", NULL,
     "trainer.callbacks[0]: \"should_validate_callback\" is refused: every epoch is evaluated; without "
     "validation_data_path none is"},
};

/* All of one column at once: jsonnet takes its time to begin. null: what is refused becomes nothing. */
static json_t *parse_column(bool is_written)
{
    error err = ERROR_INIT;
    buf text = BUF_INIT;
    json_t *ret = NULL;
    buf_adds(&text, "{all: [");
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        buf_addf(&text, "%s,\n", is_written ? cases[i].written : cases[i].becomes ? cases[i].becomes : "null");
    buf_adds(&text, "]}");
    if (jsonnet_parse("test", text.data, &ret, &err) != OK)
        fail_msg("%s", err.text);
    buf_fini(&text);
    return ret;
}

static void rows_do_what_they_say(void **state)
{
    (void)state;
    json_t *all_written = parse_column(true), *all_become = parse_column(false);
    const json_t *written = json_object_get(all_written, "all"), *becomes = json_object_get(all_become, "all");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *tree = json_array_get(written, i);
        error err = ERROR_INIT;
        buf said = BUF_INIT;
        status st = allennlp_translate(tree, gather, &said, &err);
        if (cases[i].becomes) {
            if (st != OK)
                fail_msg("%s: %s", cases[i].written, err.text);
            if (!json_equal(tree, json_array_get(becomes, i)))
                fail_msg("%s became %s", cases[i].written, json_text(tree));
            assert_string_equal(said.data ? said.data : "", cases[i].said);
        } else {
            if (st != E_CONFIG)
                fail_msg("%s is not refused", cases[i].written);
            assert_string_equal(err.text, cases[i].said);
        }
        buf_fini(&said);
    }
    json_decref(all_written);
    json_decref(all_become);
}

/* --- configurations of AllenNLP's users --- */

static bool has_row(const char *schema, const char *key)
{
    for (size_t i = 0; i < allennlp_count; i++)
        if (allennlp_is_in(&allennlp_table[i], schema) && strcmp(allennlp_leaf(&allennlp_table[i]), key) == 0)
            return true;
    return false;
}

/* Rows speak of sections; what is within a value that has a row of its own is that row's. */
static void assert_known(const char *schema, const json_t *section, const char *file)
{
    static const char *const whole[] = {"", "iterator", "trainer", "trainer.checkpointer", "trainer.tensorboard_writer",
                                        "data_loader", "data_loader.batch_sampler", "validation_data_loader",
                                        "distributed", "vocabulary"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)section, key, value)
    {
        if (!has_row(schema, key) && !option_find(schema, key, NULL) && strcmp(key, "type") != 0)
            fail_msg("%s: nobody knows %s.%s", file, schema, key);
        char *below = xasprintf("%s%s%s", schema, *schema ? "." : "", key);
        for (size_t i = 0; i < COUNT_OF(whole); i++)
            if (strcmp(whole[i], below) == 0 && json_is_object(value))
                assert_known(below, value, file);
        free(below);
    }
}

static void keys_of_published_configurations_are_known(void **state)
{
    (void)state;
    static const char *const files[] = {
        "transformer_qa_1", "transformer_qa_distributed_1", "transformer_qa_2", "transformer_qa_distributed_2",
        "basic_classifier", "sst_bert", "simple_tagger_0", "ner", "language_model",
    };
    static const char *const variables[] = {"SQUAD_TRAIN", "SQUAD_DEV", "NER_TRAIN", "NER_DEV"};
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        setenv(variables[i], "data", 1);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        error err = ERROR_INIT;
        json_t *tree = NULL;
        char *path = xasprintf(TEST_DATA_DIR "/allennlp/%s.jsonnet", files[i]);
        if (jsonnet_read_file("config", path, &tree, &err) != OK)
            fail_msg("%s", err.text);
        assert_known("", tree, files[i]);
        json_decref(tree);
        free(path);
    }
}

/* --- every argument of AllenNLP's constructors --- */

static void assert_line_known(char *line)
{
    char *rest = NULL;
    const char *generation = strtok_r(line, " ", &rest), *section = strtok_r(NULL, " ", &rest);
    const char *schema = strcmp(section, ".") == 0 ? "" : section;
    for (const char *key = strtok_r(NULL, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
        if (!has_row(schema, key) && !option_find(schema, key, NULL))
            fail_msg("AllenNLP %s: no row says what becomes of %s.%s", generation, schema, key);
}

static void arguments_of_allennlp_have_rows(void **state)
{
    (void)state;
    char line[2048];
    size_t n = 0;
    FILE *file = fopen(TEST_DATA_DIR "/allennlp/arguments.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        assert_non_null(strchr(line, '\n'));
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        assert_line_known(line);
        n++;
    }
    fclose(file);
    assert_true(n > 30);
}

/* --- the table --- */

static bool is_option(const char *path)
{
    for (size_t i = 0; i < option_count; i++)
        if (strncmp(option_table[i].path, path, strlen(option_table[i].path)) == 0 &&
            strchr("=", path[strlen(option_table[i].path)]))
            return true;
    return false;
}

/* A row behind one of the same path that takes any value would never be reached. */
static void rows_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < allennlp_count; i++) {
        const allennlp_key *k = &allennlp_table[i], *before = i ? k - 1 : NULL;
        bool moves = k->verdict >= ALLENNLP_MOVED && k->verdict <= ALLENNLP_PORT;
        if (moves != (k->target[0] != '\0') || (moves && !is_option(k->target)))
            fail_msg("%s: target '%s'", k->path, k->target);
        if ((k->verdict == ALLENNLP_IGNORED || k->verdict == ALLENNLP_REFUSED) && !k->note[0])
            fail_msg("%s: no reason", k->path);
        if (before && strcmp(before->path, k->path) == 0 && !before->values[0])
            fail_msg("%s: a row that is never reached", k->path);
        if (k->verdict == ALLENNLP_SAME && !allennlp_is_ours(k))
            fail_msg("%s: no option", k->path);
        if (!k->since[0] || k->since[strspn(k->since, "012 ")])
            fail_msg("%s: since '%s'", k->path, k->since);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_what_they_say),
        cmocka_unit_test(keys_of_published_configurations_are_known),
        cmocka_unit_test(arguments_of_allennlp_have_rows),
        cmocka_unit_test(rows_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
