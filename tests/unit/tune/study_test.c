/* Studies and their journal: what is written of trials, read again, also after a kill in the middle of a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"
#include "tune/trial_journal.h"
#include "tune/sampler.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"adam", "sgd"};
static const double numbers[] = {1, 2, 4};
static const space_parameter parameters[] = {
    {.name = "lr", .kind = SPACE_DOUBLE, .scale = SPACE_LOG, .is_scaled = true, .min = 1e-4, .max = 1},
    {.name = "n", .kind = SPACE_INTEGER, .min = 3, .max = 4},
    {.name = "kind", .kind = SPACE_CATEGORICAL, .words = words, .n = 2},
    {.name = "k", .kind = SPACE_DISCRETE, .numbers = numbers, .n = 3},
};
static const space all = {parameters, 4}, countable = {parameters + 1, 3};

static status take(study *s, const char *text, error *err)
{
    json_t *record = json_loads(text, 0, NULL);
    error_clear(err);
    status st = study_take(s, record, err);
    json_decref(record);
    return st;
}

static void no_trial_counts_twice(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    study s;
    study_init(&s, &all, -1);
#define BEGINS(n)                                                                                                  \
    "{\"trial\": " n ", \"state\": \"running\", \"values\": {\"lr\": 0.1, \"n\": 3, \"kind\": \"sgd\", \"k\": 4}}"
    assert_int_equal(take(&s, BEGINS("2"), &err), E_DATA);
    assert_string_equal(err.text, "trial 2 begins, but the next one is 1");
    assert_int_equal(take(&s, BEGINS("1"), &err), OK);
    assert_int_equal(take(&s, BEGINS("1"), &err), E_DATA);
    assert_int_equal(take(&s, BEGINS("2"), &err), OK);
    assert_int_equal(take(&s, "{\"trial\": 3, \"state\": \"failed\"}", &err), E_DATA);
    assert_int_equal(take(&s, "{\"trial\": 1, \"state\": \"complete\"}", &err), E_DATA);
    assert_null(study_best(&s));
    assert_int_equal(take(&s, "{\"trial\": 1, \"state\": \"complete\", \"objective\": 2, \"steps\": 7}", &err), OK);
    assert_int_equal(take(&s, "{\"trial\": 1, \"state\": \"failed\"}", &err), E_DATA);
    assert_string_equal(err.text, "trial 1 cannot be failed: it is complete");
    assert_int_equal(take(&s, "{\"trial\": 2, \"state\": \"complete\", \"objective\": 1, \"steps\": 7}", &err), OK);
    assert_int_equal(take(&s, "{\"trial\": 2, \"state\": \"odd\"}", &err), E_DATA);
    assert_int_equal(study_best(&s)->number, 2);
    assert_int_equal(study_count(&s, TRIAL_COMPLETE), 2);
    study_fini(&s);
}

/* Evaluations come in their order, to trials that run; a paused one goes on or rests for good. */
static void trials_rest_and_go_on(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    study s;
    study_init(&s, &all, -1);
#define EVALUATED(epoch, objective)                                                                                \
    "{\"trial\": 1, \"state\": \"evaluated\", \"epoch\": " epoch ", \"steps\": 5, \"objective\": " objective "}"
#define NOW(state) "{\"trial\": 1, \"state\": \"" state "\"}"
    assert_int_equal(take(&s, BEGINS("1"), &err), OK);
    assert_int_equal(take(&s, NOW("paused"), &err), E_DATA);
    assert_string_equal(err.text, "trial 1 rests before it was evaluated");
    assert_int_equal(take(&s, EVALUATED("1", "null"), &err), OK);
    assert_true(s.trials[0].objective != s.trials[0].objective);
    assert_int_equal(take(&s, EVALUATED("2", "0.5"), &err), OK);
    assert_int_equal(take(&s, EVALUATED("2", "0.4"), &err), E_DATA);
    assert_string_equal(err.text, "trial 1 is evaluated after epoch 2, but the last time was after 2");
    assert_int_equal(take(&s, EVALUATED("3", "0.7"), &err), OK);
    assert_int_equal(take(&s, "{\"trial\": 1, \"state\": \"evaluated\", \"epoch\": 4}", &err), E_DATA);
    assert_int_equal(take(&s, NOW("resumed"), &err), E_DATA);
    assert_int_equal(take(&s, NOW("paused"), &err), OK);
    assert_int_equal(take(&s, NOW("paused"), &err), E_DATA);
    assert_int_equal(take(&s, EVALUATED("4", "0.4"), &err), E_DATA);
    assert_true(s.trials[0].state == TRIAL_PAUSED && s.trials[0].objective == 0.5 && s.trials[0].n_evaluations == 3);
    assert_int_equal(study_count_known(&s), 1);
    assert_null(study_best(&s));
    assert_int_equal(take(&s, NOW("resumed"), &err), OK);
    assert_int_equal(study_count_known(&s), 0);
    assert_int_equal(take(&s, NOW("stopped"), &err), OK);
    assert_int_equal(take(&s, NOW("resumed"), &err), E_DATA);
    assert_true(s.trials[0].state == TRIAL_STOPPED && s.trials[0].resumed == 1);
    study_fini(&s);
}

/* Trials of another search come first, are no trials of this one, and are known. */
static void prior_trials_are_known(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    study s, next;
    study_init(&s, &all, -1);
#define PRIOR(n, lr, objective)                                                                                    \
    "{\"prior\": " n ", \"values\": {\"lr\": " lr ", \"n\": 3, \"kind\": \"sgd\", \"k\": 4}, " \
    "\"objective\": " objective "}"
    assert_int_equal(take(&s, PRIOR("1", "0.2", "0.5"), &err), OK);
    assert_int_equal(take(&s, PRIOR("1", "0.3", "0.5"), &err), E_DATA);
    assert_string_equal(err.text, "prior trial 1 is known, but 1 are, and 0 trials");
    assert_int_equal(take(&s, PRIOR("2", "0.3", "\"good\""), &err), E_DATA);
    assert_int_equal(take(&s, PRIOR("2", "7", "0.5"), &err), E_DATA);
    assert_int_equal(take(&s, PRIOR("2", "0.3", "null"), &err), OK);
    assert_int_equal(take(&s, BEGINS("1"), &err), OK);
    assert_int_equal(take(&s, PRIOR("3", "0.4", "0.5"), &err), E_DATA);
    assert_int_equal(take(&s, BEGINS("2"), &err), OK);
    assert_int_equal(take(&s, BEGINS("3"), &err), OK);
    assert_int_equal(take(&s, EVALUATED("1", "0.25"), &err), OK);
    assert_int_equal(take(&s, NOW("stopped"), &err), OK);
    assert_int_equal(take(&s, "{\"trial\": 2, \"state\": \"failed\"}", &err), OK);
    assert_true(s.n == 3 && s.n_priors == 2 && study_count_points(&s) == 5);
    assert_int_equal(study_count_known(&s), 2);
    assert_null(study_best(&s));
    assert_true(study_has(&s, s.priors[1].point));
    json_t *records = study_records_for_another(&s), *record;
    size_t i;
    study_init(&next, &all, -1);
    json_array_foreach(records, i, record)
        assert_int_equal(study_take(&next, record, NULL), OK);
    assert_true(next.n == 0 && next.n_priors == 4 && study_count_known(&next) == 2); /* not the one that runs */
    assert_true(next.priors[2].objective == 0.25 && next.priors[3].objective != next.priors[3].objective);
    json_decref(records);
    study_fini(&next);
    study_fini(&s);
}

/* Every sampler proposes behind another search's trials what it would have proposed behind its own. */
static void proposals_go_on_behind_prior_trials(void **state)
{
    (void)state;
    enum { BEFORE = 6, ALL = 12 };
    static const sampler *const samplers[] = {&sampler_gp, &sampler_tpe, &sampler_random, &sampler_grid};
    for (size_t k = 0; k < COUNT_OF(samplers); k++) {
        study whole, next;
        double point[3], other[3];
        study_init(&whole, &countable, 1);
        study_init(&next, &countable, 1);
        for (int i = 0; i < ALL; i++) {
            assert_true(samplers[k]->propose(&whole, 3, point));
            if (i == BEFORE) {
                json_t *records = study_records_for_another(&whole), *record;
                size_t at;
                json_array_foreach(records, at, record)
                    assert_int_equal(study_take(&next, record, NULL), OK);
                json_decref(records);
            }
            for (study *s = &whole; s; s = s == &whole && i >= BEFORE ? &next : NULL) {
                assert_true(samplers[k]->propose(s, 3, other));
                assert_memory_equal(other, point, sizeof point);
                json_t *record = study_record_running(s, s->n + 1, point);
                assert_int_equal(study_take(s, record, NULL), OK);
                json_decref(record);
                record = study_record_complete(s->n, point[0] + 2 * point[2] - point[1], 1);
                assert_int_equal(study_take(s, record, NULL), OK);
                json_decref(record);
            }
        }
        assert_int_equal(next.n_priors + next.n, ALL);
        if (samplers[k] == &sampler_grid)
            assert_false(sampler_grid.propose(&next, 3, other)); /* all combinations were tried */
        study_fini(&next);
        study_fini(&whole);
    }
}

static void add(trial_journal *j, study *s, json_t *record)
{
    assert_int_equal(trial_journal_add(j, s, record, NULL), OK);
    json_decref(record);
}

/* A study of two trials, the second one running, in `path`. */
static void write_study(const char *path, const json_t *head)
{
    double point[4] = {0.01, 3, 1, 2};
    study s;
    trial_journal j = TRIAL_JOURNAL_INIT;
    study_init(&s, &all, 1);
    assert_int_equal(trial_journal_open(&j, path, head, NULL, &s, NULL), OK);
    add(&j, &s, study_record_running(&s, 1, point));
    add(&j, &s, study_record_complete(1, 0.1 + 0.2, 12));
    add(&j, &s, study_record_running(&s, 2, point));
    trial_journal_close(&j);
    study_fini(&s);
}

/* Wherever a kill cuts the file, what was whole is there, and the study goes on behind it. */
static void a_cut_line_is_cut_away(void **state)
{
    (void)state;
    char *path = folder_file("trials.jsonl");
    json_t *head = json_pack("{s:i, s:s}", "seed", 3, "algorithm", "random");
    buf whole = BUF_INIT;
    write_study(path, head);
    assert_int_equal(fs_read(path, 1 << 20, &whole, NULL), OK);
    for (size_t bytes = 0; bytes <= whole.size; bytes += 7) {
        size_t lines = 0;
        for (size_t i = 0; i < bytes; i++)
            lines += whole.data[i] == '\n';
        assert_int_equal(fs_write_atomic(path, whole.data, bytes, NULL), OK);
        study s;
        trial_journal j = TRIAL_JOURNAL_INIT;
        study_init(&s, &all, 1);
        assert_int_equal(trial_journal_open(&j, path, head, NULL, &s, NULL), OK);
        assert_int_equal(s.n, lines > 3 ? 2 : lines > 1);
        assert_int_equal(study_count(&s, TRIAL_COMPLETE), lines > 2);
        if (lines > 2)
            assert_true(s.trials[0].objective == 0.3 && s.trials[0].steps == 12);
        add(&j, &s, study_record_running(&s, s.n + 1, (double[]){1, 4, 0, 0}));
        trial_journal_close(&j);
        int n = s.n;
        study_fini(&s);
        assert_int_equal(trial_journal_open(&j, path, head, NULL, &s, NULL), OK);
        assert_int_equal(s.n, n);
        trial_journal_close(&j);
        study_fini(&s);
    }
    buf_fini(&whole);
    json_decref(head);
    free(path);
}

static void another_search_is_refused(void **state)
{
    (void)state;
    char *path = folder_file("other.jsonl");
    json_t *head = json_pack("{s:i, s:s}", "seed", 3, "algorithm", "random");
    write_study(path, head);
    json_object_set_new(head, "algorithm", json_string("grid"));
    study s;
    trial_journal j = TRIAL_JOURNAL_INIT;
    error err = ERROR_INIT;
    study_init(&s, &all, 1);
    assert_int_equal(trial_journal_open(&j, path, head, NULL, &s, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "its algorithm is \"random\", not \"grid\""));
    trial_journal_close(&j);
    json_object_set_new(head, "algorithm", json_string("random"));
    study_fini(&s);
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &text, NULL), OK);
    buf_adds(&text, "{\"trial\": 1, \"state\": \"failed\"}\n");
    assert_int_equal(fs_write_atomic(path, text.data, text.size, NULL), OK);
    error_clear(&err);
    assert_int_equal(trial_journal_open(&j, path, head, NULL, &s, &err), E_DATA);
    assert_non_null(strstr(err.text, "other.jsonl:5: trial 1 cannot be failed: it is complete"));
    trial_journal_close(&j);
    study_fini(&s);
    buf_fini(&text);
    json_decref(head);
    free(path);
}

static void a_grid_has_all_combinations_once(void **state)
{
    (void)state;
    study s;
    study_init(&s, &countable, 1);
    bool seen[2][2][3] = {0};
    double point[3];
    while (sampler_grid.propose(&s, 0, point)) {
        bool *at = &seen[(int)point[0] - 3][(int)point[1]][(int)point[2]];
        assert_false(*at);
        *at = true;
        json_t *record = study_record_running(&s, s.n + 1, point);
        assert_int_equal(study_take(&s, record, NULL), OK);
        json_decref(record);
    }
    assert_int_equal(s.n, 12);
    error err = ERROR_INIT;
    assert_int_equal(sampler_grid.check(&all, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "'lr' is a DOUBLE"));
    study_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_trial_counts_twice),
        cmocka_unit_test(trials_rest_and_go_on),
        cmocka_unit_test(prior_trials_are_known),
        cmocka_unit_test(proposals_go_on_behind_prior_trials),
        cmocka_unit_test(a_cut_line_is_cut_away),
        cmocka_unit_test(another_search_is_refused),
        cmocka_unit_test(a_grid_has_all_combinations_once),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
