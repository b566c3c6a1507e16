#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/master/support_results.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

const steps results_job = {.examples = 16, .batch_size = 4, .per_step = 2};

results_options results_options_of(const accounts *b, results_judging j)
{
    return (results_options){.dir = b->dir,
                             .schedule = {.in_order = true},
                             .flat = b->flat,
                             .steps = results_job,
                             .goal = {.n = 1, .at = {{j.metric + 1, j.metric[0] == '+' ? 1 : -1}}},
                             .patience = j.patience,
                             .evaluates = true};
}

results *results_at(const accounts *b, int64_t step, results_judging j)
{
    error err = ERROR_INIT;
    results *r = NULL;
    results_options o = results_options_of(b, j);
    must(results_open(&o, step, &r, &err), &err);
    return r;
}

void results_end_epoch(const accounts *b, results *r, int epoch)
{
    error err = ERROR_INIT;
    metric_set training = {.n = 0};
    metric_add(&training, "loss", 3.0, 4.0);
    metric_add(&training, "accuracy", 1.0, 4.0);
    accounts_commit(b, (epoch + 1) * PER_EPOCH, (float)epoch);
    results_training measured = {&training, &(metric_figures){.n = 0}};
    must(results_epoch(r, (epoch + 1) * PER_EPOCH, &measured, 1.5, &err), &err);
}

void results_evaluate(const accounts *b, int epoch, const char *loss, const char *accuracy)
{
    char name[64];
    snprintf(name, sizeof name, "eval/step-%09d.json", (epoch + 1) * PER_EPOCH);
    char *text = xasprintf("{\"step\": %d, \"loss\": %s, \"accuracy\": %s}",
                           (epoch + 1) * PER_EPOCH, loss, accuracy);
    accounts_write(b, name, text);
    free(text);
}

bool results_stops(results *r)
{
    error err = ERROR_INIT;
    bool stop = false;
    must(results_poll(r, &stop, &err), &err);
    return stop;
}

double accounts_number(const accounts *b, const char *file, const char *key)
{
    json_t *o = accounts_json(b, file);
    assert_true(json_is_number(json_object_get(o, key)));
    double x = json_number_value(json_object_get(o, key));
    json_decref(o);
    return x;
}
