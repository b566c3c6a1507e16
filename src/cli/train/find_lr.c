/*
 * `tequio find-lr`: a learning rate that rises from step to step, and the losses it meets, as AllenNLP's
 * command of that name. It is a training job like any other, in one process, whose configuration is changed: the
 * schedule, the end, and nothing that is evaluated or kept. What it did step by step stands in metrics.jsonl.
 */
#include "cli/commands.h"
#include "cli/roles/process.h"
#include "cli/run/config_notes.h"
#include "cli/run/input_files.h"
#include "cli/run/model_archive.h"
#include "cli/run/shape.h"
#include "cli/train/lr_curve.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/cluster/cluster.h"
#include "common/config/resolved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct lr_search {
    const args *args;
    const char *folder;
    char *job_dir; /* below it, while the search goes on */
    int64_t batches;
    double start, end, stop; /* stop 0: the search goes to its end */
    bool is_linear;
    config *config;
} lr_search;

/* --- what the job is --- */

static json_t *rising_schedule(const lr_search *s)
{
    if (s->is_linear)
        return json_pack("{s:s, s:f, s:I}", "type", "polynomial_decay", "end_learning_rate", s->end,
                         "total_steps", (json_int_t)s->batches);
    return json_pack("{s:s, s:i, s:s, s:f}", "type", "step", "step_size", 1, "unit", "step", "gamma",
                     pow(s->end / s->start, 1.0 / (double)s->batches));
}

/* All groups of parameters have the rate that is tried. */
static void change_optimizer(const lr_search *s, json_t *trainer)
{
    json_t *optimizer = json_object_get(trainer, "optimizer"), *group;
    size_t i;
    json_object_set_new(optimizer, "lr", json_real(s->start));
    json_array_foreach(json_object_get(optimizer, "parameter_groups"), i, group)
        json_object_set_new(group, "lr", json_null());
}

/* As many batches a step as devices and accumulation make of it, on one lane. */
static void change_shape(const config *c, json_t *tree)
{
    json_t *distributed = json_object_get(tree, "distributed"), *trainer = json_object_get(tree, "trainer");
    const json_t *named = json_object_get(distributed, "cuda_devices");
    size_t n = json_array_size(named);
    int64_t per_lane = config_int(c, "trainer.num_gradient_accumulation_steps");
    if (n > 1 && !config_has(c, "trainer.batches_per_step"))
        json_object_set_new(trainer, "batches_per_step", json_integer((json_int_t)n * per_lane));
    json_t *first = n ? json_pack("[O]", json_array_get(named, 0)) : json_null();
    json_object_set_new(tree, "distributed", json_pack("{s:o, s:i}", "cuda_devices", first, "lanes", 1));
}

static const struct {
    const char *key, *value;
} changes[] = {
    {"patience", "null"},           {"validation_metric", "\"-loss\""}, {"save_checkpoints_secs", "null"},
    {"save_checkpoints_steps", "null"}, {"save_summary_steps", "1"},    {"save_histogram_steps", "1000000000"},
    {"momentum_scheduler", "null"}, {"moving_average", "null"},
};

/* The user's configuration, resolved, with other ends and means. */
static json_t *change(const lr_search *s, const config *c)
{
    json_t *tree = json_deep_copy(config_json(c, "")), *trainer = json_object_get(tree, "trainer");
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        if (json_object_get(trainer, changes[i].key))
            json_object_set_new(trainer, changes[i].key, json_loads(changes[i].value, JSON_DECODE_ANY, NULL));
    json_object_set_new(trainer, "max_steps", json_integer(s->batches + 1));
    json_object_set_new(trainer, "num_epochs", json_integer(s->batches + 1));
    json_object_set_new(trainer, "learning_rate_scheduler", rising_schedule(s));
    change_optimizer(s, trainer);
    change_shape(c, tree);
    json_object_set_new(json_object_get(tree, "model"), "metrics", json_array());
    json_object_set_new(tree, "evaluate_on_test", json_false());
    json_object_set_new(tree, "validation_data_path", json_null());
    return tree;
}

static status load(lr_search *s, error *err)
{
    config_source source = {.path = s->args->operands[0],
                            .overrides = args_text(s->args, "overrides"),
                            .read_archive = model_archive_config};
    config *written = NULL;
    TRY(config_load(&source, &written, err));
    config_notes_package(args_text(s->args, "include-package"));
    config_notes_log(written);
    json_t *tree = change(s, written);
    char *text = json_dumps(tree, JSON_REAL_PRECISION(17));
    status st = config_load_resolved(text, &s->config, err);
    free(text);
    json_decref(tree);
    config_destroy(&written);
    return st;
}

/* --- doing it --- */

static status run_job(const lr_search *s, cluster *alone, error *err)
{
    devices on;
    shape here;
    keys_given given = {0};
    TRY(input_files_check(s->config, err));
    TRY(devices_find(s->config, true, &on, err));
    shape_host host = {.cpus = thread_cpus(), .gpus = on.gpus.n};
    TRY(shape_of(s->config, &host, &here, err));
    const char *word = args_has(s->args, "file-friendly-logging") ? "plain" : "auto";
    process_options options = {
        .config = s->config,
        .cluster = alone,
        .job_dir = s->job_dir,
        .devices = &on,
        .lanes = here.lanes,
        .readers = here.readers,
        .servers_here = here.servers_here,
        .given = &given,
        .rule = JOBDIR_ESTIMATOR,
        .force = true,
        .progress = progress_mode_of(word, STDERR_FILENO),
    };
    return process_run(&options, err);
}

static status search(const lr_search *s, lr_losses *ret, error *err)
{
    cluster *alone = NULL;
    error why = ERROR_INIT;
    TRY(cluster_from_env(&alone, err));
    status st = OK;
    if (alone->origin == CLUSTER_LOCAL)
        st = run_job(s, alone, &why);
    else
        st = FAIL(&why, E_USAGE, "find-lr: runs in one process, but the environment names a cluster: unset it");
    cluster_destroy(&alone);
    /* a rate at which numbers are no longer finite ends the search, and is what it looked for */
    if (st != OK && st != E_NONFINITE)
        return FAIL(err, st, "%s", why.text);
    if (st != OK)
        LOG_W("SEARCH_ENDS", "%s", why.text);
    char *path = xasprintf("%s/metrics.jsonl", s->job_dir);
    st = lr_losses_read(path, s->stop, ret, err);
    free(path);
    return st;
}

static status report(const lr_search *s, const lr_losses *found, error *err)
{
    char *table = xasprintf("%s/lr-losses.csv", s->folder), *picture = xasprintf("%s/lr-losses.png", s->folder);
    status st = lr_losses_write(found, table, err);
    if (st == OK)
        st = lr_losses_draw(found, s->is_linear, picture, err);
    if (st == OK)
        printf("%zu rates from %.3g to %.3g, steps of %lld examples\n"
               "the smoothed loss falls fastest at %.3g, and is lowest at %.3g\n"
               "  %s\n  %s\n",
               found->n, found->rate[0], found->rate[found->n - 1], (long long)found->examples,
               lr_losses_fastest(found), lr_losses_lowest(found), picture, table);
    free(picture);
    free(table);
    return st;
}

/* --- the command line --- */

static status read_rate(const args *a, const char *name, double if_absent, double *ret, error *err)
{
    const char *text = args_text(a, name);
    char *end = NULL;
    *ret = text ? strtod(text, &end) : if_absent;
    if (!text || (end != text && !*end && isfinite(*ret) && *ret > 0))
        return OK;
    return FAIL(err, E_USAGE, "find-lr: --%s '%s': must be a number above 0", name, text);
}

static status read_search(const args *a, lr_search *s, error *err)
{
    s->batches = args_count(a, "num-batches", 100);
    s->is_linear = args_has(a, "linear");
    s->folder = args_text(a, "serialization-dir");
    TRY(read_rate(a, "start-lr", 1e-5, &s->start, err));
    TRY(read_rate(a, "end-lr", 10, &s->end, err));
    TRY(read_rate(a, "stopping-factor", 0, &s->stop, err));
    if (s->end <= s->start)
        return FAIL(err, E_USAGE, "find-lr: --end-lr %g must be above --start-lr %g", s->end, s->start);
    if (!s->folder)
        return FAIL(err, E_USAGE, "find-lr: where to write is missing: give -s DIR");
    if (s->stop > 0 && s->stop <= 1)
        return FAIL(err, E_USAGE, "find-lr: --stopping-factor %g must be above 1", s->stop);
    return load(s, err);
}

/* As AllenNLP: what is there is not written over. */
static status prepare_folder(lr_search *s, error *err)
{
    char **names = NULL;
    size_t n = 0;
    if (args_has(s->args, "force"))
        TRY(fs_remove_tree(s->folder, err));
    TRY(fs_mkdirs(s->folder, err));
    TRY(fs_list(s->folder, &names, &n, err));
    fs_list_free(names, n);
    if (n)
        return FAIL(err, E_CONFIG,
                    "'%s' already exists and is not empty: give another folder, or --force to remove it", s->folder);
    s->job_dir = xasprintf("%s/search", s->folder);
    return OK;
}

static status find_lr(lr_search *s, error *err)
{
    lr_losses found = {.n = 0};
    TRY(read_search(s->args, s, err));
    TRY(prepare_folder(s, err));
    status st = search(s, &found, err);
    if (st == OK)
        st = report(s, &found, err);
    lr_losses_fini(&found);
    error left = ERROR_INIT;
    if (fs_remove_tree(s->job_dir, &left) != OK)
        LOG_W("LEFT", "%s", left.text);
    return st;
}

static int run_find_lr(const args *a, error *err)
{
    lr_search s = {.args = a};
    status st = find_lr(&s, err);
    free(s.job_dir);
    config_destroy(&s.config);
    return status_exit_code(st);
}

#define HOW   "How to search"
#define WHERE "Where to write"

static const flag find_lr_flags[] = {
    {"serialization-dir", 's', FLAG_PATH, "DIR", WHERE, "Write lr-losses.png and lr-losses.csv here.", 0, 0},
    {"force", 'f', FLAG_SWITCH, NULL, WHERE, "Remove what is in the directory first.", 0, 0},
    {"overrides", 'o', FLAG_TEXT, "JSON", HOW,
     "Values that replace those of CONFIG: an object, nested or with dotted keys.", 0, 0},
    {"start-lr", 0, FLAG_TEXT, "RATE", HOW, "The first rate; default: 1e-5.", 0, 0},
    {"end-lr", 0, FLAG_TEXT, "RATE", HOW, "The last rate; default: 10.", 0, 0},
    {"num-batches", 0, FLAG_COUNT, "N", HOW, "Steps from the first rate to the last; default: 100.", 11, 1000000},
    {"stopping-factor", 0, FLAG_TEXT, "X", HOW,
     "Leave out what comes after a loss of more than X times the best one. Default: nothing.", 0, 0},
    {"linear", 0, FLAG_SWITCH, NULL, HOW, "Let the rate rise in a straight line; default: exponentially.", 0, 0},
    {"file-friendly-logging", 0, FLAG_SWITCH, NULL, HOW, "Progress as plain lines.", 0, 0},
    {"include-package", 0, FLAG_TEXT, "NAME", HOW,
     "A Python package, as AllenNLP loads it; nothing is loaded here, and a warning says so.", 0, 0},
};

const command command_find_lr = {
    .name = "find-lr",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Find a learning rate: losses while it rises.",
    .about = "Trains the model of CONFIG in one process while the learning rate rises from step to step, and "
             "draws the losses over the rates, as AllenNLP's command of that name: a good rate lies where the "
             "loss falls fastest. Nothing is evaluated, and the weights are not kept. A step has as many batches "
             "as in training, one for each of distributed.cuda_devices.",
    .flags = find_lr_flags,
    .n_flags = COUNT_OF(find_lr_flags),
    .needs_passive_waits = true,
    .run = run_find_lr,
};
