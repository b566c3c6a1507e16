#include "cli/submit/request.h"

#include "cli/commands.h"
#include "cli/run/model_archive.h"
#include "cli/run/page_beside.h"
#include "cli/run/page_price.h"
#include "cli/run/settings.h"
#include "job/spec/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the job --- */

static const char *value_of(const void *user, const char *name)
{
    const args *a = user;
    const char *text = args_text(a, name);
    return text && !*text ? "true" : text; /* a switch */
}

static status read_file(const args *a, arena *memory, doc_node **ret, error *err)
{
    const char *path = args_text(a, "config");
    if (path)
        return document_read_file(path, memory, ret, err);
    *ret = document_empty(memory, "no --config", DOC_MAP);
    return OK;
}

static status read_job(const args *a, submit_request *o, error *err)
{
    doc_node *top = NULL;
    TRY(read_file(a, o->memory, &top, err));
    TRY(flags_job(top, value_of, a, a->operands[0], (const char *const *)a->rest, o->memory, &o->job,
                  err));
    const char *shape = args_text(a, "scale-down");
    return shape ? job_scale_down(&o->job, shape, err) : OK;
}

/* --- what tasks are told --- */

static int count(const char *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}

/* Flags of `train` that the job itself decides. */
static status check_task_flags(const args *train, error *err)
{
    static const char *const ours[] = {"workers", "ps", "evaluators", "start-port", "max-restarts"};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (args_has(train, ours[i]))
            return FAIL(err, E_USAGE,
                        "--%s among the tasks' arguments: the job says how many tasks there are",
                        ours[i]);
    if (args_has(train, "page"))
        return FAIL(err, E_USAGE,
                    "--page is not for the tasks' arguments: give it to submit, before the --");
    if (args_has(train, "serialization-dir") || args_has(train, "job-dir"))
        return FAIL(err, E_USAGE,
                    "-s and --job-dir are not for the tasks' arguments: give --job-dir to submit, "
                    "before the --");
    return page_price_check(train, err);
}

/* As `train` will read them. */
static status parse_arguments(const char *const *list, args *ret, error *err)
{
    TRYF(args_parse(&command_train, count(list), (char *const *)(uintptr_t)list, ret, err), err,
         "the tasks' arguments");
    if (ret->n_operands == 0)
        return FAIL(err, E_USAGE,
                    "the tasks' arguments are missing: the config file of `tequio train` first, behind "
                    "-- or as trainingInput.args");
    return check_task_flags(ret, err);
}

static status resolve_config(const args *train, submit_request *o, error *err)
{
    o->config_path = train->operands[0];
    o->overrides = args_text(train, "overrides");
    const char *more[] = {NULL, NULL, NULL}, *metrics = args_text(train, "metrics"), *price = args_text(train, "price");
    size_t n = 0;
    if (metrics) /* targets want to know */
        more[n++] = arena_printf(o->memory, "distributed.metrics=\"%s\"", *metrics ? metrics : PAGE_PLACE);
    if (price) /* and the page, where it is served here */
        more[n] = arena_printf(o->memory, "distributed.page_price=\"%s\"", price);
    o->settings = settings_of(train, more, o->memory);
    config_source source = {.path = o->config_path, .overrides = o->overrides, .settings = o->settings,
                            .read_archive = model_archive_config};
    TRY(config_load(&source, &o->resolved, err));
    const char *security = config_str(o->resolved, "distributed.security");
    o->is_secured = !args_has(train, "insecure") && !(security && strcmp(security, "off") == 0);
    return OK;
}

static status check_same_arguments(const job *j, error *err)
{
    const char *const *all = j->pools[ROLE_MASTER].args;
    for (role r = 0; r < ROLE_COUNT; r++) {
        const char *const *own = j->pools[r].args;
        bool is_same = count(own) == count(all);
        for (int i = 0; is_same && own[i]; i++)
            is_same = strcmp(own[i], all[i]) == 0;
        if (j->pools[r].count && !is_same)
            return FAIL(err, E_CONFIG,
                        "the arguments of %s are others than the master's; all tasks of a job have the "
                        "same",
                        role_name(r));
    }
    return OK;
}

static const char *const *command_line(const submit_request *o, const char *const *list, bool again)
{
    int n = count(list), at = 0;
    const char **line = arena_alloc(o->memory, ((size_t)n + 6) * sizeof *line);
    line[at++] = "train";
    for (int i = 0; i < n; i++)
        line[at++] = list[i];
    line[at++] = "--job-dir";
    line[at++] = o->job.job_dir;
    if (o->page)
        line[at++] = arena_printf(o->memory, "--page=%s", o->page);
    line[at++] = again ? "--recover" : NULL;
    return line;
}

const char *const *submit_request_train_words(const submit_request *o, const char *path)
{
    args train;
    if (parse_arguments(o->job.pools[ROLE_MASTER].args, &train, NULL) != OK)
        BUG("arguments that were read before");
    const char **list = arena_alloc(o->memory, (2 * COMMAND_FLAGS + 2) * sizeof *list);
    int n = 0;
    list[n++] = path ? path : o->config_path;
    for (size_t i = 0; i < command_train.n_flags; i++) {
        const flag *f = &command_train.flags[i];
        if (!train.values[i] || strcmp(f->name, "overrides") == 0)
            continue;
        bool is_one_word = f->kind == FLAG_OPTION && *train.values[i];
        list[n++] = is_one_word ? arena_printf(o->memory, "--%s=%s", f->name, train.values[i])
                                : arena_printf(o->memory, "--%s", f->name);
        if (f->kind != FLAG_SWITCH && f->kind != FLAG_OPTION)
            list[n++] = train.values[i];
    }
    return list;
}

const char *const *submit_request_arguments(const submit_request *o, const char *path, bool again)
{
    return command_line(o, submit_request_train_words(o, path), again);
}

/* `has_page`: submit itself serves one. */
static status read_arguments(submit_request *o, bool has_page, error *err)
{
    const char *const *list = o->job.pools[ROLE_MASTER].args;
    args train;
    TRY(check_same_arguments(&o->job, err));
    TRY(parse_arguments(list, &train, err));
    TRY(resolve_config(&train, o, err));
    has_page = has_page || config_str(o->resolved, "distributed.page");
    TRYF(page_price_check_shown(&train, has_page, err), err, "submit");
    if (!o->job.job_dir)
        return FAIL(err, E_USAGE,
                    "where to write is missing: give --job-dir DIR, before the --, or "
                    "trainingInput.jobDir");
    if (strncmp(o->job.job_dir, "gs://", 5) == 0)
        return FAIL(err, E_CONFIG,
                    "the job dir %s is in Google's storage, which tasks here cannot write; give "
                    "--job-dir with a directory",
                    o->job.job_dir);
    o->arguments = command_line(o, list, false);
    o->arguments_again = command_line(o, list, true);
    return OK;
}

static void say_warnings(const job *j)
{
    for (int i = 0; i < j->n_warnings; i++)
        fprintf(stderr, "tequio: submit: %s\n", j->warnings[i]);
}

status submit_request_read(const args *a, const char *page, submit_request *ret, error *err)
{
    const char *target = args_text(a, "target");
    submit_request o = {.memory = arena_create(), .target = target ? target : SUBMIT_TARGET, .page = page};
    status st = read_job(a, &o, err);
    if (st == OK)
        st = read_arguments(&o, args_has(a, "page"), err);
    if (st != OK) {
        submit_request_fini(&o);
        return st;
    }
    o.primary = o.job.calls_chief ? "chief" : "master";
    say_warnings(&o.job);
    *ret = o;
    return OK;
}

void submit_request_fini(submit_request *o)
{
    config_destroy(&o->resolved);
    arena_destroy(&o->memory);
}
