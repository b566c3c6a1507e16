#include "cli/tune/tune_report.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_WIDTH = 10 };

static int width_of(const space_parameter *p)
{
    int n = (int)strlen(p->name);
    return n < FIGURE_WIDTH ? FIGURE_WIDTH : n;
}

void tune_report_priors(const study *s, const char *previous, const char *metric)
{
    double best = NAN;
    for (int i = 0; i < s->n_priors; i++)
        best = study_better(s, best, s->priors[i].objective);
    printf("%d trials of %s are known", s->n_priors, previous);
    if (isfinite(best))
        printf("; the best %s there: %.5g", metric, best);
    printf("\n");
}

void tune_report_head(const study *s, const char *metric)
{
    printf("trial  %*s  %*s  steps  seconds", FIGURE_WIDTH, metric, FIGURE_WIDTH, "best");
    for (int i = 0; i < s->space->n; i++)
        printf("  %*s", width_of(&s->space->at[i]), s->space->at[i].name);
    printf("\n");
    fflush(stdout);
}

static void print_values(const study *s, const trial *t)
{
    json_t *values = space_values(s->space, t->point);
    for (int i = 0; i < s->space->n; i++) {
        const space_parameter *p = &s->space->at[i];
        const json_t *value = json_object_get(values, p->name);
        char *text = json_is_string(value) ? xstrdup(json_string_value(value))
                                           : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        printf("  %*s", width_of(p), text);
        free(text);
    }
    json_decref(values);
}

void tune_report_trial(const study *s, const trial *t, double seconds, const char *why)
{
    const trial *best = study_best(s);
    char figure[32] = "failed", leader[32] = "", steps[32] = "", time[32] = "";
    if (t->state != TRIAL_FAILED) {
        snprintf(figure, sizeof figure, "%.5g", t->objective);
        snprintf(steps, sizeof steps, "%" PRId64, t->steps);
    }
    if (best)
        snprintf(leader, sizeof leader, "%.5g", best->objective);
    if (seconds >= 0)
        snprintf(time, sizeof time, "%.1f", seconds);
    printf("%5d  %*s  %*s  %5s  %7s", t->number, FIGURE_WIDTH, figure, FIGURE_WIDTH, leader, steps, time);
    print_values(s, t);
    bool is_early = t->state == TRIAL_STOPPED || t->state == TRIAL_PAUSED;
    const char *note = why ? why : is_early ? trial_state_name(t->state) : NULL;
    printf("%s%s\n", note ? "  " : "", note ? note : "");
    fflush(stdout);
}

void tune_report_end(const study *s, const char *dir, const char *metric)
{
    const trial *best = study_best(s);
    int early = study_count(s, TRIAL_STOPPED), paused = study_count(s, TRIAL_PAUSED);
    printf("\n%d trials, %d failed", s->n, study_count(s, TRIAL_FAILED));
    if (early)
        printf(", %d stopped early", early);
    if (paused)
        printf(", %d left paused", paused);
    printf("; the best is trial %d: %s %.5g\n\nresults:\n", best->number, metric, best->objective);
    printf("  %s/best  its model, for tequio evaluate, predict and export\n", dir);
    printf("  %s/trials/%d  its job\n", dir, best->number);
    printf("  %s/trials.jsonl  all trials\n", dir);
    printf("  %s/trials.png  their objectives, and over each parameter\n", dir);
    printf("  %s/hparams  the same for TensorBoard's HParams\n", dir);
}
