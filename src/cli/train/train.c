/*
 * `tequio train`: decides which of three things a process is, and does that.
 *
 *   a task of a cluster      the environment names one (TF_CONFIG and kin, ranks), or --nnodes:
 *                            run it
 *   a local cluster          workers are asked for: start one process a task (job/local.h)
 *   everything in one        neither: run all roles here
 *
 * The launcher applies the rule of the job dir before it starts anybody; its tasks then find an
 * unfinished job of equal configuration, which each may join.
 */
#include "cli/cloud/maintenance.h"
#include "cli/commands.h"
#include "cli/roles/process.h"
#include "cli/run/config_notes.h"
#include "cli/run/input_files.h"
#include "cli/run/model_archive.h"
#include "cli/run/oversubscription.h"
#include "cli/run/page_price.h"
#include "cli/run/settings.h"
#include "cli/train/batch_size.h"
#include "cli/train/dryrun.h"
#include "cli/train/launch.h"
#include "cli/train/membership.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/cluster/cluster.h"
#include "job/spec/parameter_names.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;

enum { SECOND_US = 1000000 };

/* The first signal asks for a checkpoint and an end, as maintenance may have done before; one that
 * comes a second later or more ends the process. Some senders deliver the first one twice, to the
 * process and to its group. */
static void ask_to_stop(int signal)
{
    static atomic_bool was_asked;
    static int64_t first_us;
    int64_t now = clock_us();
    if (!atomic_exchange(&was_asked, true))
        first_us = now;
    else if (now - first_us > SECOND_US)
        _exit(128 + signal);
    atomic_store(&stop, true);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGUSR1, SIG_IGN); /* until a task handles it */
    signal(SIGPIPE, SIG_IGN); /* a closed terminal must not end the job */
}

/* --- what the command line says --- */

static status choose_dir(train_job *j, error *err)
{
    const char *allennlp = args_text(j->args, "serialization-dir");
    const char *estimator = args_text(j->args, "job-dir");
    if (allennlp && estimator)
        return FAIL(err, E_USAGE,
                    "train: -s DIR and --job-dir DIR exclude each other: the first refuses a "
                    "directory that is not empty, the second resumes by itself");
    const char *named = j->cluster->model_dir;
    const char *asked = allennlp ? allennlp : estimator ? estimator : named;
    if (named && strcmp(named, asked) != 0)
        return FAIL(err, E_USAGE,
                    "train: the command line writes to '%s', but model_dir in TF_CONFIG is '%s': "
                    "give the same, or only one",
                    asked, named);
    TRYF(cloud_folders_find(asked, &j->folders, err), err, "train");
    j->job_dir = j->folders.job;
    j->rule = allennlp ? JOBDIR_ALLENNLP : JOBDIR_ESTIMATOR;
    if (!j->job_dir)
        return FAIL(
            err, E_USAGE,
            "train: where to write is missing: give -s DIR (refuses a directory that is not "
            "empty) or --job-dir DIR (resumes by itself)");
    return OK;
}

static progress_mode choose_progress(const args *a)
{
    const char *word = args_text(a, "progress");
    if (args_has(a, "file-friendly-logging"))
        word = "plain";
    return progress_mode_of(word ? word : "auto", STDERR_FILENO);
}

static bool is_in_cluster(const cluster *c)
{
    return c->origin != CLUSTER_LOCAL;
}

/* Flags that set a key: to what they say, or to `value`. */
static const struct {
    const char *flag, *key, *value;
    bool is_place; /* in quotes; without words one of the loopback interface */
} flag_settings[] = {
    {"workers", "distributed.workers", NULL, false},
    {"ps", "distributed.ps", NULL, false},
    {"evaluators", "distributed.evaluators", NULL, false},
    {"start-port", "distributed.start_port", NULL, false},
    {"max-restarts", "distributed.max_restarts", NULL, false},
    {"insecure", "distributed.security", "off", false},
    {"rendezvous", "distributed.rendezvous", NULL, false},
    {"page", "distributed.page", NULL, true},
    {"price", "distributed.page_price", NULL, true},
    {"metrics", "distributed.metrics", NULL, true},
    {"profile", "distributed.profile", NULL, true},
    {"gce-maintenance", "distributed.gce_maintenance", "true", false},
};

static const char *flag_setting(const args *a, size_t i, arena *memory)
{
    const char *key = flag_settings[i].key, *value = flag_settings[i].value;
    if (!value)
        value = args_text(a, flag_settings[i].flag);
    if (flag_settings[i].is_place)
        return arena_printf(memory, "%s=\"%s\"", key, *value ? value : PAGE_PLACE);
    return arena_printf(memory, "%s=%s", key, value);
}

/* `batch` is a setting that counts before all others, or NULL. */
static status load_config(train_job *j, const char *batch, error *err)
{
    const char *settings[COUNT_OF(flag_settings) + 2] = {NULL};
    size_t n = 0;
    arena *memory = arena_create();
    for (size_t i = 0; i < COUNT_OF(flag_settings); i++)
        if (args_has(j->args, flag_settings[i].flag))
            settings[n++] = flag_setting(j->args, i, memory);
    if (batch)
        settings[n] = batch;
    config_source source = {.path = j->path,
                            .overrides = args_text(j->args, "overrides"),
                            .settings = settings_of(j->args, settings, memory),
                            .read_archive = model_archive_config,
                            .takes_auto_batch = true};
    status st = config_load(&source, &j->config, err);
    arena_destroy(&memory);
    TRY(st);
    const char *window = config_str(j->config, "distributed.profile");
    TRYF(window ? trace_window_read(window, &j->traced, err) : OK, err, "distributed.profile");
    return OK;
}

/* --- doing it --- */

static int train_run(train_job *j, error *err)
{
    catch_signals();
    int64_t step;
    bool chooses = train_chooses_step(j->args, &step);
    process_options options = {
        .config = j->config,
        .cluster = j->cluster,
        .job_dir = j->job_dir,
        .events_dir = j->folders.events,
        .devices = &j->devices,
        .lanes = j->shape.lanes,
        .readers = j->shape.readers,
        .servers_here = j->shape.servers_here,
        .given = &j->given,
        .rule = j->rule,
        .recover = train_recovers(j),
        .chooses = chooses,
        .step = step,
        .force = train_forces(j),
        .stop = &stop,
        .progress = j->progress,
        .faults = &j->faults,
    };
    maintenance *watch = NULL;
    status st = config_bool(j->config, "distributed.gce_maintenance")
                    ? maintenance_watch(&stop, &watch, err)
                    : OK;
    if (st == OK)
        page_beside_begin(&j->page, j->job_dir);
    trace_open(j->traced);
    if (st == OK)
        st = process_run(&options, err);
    trace_close();
    maintenance_end(&watch);
    if (st == OK && j->cluster->is_chief)
        st = train_finish(j, err);
    return status_exit_code(st);
}

/* --- a batch that is to be found --- */

/* Each task would find another one. */
static status refuse_auto_in_cluster(const train_job *j, error *err)
{
    if (!is_in_cluster(j->cluster) || !config_finds_batch(j->config))
        return OK;
    return FAIL(err, E_CONFIG,
                "data_loader.batch_size: \"auto\": all tasks of a cluster must have the same batch, and none of them "
                "can find it for the others; 'tequio find-batch-size CONFIG' on one of its machines says a number, "
                "which --data_loader.batch_size then gives to all");
}

static status find_batch(const train_job *j, int64_t *ret, error *err)
{
    batch_search found;
    buf tries = BUF_INIT;
    TRY(input_files_check(j->config, err));
    LOG_I("BATCH_SIZE", "data_loader.batch_size is \"auto\": a lane tries some");
    TRY(batch_size_find(j->config, &j->devices, &j->shape, &found, err));
    batch_size_describe(&found, &tries);
    LOG_I("BATCH_SIZE", "size=%lld on=%s tried=\"%s\"", (long long)found.chosen, found.device, tries.data);
    batch_size_warn(j->config, &found);
    buf_fini(&tries);
    *ret = found.chosen;
    return OK;
}

/* From here on the configuration has a number, which is that of the job if there is one already. */
static status settle_batch(train_job *j, error *err)
{
    int64_t batch = 0;
    char setting[64];
    if (!config_finds_batch(j->config))
        return OK;
    if (j->job_dir && !train_forces(j))
        batch = batch_size_kept(j->job_dir);
    if (batch)
        LOG_I("BATCH_SIZE", "size=%lld, as the job in '%s' has it", (long long)batch, j->job_dir);
    else
        TRY(find_batch(j, &batch, err));
    snprintf(setting, sizeof setting, "data_loader.batch_size=%lld", (long long)batch);
    config_destroy(&j->config);
    TRY(load_config(j, setting, err));
    j->devices.config = j->config;
    return OK;
}

/* By the word of a launcher, or of Slurm, which shows a task nothing but its own then. */
static bool gpus_are_own(void)
{
    return getenv("TEQUIO_OWN_GPUS") || getenv("SLURM_GPUS_PER_TASK");
}

/* A launcher that is given devices trains on each: what a step takes is more than what the configuration
 * calls a batch. */
static void warn_of_effective_batch(const train_job *j)
{
    long long named = (long long)config_count(j->config, "distributed.cuda_devices");
    long long batch = (long long)config_int(j->config, "data_loader.batch_size");
    long long k = j->shape.batches_per_step;
    if (named > 1 && j->shape.workers > 0)
        LOG_W("EFFECTIVE_BATCH",
              "%lld devices, batches of %lld examples: a step takes %lld x %lld = %lld examples, and learning "
              "rates stay as they are; with data_loader.batch_size %lld a step is one of a single device",
              named, batch, k, batch, k * batch, batch / named > 0 ? batch / named : 1);
}

/* The name is AllenNLP's too, and means something else there. */
static void warn_of_counted_steps(const config *s)
{
    if (strcmp(config_str(s, "type"), "step") == 0 && !config_has(s, "unit"))
        LOG_W("SCHEDULE",
              "%s.step_size counts steps, AllenNLP's counts epochs: unit \"epoch\" or \"step\" says which is meant",
              config_path(s));
    for (size_t i = 0; i < config_count(s, "schedulers"); i++) {
        char path[64];
        snprintf(path, sizeof path, "schedulers[%zu].scheduler", i);
        warn_of_counted_steps(config_section(s, path));
    }
}

/* GPUs need no CPU each. */
static void warn_of_oversubscription(const train_job *j)
{
    const shape *s = &j->shape;
    if (!j->devices.gpus.n && !config_count(j->config, "distributed.cuda_devices"))
        oversubscription_warn(1 + s->workers + s->ps + s->evaluators, s->workers,
                              "--workers says how many");
}

/* A task of a cluster hears of a GPU that is not there when its lane begins. */
static status find_shape(train_job *j, error *err)
{
    bool is_task = is_in_cluster(j->cluster), is_dry = args_has(j->args, "dry-run");
    j->devices = (devices){.config = j->config};
    if (is_dry || process_computes(j->config, j->cluster))
        TRY(devices_find(j->config, !is_task && !is_dry, &j->devices, err));
    shape_host host = {.cpus = thread_cpus(),
                       .gpus = j->devices.gpus.n,
                       .gpus_are_own = gpus_are_own(),
                       .cluster = is_task ? j->cluster : NULL};
    TRY(shape_of(j->config, &host, &j->shape, err));
    TRYF(shape_check_descriptors(&j->shape, host.cluster, err), err, "train");
    if (is_task)
        return OK;
    TRY(settle_batch(j, err));
    warn_of_oversubscription(j);
    warn_of_effective_batch(j);
    warn_of_counted_steps(config_section(j->config, "trainer.learning_rate_scheduler"));
    return process_faults_check(&j->faults, &j->shape, err);
}

/* A task that is started again and again, where nobody looks, does not fail for want of a page. */
static status open_page(train_job *j, error *err)
{
    page_words words = page_words_of(j->config);
    error why = ERROR_INIT;
    if (!is_in_cluster(j->cluster))
        return page_beside_open(&words, &j->page, err);
    if (j->cluster->is_chief && page_beside_open(&words, &j->page, &why) != OK)
        LOG_W("PAGE", "%s; the job goes on without a page", why.text);
    return OK;
}

static int train_run_job(train_job *j, error *err)
{
    status st = find_shape(j, err);
    if (st != OK)
        return status_exit_code(st);
    bool is_told_by_another = j->cluster->origin == CLUSTER_RANKS && !j->cluster->is_chief;
    if (args_has(j->args, "dry-run") && is_told_by_another)
        return status_exit_code(OK);
    if (args_has(j->args, "dry-run")) {
        st = input_files_check(j->config, err);
        if (st == OK)
            st = dryrun_print(&j->devices, &j->shape, args_has(j->args, "json"), err);
        return status_exit_code(st);
    }
    st = open_page(j, err);
    if (st != OK)
        return status_exit_code(st);
    bool launches = !is_in_cluster(j->cluster) && j->shape.workers > 0;
    int code = launches ? train_launch(j, err) : train_run(j, err);
    page_beside_end(&j->page);
    return code;
}

static status train_read_job(const args *a, train_job *ret, error *err)
{
    ret->args = a;
    if (a->n_operands == 0)
        return FAIL(err, E_USAGE, "train: CONFIG is missing; usage: tequio train CONFIG -s DIR");
    ret->path = a->operands[0];
    const char *recover = args_text(a, "recover");
    int64_t step;
    if (recover && *recover && !train_chooses_step(a, &step))
        return FAIL(err, E_USAGE, "train: --recover=%s: must be --recover alone, or --recover=step-N as in step-500",
                    recover);
    if (recover && args_has(a, "force"))
        return FAIL(err, E_USAGE, "Illegal arguments: both force and recover are true.");
    if (args_has(a, "json") && !args_has(a, "dry-run"))
        return FAIL(err, E_USAGE, "train: --json is the form of --dry-run's report; add --dry-run");
    ret->progress = choose_progress(a);
    TRY(process_faults_read(args_text(a, "fault"), &ret->faults, err));
    config_notes_package(args_text(a, "include-package"));
    TRYF(page_price_check(a, err), err, "train");
    TRY(load_config(ret, NULL, err));
    config_notes_log(ret->config);
    TRY(membership_find(a, ret->config, &ret->cluster, err));
    TRY(refuse_auto_in_cluster(ret, err));
    bool has_page = is_in_cluster(ret->cluster) || config_str(ret->config, "distributed.page");
    TRYF(page_price_check_shown(a, has_page, err), err, "train");
    if (ret->cluster->trial && *ret->cluster->trial)
        LOG_I("TRIAL", "number=%s", ret->cluster->trial);
    return args_has(a, "dry-run") ? OK : choose_dir(ret, err);
}

static int print_config_help(void)
{
    buf text = BUF_INIT;
    config_help_text(&text);
    fputs(text.data, stdout);
    buf_fini(&text);
    return 0;
}

static int run_train(const args *a, error *err)
{
    if (args_has(a, "help-config"))
        return print_config_help();
    train_job j = {.args = a, .page = PAGE_BESIDE_NONE};
    keys_take_given(&j.given);
    status st = train_read_job(a, &j, err);
    int code = st == OK ? train_run_job(&j, err) : status_exit_code(st);
    jobkey_wipe(&j.given, sizeof j.given);
    process_faults_fini(&j.faults);
    cloud_folders_fini(&j.folders);
    config_destroy(&j.config);
    cluster_destroy(&j.cluster);
    return code;
}

#define DIRS  "Where to write"
#define SHAPE "A cluster on this machine, one process a task"
#define RANKS "One process of several, by hand"
#define SHOW  "What to show"
#define CONF  "Configuration"
#define FAULT "What shall go wrong"

static const flag train_flags[] = {
    {"serialization-dir", 's', FLAG_PATH, "DIR", DIRS,
     "Write here; a directory that is not empty is refused without --recover or --force.", 0, 0},
    {"job-dir", 0, FLAG_PATH, "DIR", DIRS,
     "Write here; an unfinished job of equal configuration is resumed, and one that only its end "
     "differs from goes on to the new end.",
     0, 0},
    {"recover", 'r', FLAG_OPTION, "step-N", DIRS,
     "Go on with the job in the directory; trainer.num_epochs, max_steps and patience may be others "
     "than before, also of a job that is done. With a step, from that checkpoint: newer ones are set aside.",
     0, 0},
    {"force", 'f', FLAG_SWITCH, NULL, DIRS, "Remove what is in the directory first.", 0, 0},
    {"overrides", 'o', FLAG_TEXT, "JSON", CONF,
     "Values that replace those of CONFIG: an object, nested or with dotted keys.", 0, 0},
    {"insecure", 0, FLAG_SWITCH, NULL, CONF,
     "Encrypt nothing and let everybody in who can reach a port (distributed.security: off).", 0,
     0},
    {"gce-maintenance", 0, FLAG_SWITCH, NULL, CONF,
     "On a machine of Compute Engine: when its maintenance or preemption is announced, do as on SIGTERM "
     "(distributed.gce_maintenance: true).",
     0, 0},
    {"help-config", 0, FLAG_SWITCH, NULL, CONF, "Explain every key of a configuration.", 0, 0},
    {"workers", 0, FLAG_COUNT, "N", SHAPE,
     "Workers, beside a master that does not train; 0: everything in one process.", 0, 4096},
    {"ps", 0, FLAG_COUNT, "N", SHAPE, "Parameter servers; 1 where there are workers.", 0, 255},
    {"evaluators", 0, FLAG_COUNT, "N", SHAPE, "A process of its own that evaluates checkpoints.", 0,
     1},
    {"start-port", 0, FLAG_COUNT, "PORT", SHAPE,
     "Listen on this port and the following ones instead of free ones.", 1, PORT_MOST},
    {"max-restarts", 0, FLAG_COUNT, "N", SHAPE,
     "Start a task that died again, up to N times each; 5 if not given, 0: never.", 0, 1000000},
    {"nnodes", 0, FLAG_COUNT, "N", RANKS,
     "Train with N processes, one started on each host by this command.", 1, 4096},
    {"node-rank", 0, FLAG_COUNT, "I", RANKS,
     "Which of them, or of distributed.num_nodes, this is, from 0. Rank 0 writes the job dir.", 0, 4095},
    {"include-package", 0, FLAG_TEXT, "NAME", CONF,
     "A Python package, as AllenNLP loads it; nothing is loaded here, and a warning says so.", 0, 0},
    {"rendezvous", 0, FLAG_TEXT, "HOST:PORT", RANKS,
     "Where they meet: rank 0's host, and a port that is free there (distributed.rendezvous).", 0, 0},
    {"fault", 0, FLAG_TEXT, "SPEC", FAULT,
     "Rehearse failures: kill=TASK@WHEN, freeze=TASK[@WHEN]:TIME, delay=TASK:TIME, drop=TASK:P%, "
     "seed=N, separated by commas, as in kill=worker.1@push:40,drop=ps.0:2%. TASK is master.0, "
     "worker.1, ps.0, evaluator.0; WHEN the N-th message MESSAGE:N, or a time as 3s.",
     0, 0},
    {"dry-run", 0, FLAG_SWITCH, NULL, SHOW,
     "Print parameters, FLOPs, memory, parts per server and steps; do not train.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, SHOW, "Let --dry-run print JSON.", 0, 0},
    {"metrics", 0, FLAG_OPTION, "HOST:PORT", SHOW,
     "Let every task serve its figures to Prometheus, on this machine's loopback interface unless told where "
     "(distributed.metrics); JOB_DIR/log/prometheus.json says where those of a cluster on this machine do.",
     0, 0},
    {"page", 0, FLAG_OPTION, "HOST:PORT", SHOW,
     "Serve the job's page as long as it runs, on this machine's loopback interface unless told where, and print its "
     "address (distributed.page).", 0, 0},
    {"price", 0, FLAG_TEXT, "PRICE", SHOW,
     "Of all it runs on, as 2.1/h: the page says what the job has cost, and will (distributed.page_price).", 0, 0},
    {"profile", 0, FLAG_TEXT, "A:B", SHOW,
     "Write what every task does in the steps from A to before B, as 10:20, into JOB_DIR/profile, for Perfetto and the "
     "job's page (distributed.profile). The first steps of a start are not like others.", 0, 0},
    {"progress", 0, FLAG_CHOICE, "auto|bar|plain|none", SHOW,
     "Progress on standard error; auto: a bar on a terminal, else a line a minute and at 16 ends of epochs.", 0, 0},
    {"file-friendly-logging", 0, FLAG_SWITCH, NULL, SHOW, "The same as --progress plain.", 0, 0},
};

const command command_train = {
    .name = "train",
    .operands = "CONFIG",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "Train a model, alone, as a cluster on this machine, or as a task of a cluster.",
    .about = "Trains the model that CONFIG, a jsonnet file, describes, and writes checkpoints, "
             "metrics, events and the final weights into a directory.\n\n"
             "Where TF_CONFIG (or its kin of Vertex AI, Slurm, SageMaker) names a cluster, this "
             "process runs the task it names; where torchrun, mpirun or --nnodes number it, the rank. "
             "Otherwise --workers N starts a cluster of processes "
             "on this machine; without it one process does everything. The weights that come out "
             "are the same, bit by bit.\n\n"
             "Keys of the configuration are flags too, over --overrides: --trainer.optimizer.lr 0.1, and names that "
             "programs for AI Platform have for them, as --learning-rate.",
    .flags = train_flags,
    .n_flags = COUNT_OF(train_flags),
    .key_of = parameter_key,
    .near_key = parameter_near,
    .needs_passive_waits = true,
    .run = run_train,
};
