/*
 * The journal of a study, whatever is in it behind the head: it is refused with a message, or a study comes of it that
 * every sampler and rule of early stopping can go on with, and that is the same when it is read again.
 */
#include "common/base/alloc.h"
#include "tune/sampler.h"
#include "tune/stopping.h"
#include "tune/trial_journal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "{\"seed\":1}\n";
static const char *const words[] = {"sgd", "[16, 16]", "0.5"};
static const double numbers[] = {1, 2.5, 1e300};
static const space_parameter parameters[] = {
    {.name = "lr", .kind = SPACE_DOUBLE, .scale = SPACE_LOG, .is_scaled = true, .min = 1e-4, .max = 1},
    {.name = "n", .kind = SPACE_INTEGER, .min = -3, .max = 4},
    {.name = "w", .kind = SPACE_CATEGORICAL, .words = words, .n = 3},
    {.name = "d", .kind = SPACE_DISCRETE, .numbers = numbers, .n = 3},
};
static const space searched = {parameters, 4};

static status open_study(const char *path, study *s, error *err)
{
    trial_journal j = TRIAL_JOURNAL_INIT;
    json_t *first = json_pack("{s:i}", "seed", 1);
    study_init(s, &searched, 1);
    status st = trial_journal_open(&j, path, first, NULL, s, err);
    trial_journal_close(&j);
    json_decref(first);
    return st;
}

static void check_trials(const study *s)
{
    for (int i = 0; i < s->n; i++) {
        const trial *t = &s->trials[i];
        BUG_ON(t->number != i + 1 || t->resumed < 0 || t->n_evaluations < 0);
        BUG_ON(t->state == TRIAL_COMPLETE && !isfinite(t->objective));
        BUG_ON((t->state == TRIAL_PAUSED || t->state == TRIAL_STOPPED) && !t->n_evaluations);
        for (int k = 1; k < t->n_evaluations; k++)
            BUG_ON(t->evaluations[k].epoch <= t->evaluations[k - 1].epoch);
    }
    const trial *best = study_best(s);
    BUG_ON(!best != !study_count(s, TRIAL_COMPLETE));
}

static void check_samplers(const study *s)
{
    static const sampler *const samplers[] = {&sampler_gp, &sampler_tpe, &sampler_random};
    enum { TRIALS_MOST = 30 }; /* a Gaussian process takes its time */
    double point[SPACE_PARAMETERS_MOST];
    for (size_t i = 0; s->n <= TRIALS_MOST && i < COUNT_OF(samplers); i++) {
        BUG_ON(!samplers[i]->propose(s, 3, point));
        BUG_ON(!(point[0] >= 1e-4 && point[0] <= 1));
        BUG_ON(!(point[1] >= -3 && point[1] <= 4 && point[1] == floor(point[1])));
        BUG_ON(!(point[2] >= 0 && point[2] <= 2 && point[3] >= 0 && point[3] <= 2));
    }
}

static void check_stopping(const study *s)
{
    static const stopping_rule *const rules[] = {&stopping_none, &stopping_median, &stopping_asha};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const stopping how = {rules[i], 1, 2};
        for (int k = 0; k < s->n; k++)
            if (s->trials[k].state == TRIAL_RUNNING && s->trials[k].n_evaluations)
                (void)rules[i]->judge(&how, s, &s->trials[k]);
        const trial *next = rules[i]->promote ? rules[i]->promote(&how, s, true) : NULL;
        BUG_ON(next && next->state != TRIAL_PAUSED);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("trials", MFD_CLOEXEC);
    BUG_ON(fd < 0 || write(fd, head, sizeof head - 1) != (ssize_t)(sizeof head - 1));
    BUG_ON(write(fd, data, size) != (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    study s, again;
    error err = ERROR_INIT;
    if (open_study(path, &s, &err) == OK) {
        check_trials(&s);
        check_samplers(&s);
        check_stopping(&s);
        BUG_ON(open_study(path, &again, &err) != OK || again.n != s.n);
        study_fini(&again);
    } else {
        BUG_ON(!err.text[0]);
    }
    study_fini(&s);
    close(fd);
    return 0;
}
