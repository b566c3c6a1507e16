/* Searches as job files and jsonnet files ask for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "job/spec/schema.h"
#include "job/spec/search.h"

#include <string.h>

static status read_text(const char *text, arena *memory, search *ret, error *err)
{
    doc_node *spec = NULL;
    TRY(document_read(text, strlen(text), "job.yaml", memory, &spec, err));
    TRY(schema_check(spec, "HyperparameterSpec", memory, NULL, NULL, err));
    return search_read(spec, memory, NULL, NULL, ret, err);
}

static void all_of_it_is_read(void **state)
{
    (void)state;
    arena *memory = arena_create();
    error err = ERROR_INIT;
    search s;
    status st = read_text("goal: MINIMIZE\nhyperparameterMetricTag: loss\nmaxTrials: '5'\nmax_parallel_trials: 2\n"
                          "maxFailedTrials: 0\nenableTrialEarlyStopping: True\nalgorithm: random-search\n"
                          "params:\n"
                          "- {parameterName: learning-rate, type: DISCRETE, discreteValues: [0.1, 0.01, 0.001]}\n"
                          "- {parameterName: model.hidden, type: CATEGORICAL, categoricalValues: [128, 256 128]}\n"
                          "- {parameterName: momentum, type: DOUBLE, minValue: 0.8, maxValue: 0.99,\n"
                          "   scaleType: UNIT_REVERSE_LOG_SCALE}\n"
                          "- {parameterName: batch_size, type: INTEGER, minValue: 8, maxValue: 64, scaleType: NONE}\n",
                          memory, &s, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, OK);
    assert_true(s.better == -1 && s.trials == 5 && s.parallel == 2 && s.failed_most == 0 && s.stops_early);
    assert_string_equal(s.metric, "loss");
    assert_string_equal(s.algorithm, "random");
    assert_int_equal(s.space.n, 4);
    const space_parameter *p = s.space.at;
    assert_string_equal(p[0].name, "trainer.optimizer.lr");
    assert_true(p[0].kind == SPACE_DISCRETE && p[0].n == 3 && p[0].numbers[0] == 0.001 && p[0].numbers[2] == 0.1);
    assert_true(p[1].kind == SPACE_CATEGORICAL && p[1].n == 2 && strcmp(p[1].words[1], "256 128") == 0);
    assert_true(p[2].scale == SPACE_REVERSE_LOG && p[2].min == 0.8 && p[2].max == 0.99);
    assert_string_equal(p[3].name, "data_loader.batch_size");
    assert_true(p[3].kind == SPACE_INTEGER && !p[3].is_scaled && p[3].max == 64);
    arena_destroy(&memory);
}

static void little_says_little(void **state)
{
    (void)state;
    arena *memory = arena_create();
    search s;
    assert_int_equal(
        read_text("params: {parameterName: x, type: INTEGER, minValue: 1, maxValue: 2}", memory, &s, NULL), OK);
    assert_true(s.better == 0 && s.trials == -1 && s.parallel == -1 && s.failed_most == -1);
    assert_null(s.metric);
    assert_null(s.algorithm);
    arena_destroy(&memory);
}

/* The same once more is told and left out; names become keys, and words for layers lists. */
static void names_become_keys(void **state)
{
    (void)state;
    static const char text[] =
        "params:\n"
        "- {parameterName: layer-units, type: CATEGORICAL, categoricalValues: [128, 256 128, '[8]', wide]}\n"
        "- {parameterName: lr, type: DISCRETE, discreteValues: [1, 2]}\n"
        "- {parameterName: learning_rate, type: DISCRETE, discreteValues: [2, 1]}\n"
        "- {parameterName: window, type: INTEGER, minValue: 1, maxValue: 2}\n";
    static const struct {
        const char *mapping, *message;
    } wrong[] = {
        {NULL, "'layer-units' is no key of the configuration, and stands for none; --parameter layer-units=KEY says "
               "which one it is, --parameter layer-units= leaves it out"},
        {"layer_units", "--parameter 'layer_units': must be NAME=KEY, as units=model.hidden, or NAME= to leave it out"},
        {"units=model.hiden",
         "--parameter units=model.hiden: there is no key 'model.hiden'; did you mean 'model.hidden'?"},
        {"layer_units=trainer.optimizer.lr", "'trainer.optimizer.lr' is searched twice"},
        {"layer_units=,window=,lr=,x=", "--parameter x=: the space has no parameter 'x'"},
        {"layer_units=,window=,lr=", "--parameter: nothing is left to search"},
    };
    arena *memory = arena_create();
    error err = ERROR_INIT;
    search s;
    assert_int_equal(read_text(text, memory, &s, &err), OK);
    assert_int_equal(s.space.n, 3);
    assert_string_equal(s.names[1], "lr");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        search other = s;
        error_clear(&err);
        assert_true(search_name_keys(&other, wrong[i].mapping, memory, &err) != OK);
        assert_string_equal(err.text, wrong[i].message);
    }
    assert_int_equal(search_name_keys(&s, "layer_units=model.hidden,window=", memory, &err), OK);
    assert_int_equal(s.space.n, 2);
    assert_string_equal(s.space.at[0].name, "model.hidden");
    static const char *const words[] = {"[128]", "[256, 128]", "[8]", "wide"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        assert_string_equal(s.space.at[0].words[i], words[i]);
    assert_string_equal(s.space.at[1].name, "trainer.optimizer.lr");
    arena_destroy(&memory);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{maxTrials: 3}", "job.yaml:1:1: params: there is nothing to search: no parameter"},
        {"params: []", "job.yaml:1:9: params: there is nothing to search: no parameter"},
        {"maxTrials: 0\nparams: []", "job.yaml:1:12: maxTrials: must be from 1 to 1000000, not 0"},
        {"algorithm: POPULATION_BASED_TRAINING\nparams: []", "job.yaml:1:12: algorithm: there is no "
         "POPULATION_BASED_TRAINING; leave it out, or give GRID_SEARCH or RANDOM_SEARCH"},
        {"params: [{type: DOUBLE}]", "job.yaml:1:10: params[0]: parameterName is missing: a key of the configuration, "
         "as trainer.optimizer.lr"},
        {"params: [{parameterName: x}]",
         "job.yaml:1:10: params[0]: type is missing: DOUBLE, INTEGER, CATEGORICAL or DISCRETE"},
        {"params: [{parameterName: x, type: DOUBLE, minValue: 1}]",
         "job.yaml:1:10: params[0]: maxValue is missing: a parameter of type DOUBLE has it"},
        {"params: [{parameterName: x, type: CATEGORICAL, categoricalValues: [a], minValue: 1}]",
         "job.yaml:1:82: params[0].minValue: is not for a parameter of type CATEGORICAL"},
        {"params: [{parameterName: x, type: CATEGORICAL}]",
         "job.yaml:1:10: params[0]: 'x' has no values to choose from"},
        {"params: [{parameterName: x, type: INTEGER, minValue: 1, maxValue: 0.5}]",
         "job.yaml:1:54: params[0].minValue: 'x' begins at 1, which is above its maxValue 0.5"},
        {"params: [{parameterName: lr, type: INTEGER, minValue: 1, maxValue: 2},\n"
         "  {parameterName: learning-rate, type: INTEGER, minValue: 1, maxValue: 3}]",
         "job.yaml:2:3: params[1]: 'trainer.optimizer.lr' is searched twice"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena *memory = arena_create();
        error err = ERROR_INIT;
        search s;
        assert_int_equal(read_text(cases[i].text, memory, &s, &err), E_CONFIG);
        assert_string_equal(err.text, cases[i].message);
        arena_destroy(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_read),
        cmocka_unit_test(little_says_little),
        cmocka_unit_test(names_become_keys),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
