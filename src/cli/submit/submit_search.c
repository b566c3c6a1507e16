#include "cli/submit/submit_search.h"

#include "cli/tune/search_choice.h"
#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct searching {
    const submit_request *request;
    const args *args;
    const launch *launch;
    const target *target;
} searching;

bool submit_is_search(const submit_request *o)
{
    return o->job.search && !submit_trial();
}

typedef struct words {
    char **at;
    size_t n, cap;
} words;

static void add(words *w, char *word)
{
    GROW(w->at, w->cap, w->n + 1);
    w->at[w->n++] = word;
}

/* Flags of this command line, but for where to write and what to show. */
static void add_flags(words *w, const args *a)
{
    static const char *const left_out[] = {"job-dir", "dry-run", "json", "async", "stream-logs", "parameter",
                                           "metric"};
    for (size_t i = 0; i < a->command->n_flags; i++) {
        const flag *f = &a->command->flags[i];
        bool is_left_out = !a->values[i];
        for (size_t k = 0; k < COUNT_OF(left_out); k++)
            is_left_out = is_left_out || strcmp(f->name, left_out[k]) == 0;
        if (is_left_out)
            continue;
        add(w, xasprintf("--%s", f->name));
        if (f->kind != FLAG_SWITCH)
            add(w, xstrdup(a->values[i]));
    }
}

static char **submit_trial_line(const void *user, const char *job_dir, char *const *values)
{
    const searching *s = user;
    const submit_request *o = s->request;
    const char *const *train = submit_request_train_words(o, NULL);
    words w = {.n = 0};
    add(&w, xstrdup("tequio"));
    add(&w, xstrdup("submit"));
    add(&w, xstrdup(s->args->operands[0]));
    add_flags(&w, s->args);
    add(&w, xstrdup("--job-dir"));
    add(&w, xstrdup(job_dir));
    add(&w, xstrdup("--"));
    for (; *train; train++)
        add(&w, xstrdup(*train));
    if (o->overrides)
        add(&w, xstrdup("--overrides"));
    if (o->overrides)
        add(&w, xstrdup(o->overrides));
    for (const char *const *setting = o->settings; *setting; setting++)
        add(&w, xasprintf("--%s", *setting));
    for (; *values; values++)
        add(&w, xstrdup(*values));
    add(&w, NULL);
    return w.at;
}

static status submit_search_fetch(const void *user, const char *path, int to, error *err)
{
    const searching *s = user;
    return s->target->fetch(s->launch, path, to, err);
}

/* Each is dealt them as if it were alone. */
static void warn_of_gpus(const submit_request *o, const target *t, int parallel)
{
    if (parallel > 1 && !t->is_here && !t->lives_on && job_gpus(&o->job)) /* no queue deals them out */
        fprintf(stderr, "tequio: submit: hyperparameters: %d trials at a time may share GPUs; one at a time does not\n",
                parallel);
}

static int run_search(const launch *l, const target *t, const search_request *r, error *err)
{
    error why = ERROR_INIT;
    int code = search_run(r, err);
    if (t->fetch_end && t->fetch_end(l, &why) != OK)
        fprintf(stderr, "tequio: submit: %s\n", why.text);
    return code;
}

int submit_search(const launch *l, const target *t, error *err)
{
    const submit_request *o = l->request;
    const args *a = l->args;
    char digest[65];
    search asked = *o->job.search;
    const searching s = {.request = o, .args = a, .launch = l, .target = t};
    search_request r = {.dir = o->job.job_dir, .recovers = true, .command_line = submit_trial_line, .user = &s,
                        .environment = {.shares_cpus = t->is_here},
                        .files = {.fetch = t->fetch ? submit_search_fetch : NULL, .user = &s}};
    const search_choice choice = {
        .asked = &asked,
        .command = "submit",
        .config_path = o->config_path,
        .overrides = o->overrides,
        .settings = o->settings,
        .metric = args_text(a, "metric"),
        .trials = -1,
        .parallel = -1,
        .failed_most = -1,
        .seed = -1,
        .min_epochs = -1,
        .reduction_factor = -1,
        .trials_if_absent = 1, /* as AI Platform has it */
        .is_elsewhere = !t->keeps_files_here,
    };
    if (args_has(a, "async"))
        return status_exit_code(FAIL(err, E_USAGE, "submit: --async: a search waits for its trials"));
    status st = t->fetch_check ? t->fetch_check(l, err) : OK;
    if (st == OK)
        st = search_name_keys(&asked, args_text(a, "parameter"), o->memory, err);
    if (st == OK)
        st = search_choose(&choice, o->resolved, digest, &r, err);
    if (st != OK) {
        error_prepend(err, "submit: hyperparameters");
        return status_exit_code(st);
    }
    warn_of_gpus(o, t, r.parallel);
    if (!args_has(a, "dry-run"))
        return run_search(l, t, &r, err);
    if (!args_has(a, "json"))
        printf("\na search by %s for the %s %s: %d trials, %d at a time; the tasks above are those of one\n",
               r.sampler->name, r.better > 0 ? "largest" : "least", r.metric, r.trials, r.parallel);
    return 0;
}
