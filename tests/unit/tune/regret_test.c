/*
 * How far from the least value samplers are after 50 trials, on functions whose least value is known and on a table of
 * trainings (bench/tune/make_table.py). With a number of seeds as its argument it prints how far the median of them is,
 * beside bench/tune/optuna_regret.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "tune/gaussian_process.h"
#include "tune/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 50, SEEDS_MOST = 100 };

/* --- functions --- */

static double branin(const double *x)
{
    static const double pi = 3.14159265358979323846;
    double a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
    return a * a + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10;
}

static double hartmann6(const double *x)
{
    static const double alpha[] = {1.0, 1.2, 3.0, 3.2};
    static const double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
    static const double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double inner = 0;
        for (int k = 0; k < 6; k++)
            inner += a[i][k] * (x[k] - p[i][k]) * (x[k] - p[i][k]);
        sum -= alpha[i] * exp(-inner);
    }
    return sum;
}

static double rosenbrock(const double *x)
{
    double a = x[1] - x[0] * x[0], b = 1 - x[0];
    return 100 * a * a + b * b;
}

/* --- trainings: the validation loss of every combination, NaN where one failed --- */

static const double rates[] = {1e-4, 2.8e-4, 7.7e-4, 2.2e-3, 6e-3, 0.017, 0.046, 0.13, 0.36, 1};
static const double batches[] = {8, 16, 32, 64, 128};
static const double dropouts[] = {0, 0.1, 0.2, 0.35, 0.5};
static const char *const kinds[] = {"adam", "sgd"};
static const space_parameter cnn_space[] = {
    {.name = "lr", .kind = SPACE_DISCRETE, .scale = SPACE_LOG, .is_scaled = true, .numbers = rates,
     .n = COUNT_OF(rates)},
    {.name = "batch_size", .kind = SPACE_DISCRETE, .scale = SPACE_LOG, .is_scaled = true, .numbers = batches,
     .n = COUNT_OF(batches)},
    {.name = "dropout", .kind = SPACE_DISCRETE, .is_scaled = true, .numbers = dropouts, .n = COUNT_OF(dropouts)},
    {.name = "type", .kind = SPACE_CATEGORICAL, .words = kinds, .n = COUNT_OF(kinds)},
};

enum { ROWS = COUNT_OF(rates) * COUNT_OF(batches) * COUNT_OF(dropouts) * COUNT_OF(kinds) };
static double losses[ROWS]; /* the last parameter turns fastest */
#define LEAST_LOSS 0.4964436665177345

static double cnn(const double *x)
{
    int row = 0;
    for (int k = 0; k < (int)COUNT_OF(cnn_space); k++)
        row = row * cnn_space[k].n + (int)x[k];
    return losses[row];
}

static void read_losses(void)
{
    buf text = BUF_INIT;
    double least = INFINITY;
    assert_int_equal(fs_read(TEST_DATA_DIR "/cnn.csv", 1 << 20, &text, NULL), OK);
    char *rest = text.data;
    strtok_r(rest, "\n", &rest);
    for (int i = 0; i < ROWS; i++) {
        const char *row = strtok_r(rest, "\n", &rest);
        assert_non_null(row);
        const char *loss = strrchr(row, ',') + 1;
        losses[i] = *loss ? strtod(loss, NULL) : NAN;
        least = fmin(least, losses[i]);
        assert_true(strtod(row, NULL) == rates[i / (ROWS / (int)COUNT_OF(rates))]);
        assert_int_equal(strstr(row, ",adam,") != NULL, i % 2 == 0);
    }
    assert_true(least == LEAST_LOSS && !*rest);
    buf_fini(&text);
}

static const space_parameter branin_space[] = {{.name = "x", .min = -5, .max = 10}, {.name = "y", .min = 0, .max = 15}};
static const space_parameter rosenbrock_space[] = {{.name = "x", .min = -5, .max = 10},
                                                   {.name = "y", .min = -5, .max = 10}};
static const space_parameter cube[] = {{.name = "a", .max = 1}, {.name = "b", .max = 1}, {.name = "c", .max = 1},
                                       {.name = "d", .max = 1}, {.name = "e", .max = 1}, {.name = "f", .max = 1}};

static const struct {
    const char *name;
    double (*value)(const double *x);
    double least;
    space space;
} functions[] = {
    {"branin", branin, 0.397887357729739, {branin_space, 2}},
    {"hartmann6", hartmann6, -3.32236801141551, {cube, 6}},
    {"rosenbrock", rosenbrock, 0, {rosenbrock_space, 2}},
    {"cnn", cnn, LEAST_LOSS, {cnn_space, 4}},
};

/* --- studies --- */

static void take(study *s, json_t *record)
{
    assert_int_equal(study_take(s, record, NULL), OK);
    json_decref(record);
}

/* With so many at a time: the oldest one ends first. */
static double regret(size_t f, const sampler *by, uint64_t seed, int at_a_time)
{
    study s;
    double point[SPACE_PARAMETERS_MOST];
    study_init(&s, &functions[f].space, -1);
    for (int ended = 0; ended < TRIALS; ended++) {
        while (s.n < TRIALS && s.n < ended + at_a_time) {
            assert_true(by->propose(&s, seed, point));
            take(&s, study_record_running(&s, s.n + 1, point));
        }
        double value = functions[f].value(s.trials[ended].point);
        take(&s, isfinite(value) ? study_record_complete(ended + 1, value, 1) : study_record_failed(ended + 1, ""));
    }
    double best = functions[f].value(study_best(&s)->point); /* all of its digits */
    study_fini(&s);
    return best - functions[f].least;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* *ret_found: how many seeds found the least value itself. */
static double median_regret(size_t f, const sampler *by, int seeds, int at_a_time, int *ret_found)
{
    double all[SEEDS_MOST];
    *ret_found = 0;
    for (int i = 0; i < seeds; i++) {
        all[i] = regret(f, by, (uint64_t)i, at_a_time);
        *ret_found += all[i] <= 0;
    }
    qsort(all, (size_t)seeds, sizeof *all, compare);
    return 0.5 * (all[(seeds - 1) / 2] + all[seeds / 2]);
}

static int print_table(int seeds)
{
    static const char *const names[] = {"gp", "tpe", "random"};
    for (size_t f = 0; f < COUNT_OF(functions); f++)
        for (size_t i = 0; i < 2 * COUNT_OF(names); i++) {
            int at_a_time = i % 2 ? 4 : 1, found;
            double median = median_regret(f, sampler_named(names[i / 2]), seeds, at_a_time, &found);
            printf("%-10s  %-6s  %d at a time  %.4g  the least by %d\n", functions[f].name, names[i / 2], at_a_time,
                   median, found);
            fflush(stdout);
        }
    return 0;
}

/* --- tests --- */

static void learning_beats_chance(void **state)
{
    (void)state;
    enum { SEEDS = 2 };
    static const double most[][2] = {{0.05, 1.0}, {0.5, 1.5}, {5.0, 50.0}, {0.04, 0.05}}; /* gp, tpe: with bad luck */
    int found;
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        assert_true(median_regret(f, &sampler_gp, SEEDS, 1, &found) <= most[f][0]);
        assert_true(median_regret(f, &sampler_tpe, SEEDS, 1, &found) <= most[f][1]);
    }
}

static const char *const words[] = {"a", "b", "c"};
static const double numbers[] = {1, 10, 100};
static const space_parameter mixed_parameters[] = {
    {.name = "whole", .kind = SPACE_INTEGER, .min = 1, .max = 8},
    {.name = "word", .kind = SPACE_CATEGORICAL, .words = words, .n = 3},
    {.name = "number", .kind = SPACE_DISCRETE, .scale = SPACE_LOG, .is_scaled = true, .numbers = numbers, .n = 3},
};
static const space mixed = {mixed_parameters, 3};

static void point_of(const sampler *by, const study *s, double *ret)
{
    assert_true(by->propose(s, 5, ret));
    for (int i = 0; i < mixed.n; i++)
        assert_true(ret[i] == floor(ret[i]) && ret[i] >= (i == 0) && ret[i] < (i == 0 ? 9 : 3));
}

/* Best is whole 6, word b, number 100; some trials fail, and one runs all the time. */
static void add_trial(study *s, const double *point)
{
    take(s, study_record_running(s, s->n + 1, point));
    bool fails = point[0] == 1;
    double value = -fabs(point[0] - 6) - 3 * (point[1] != 1) + point[2];
    if (s->n == 2)
        return;
    take(s, fails ? study_record_failed(s->n, "too small") : study_record_complete(s->n, value, 1));
}

static void mixed_spaces_are_searched(void **state)
{
    (void)state;
    static const sampler *const learning[] = {&sampler_gp, &sampler_tpe};
    for (size_t i = 0; i < COUNT_OF(learning); i++) {
        study s;
        double point[3], again[3];
        study_init(&s, &mixed, 1);
        for (int k = 0; k < 30; k++) {
            point_of(learning[i], &s, point);
            point_of(learning[i], &s, again); /* it is a function of the study alone */
            assert_memory_equal(point, again, sizeof point);
            if (i == 0 && k >= 6)
                assert_false(study_has(&s, point)); /* and tries nothing twice: there are 72 points */
            add_trial(&s, point);
        }
        assert_true(study_best(&s)->objective == 2);
        study_fini(&s);
    }
}

/* All fail, or all are the same. */
static void nothing_to_learn_from_is_no_error(void **state)
{
    (void)state;
    static const sampler *const learning[] = {&sampler_gp, &sampler_tpe};
    for (size_t i = 0; i < 2 * COUNT_OF(learning); i++) {
        study s;
        double point[3];
        study_init(&s, &mixed, -1);
        for (int k = 0; k < 80; k++) { /* and all points are used up */
            point_of(learning[i % 2], &s, point);
            take(&s, study_record_running(&s, s.n + 1, point));
            take(&s, i < 2 ? study_record_failed(s.n, "") : study_record_complete(s.n, 7, 1));
        }
        study_fini(&s);
    }
}

static void the_evidence_has_its_derivatives(void **state)
{
    (void)state;
    enum { N = 12, D = 3 };
    static const bool is_word[D] = {false, true, false};
    double x[N * D], y[N], logs[D + 1] = {-0.7, 0.2, 0.4, -3}, slope[D + 1], other[D + 1];
    for (int i = 0; i < N; i++) {
        x[i * D] = fmod(i * 0.37, 1), x[i * D + 1] = i % 3, x[i * D + 2] = fmod(i * 0.61, 1);
        y[i] = sin(5 * x[i * D]) + (i % 3 == 1) - x[i * D + 2];
    }
    gaussian_process g;
    gaussian_process_fit(&g, N, D, is_word, x, y);
    gaussian_process_evidence(&g, logs, slope);
    for (int k = 0; k <= D; k++) {
        static const double h = 1e-5;
        double at = logs[k];
        logs[k] = at + h;
        double above = gaussian_process_evidence(&g, logs, other);
        logs[k] = at - h;
        double below = gaussian_process_evidence(&g, logs, other);
        logs[k] = at;
        assert_true(fabs((above - below) / (2 * h) - slope[k]) <= 1e-5 * (1 + fabs(slope[k])));
    }
    double mean, deviation, room[N];
    for (int i = 0; i < N; i++) { /* little noise: it goes through its points */
        gaussian_process_predict(&g, x + i * D, room, &mean, &deviation);
        assert_true(fabs(mean - y[i]) <= 0.05 && deviation > 0 && deviation <= 0.3);
    }
    gaussian_process_fini(&g);
}

int main(int argc, char **argv)
{
    read_losses();
    if (argc > 1)
        return print_table(atoi(argv[1]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_beats_chance),
        cmocka_unit_test(mixed_spaces_are_searched),
        cmocka_unit_test(nothing_to_learn_from_is_no_error),
        cmocka_unit_test(the_evidence_has_its_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
