/*
 * `tequio tune`: a search for hyper-parameters, whose trials are `tequio train` with values over the configuration.
 */
#include "cli/commands.h"
#include "cli/run/model_archive.h"
#include "cli/run/settings.h"
#include "cli/tune/search_choice.h"
#include "common/base/alloc.h"
#include "common/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct tuning {
    const args *args;
    struct args train; /* what stands behind the -- */
    arena *memory;
    search asked;
    config *config; /* without values */
    char digest[65];
    search_request request;
} tuning;

/* --- what is searched --- */

/* Flags of `train` that the search decides itself. */
static status read_train_arguments(const args *a, args *ret, error *err)
{
    static const char *const ours[] = {"serialization-dir", "job-dir", "overrides", "recover", "force", "dry-run"};
    int n = 0;
    while (a->rest[n])
        n++;
    TRYF(args_parse(&command_train, n, a->rest, ret, err), err, "tune: the trials' arguments");
    if (ret->n_operands)
        return FAIL(err, E_USAGE, "tune: '%s' among the trials' arguments: CONFIG stands before the --",
                    ret->operands[0]);
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (args_has(ret, ours[i]))
            return FAIL(err, E_USAGE, "tune: --%s among the trials' arguments: the search gives it to each", ours[i]);
    return OK;
}

/* --- trials --- */

static size_t count_words(char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static char **command_line(const void *user, const char *job_dir, char *const *values)
{
    const tuning *t = user;
    const char *overrides = args_text(t->args, "overrides");
    const char *words[] = {"tequio", "train", t->args->operands[0], "--job-dir", job_dir, "--progress", "none",
                           "--overrides", overrides ? overrides : "{}"};
    size_t n = 0, n_rest = count_words(t->args->rest), n_values = count_words(values);
    char **argv = xcalloc(COUNT_OF(words) + n_rest + n_values + 1, sizeof *argv);
    for (; n < COUNT_OF(words); n++)
        argv[n] = xstrdup(words[n]);
    for (size_t i = 0; i < n_rest; i++)
        argv[n++] = xstrdup(t->args->rest[i]);
    for (size_t i = 0; i < n_values; i++)
        argv[n++] = xstrdup(values[i]);
    return argv;
}

/* --- the command line --- */

static status check_alone(error *err)
{
    cluster *here = NULL;
    TRY(cluster_from_env(&here, err));
    bool is_alone = here->origin == CLUSTER_LOCAL;
    cluster_destroy(&here);
    if (is_alone)
        return OK;
    return FAIL(err, E_USAGE, "tune: runs on one machine, but the environment names a cluster: unset it");
}

/* Of keys of the space. */
static void say_ignored(void *user, const doc_node *node, const field *f)
{
    (void)user;
    fprintf(stderr, "tequio: tune: %s: ignored: %s\n", node->origin, f->note);
}

static status choose(tuning *t, error *err)
{
    const args *a = t->args;
    const char *overrides = args_text(a, "overrides");
    const char *const *settings = settings_of(&t->train, NULL, t->memory);
    config_source source = {.path = a->operands[0], .overrides = overrides, .settings = settings,
                            .read_archive = model_archive_config};
    const search_choice choice = {
        .asked = &t->asked,
        .command = "tune",
        .config_path = a->operands[0],
        .overrides = overrides,
        .settings = settings,
        .metric = args_text(a, "metric"),
        .algorithm = args_text(a, "algorithm"),
        .stopping = args_text(a, "early-stopping"),
        .previous = args_text(a, "previous"),
        .min_epochs = args_count(a, "min-epochs", -1),
        .reduction_factor = args_count(a, "reduction-factor", -1),
        .trials = args_count(a, "trials", -1),
        .parallel = args_count(a, "parallel", -1),
        .failed_most = args_count(a, "max-failed-trials", -1),
        .seed = args_count(a, "seed", -1),
    };
    TRY(config_load(&source, &t->config, err));
    TRYF(search_choose(&choice, t->config, t->digest, &t->request, err), err, "tune");
    t->request.command_line = command_line;
    t->request.user = t;
    t->request.environment = (trial_environment){.has_tf_config = true, .shares_cpus = true};
    return OK;
}

static status read_tuning(tuning *t, error *err)
{
    const args *a = t->args;
    const char *file = args_text(a, "space");
    search_request *r = &t->request;
    r->dir = args_text(a, "serialization-dir");
    r->recovers = args_has(a, "recover");
    r->forces = args_has(a, "force");
    if (!r->dir)
        return FAIL(err, E_USAGE, "tune: where to write is missing: give -s DIR");
    if (!file)
        return FAIL(err, E_USAGE, "tune: what to search is missing: give --space FILE");
    if (r->recovers && r->forces)
        return FAIL(err, E_USAGE, "tune: --recover and --force exclude each other");
    TRY(check_alone(err));
    TRY(read_train_arguments(a, &t->train, err));
    TRY(search_read_file(file, t->memory, say_ignored, NULL, &t->asked, err));
    TRYF(search_name_keys(&t->asked, args_text(a, "parameter"), t->memory, err), err, "tune");
    return choose(t, err);
}

static int run_tune(const args *a, error *err)
{
    tuning t = {.args = a, .memory = arena_create()};
    status st = read_tuning(&t, err);
    int code = st == OK ? search_run(&t.request, err) : status_exit_code(st);
    config_destroy(&t.config);
    arena_destroy(&t.memory);
    return code;
}

#define WHERE "Where to write"
#define WHAT  "What to search"
#define HOW   "How to search"

static const flag tune_flags[] = {
    {"serialization-dir", 's', FLAG_PATH, "DIR", WHERE,
     "Write here: trials.jsonl, a job dir a trial, and best; a directory that is not empty is refused without "
     "--recover or --force.", 0, 0},
    {"recover", 'r', FLAG_SWITCH, NULL, WHERE,
     "Go on with the search in the directory; the numbers of trials may be others than before.", 0, 0},
    {"force", 'f', FLAG_SWITCH, NULL, WHERE, "Remove what is in the directory first.", 0, 0},
    {"space", 0, FLAG_PATH, "FILE", WHAT,
     "A jsonnet file with parameters and their ranges, in AI Platform's form (HyperparameterSpec).", 0, 0},
    {"parameter", 0, FLAG_TEXT, "NAME=KEY,...", WHAT,
     "Which key of the configuration a parameter of the space is, where its name is none; NAME= leaves it out.", 0, 0},
    {"previous", 0, FLAG_PATH, "DIR", WHAT,
     "Begin with what the trials of the search in DIR have shown, as with resumePreviousJobId; its space and metric "
     "are the same.", 0, 0},
    {"metric", 0, FLAG_TEXT, "+NAME|-NAME", WHAT,
     "The metric of validation data to make larger (+) or smaller (-); otherwise trainer.validation_metric.", 0, 0},
    {"overrides", 'o', FLAG_TEXT, "JSON", WHAT,
     "Values that replace those of CONFIG in every trial: an object, nested or with dotted keys.", 0, 0},
    {"trials", 'n', FLAG_COUNT, "N", HOW, "How many trials, over maxTrials of the space.", 1, 1000000},
    {"parallel", 'p', FLAG_COUNT, "N", HOW, "How many at a time, over maxParallelTrials; 1 if neither is given.", 1,
     1024},
    {"algorithm", 0, FLAG_CHOICE, "gp|tpe|random|grid", HOW,
     "gp: a Gaussian process says where improvement is to be expected, the default; tpe: Parzen estimators do; "
     "random: points that fill the space evenly; grid: all combinations, of parameters that have an end of values.",
     0, 0},
    {"early-stopping", 0, FLAG_CHOICE, "none|median|asha", HOW,
     "median: a trial ends when it does worse than half of the complete ones did by then, as with "
     "enableTrialEarlyStopping; asha: trials are paused, and the best ones go on; none, the default.",
     0, 0},
    {"min-epochs", 0, FLAG_COUNT, "N", HOW, "Early stopping lets every trial train so many epochs; 1.", 1, 1000000},
    {"reduction-factor", 0, FLAG_COUNT, "N", HOW,
     "asha: of so many trials one goes on, until so many times as many epochs; 4.", 2, 1000},
    {"max-failed-trials", 0, FLAG_COUNT, "N", HOW,
     "End when so many have failed, over maxFailedTrials; half of all if neither is given.", 1, 1000000},
    {"seed", 0, FLAG_COUNT, "N", HOW, "Another seed proposes other trials; otherwise random_seed of CONFIG.", 0,
     INT64_MAX},
};

const command command_tune = {
    .name = "tune",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Search for the best hyper-parameters.",
    .about = "Trains CONFIG again and again, each time with other values of the parameters that --space names, and "
             "keeps the configuration whose metric of validation data is the best. A trial is a job like any other; "
             "arguments of `tequio train` for each, as --workers, stand behind --.\n\n"
             "The search may be stopped or killed at any moment: --recover goes on, and a trial that was running goes "
             "on from its checkpoint.",
    .flags = tune_flags,
    .n_flags = COUNT_OF(tune_flags),
    .takes_rest = true,
    .run = run_tune,
};
