/* `tequio logs`: what the tasks of a job have logged, as one, from the folder log of its job dir, or from its pods. */
#include "cli/commands.h"
#include "cli/look/log_file.h"
#include "cli/look/place.h"
#include "cli/look/pod_log_files.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/paint.h"
#include "common/store/folder_lock.h"
#include "common/store/jobdir.h"
#include "common/store/lockfile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FOLLOW_NS = 200 * 1000 * 1000,
    LEAVING = 15, /* looks once the master is gone: other tasks leave after it */
};

typedef struct logs {
    const args *args;
    jobdir *dir;            /* NULL: they are of */
    pod_log_files *pods;
    char *folder;
    log_file *files;
    bool *is_ready;         /* [n] its line is to be printed */
    size_t n;
    log_level level;        /* and what is worse */
    bool is_painted;
} logs;

static bool is_wanted(const logs *l, const char *task)
{
    for (int i = 1; i < l->args->n_operands; i++)
        if (strcmp(l->args->operands[i], task) == 0)
            return true;
    return l->args->n_operands == 1;
}

static bool is_open(const logs *l, const char *task)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->files[i].name, task) == 0)
            return true;
    return false;
}

static status open_file(logs *l, const char *task, error *err)
{
    l->files = xrealloc(l->files, (l->n + 1) * sizeof *l->files);
    l->is_ready = xrealloc(l->is_ready, (l->n + 1) * sizeof *l->is_ready);
    TRY(log_file_open(l->folder, task, &l->files[l->n], err));
    l->is_ready[l->n++] = false;
    return OK;
}

/* Tasks may begin while we look. */
static status open_new_files(logs *l, error *err)
{
    char **names = NULL;
    size_t n = 0;
    status st = fs_exists(l->folder) ? fs_list(l->folder, &names, &n, err) : OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        char *task = log_file_task(names[i]);
        if (task && is_wanted(l, task) && !is_open(l, task))
            st = open_file(l, task, err);
        free(task);
    }
    fs_list_free(names, n);
    return st;
}

static void print_line(const logs *l, const log_file *f)
{
    if (f->level > l->level)
        return;
    buf text = BUF_INIT;
    if (l->is_painted && f->has_head)
        paint_line(f->line, strlen(f->line), &text);
    else
        buf_addf(&text, "%s%s%s", f->has_head ? "" : f->name, f->has_head ? "" : ": ", f->line);
    printf("%s\n", text.data);
    buf_fini(&text);
}

/* Of those that have a line the one with the earliest; NULL: none has. */
static log_file *earliest(logs *l, bool **ret_is_ready)
{
    log_file *first = NULL;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->is_ready[i])
            l->is_ready[i] = log_file_next(&l->files[i]);
        if (l->is_ready[i] && (!first || l->files[i].time_ms < first->time_ms)) {
            first = &l->files[i];
            *ret_is_ready = &l->is_ready[i];
        }
    }
    return first;
}

static void print_all(logs *l)
{
    bool *is_ready = NULL;
    for (log_file *f; (f = earliest(l, &is_ready)) && !ferror(stdout);) {
        print_line(l, f);
        *is_ready = false;
    }
    fflush(stdout);
}

/* A master works in the job dir, or `submit` writes there what it hears of tasks elsewhere. */
static bool runs(const logs *l)
{
    if (l->pods)
        return pod_log_files_grow(l->pods);
    if (folder_is_held(l->folder))
        return true;
    char *path = jobdir_file(l->dir, JOBDIR_LOCK), *holder = lockfile_holder(path);
    bool is_held = holder;
    free(holder);
    free(path);
    return is_held;
}

static status print_logs(logs *l, error *err)
{
    int looks = l->pods ? 1 : args_has(l->args, "follow") ? LEAVING : 0;
    for (bool goes_on = true; goes_on;) {
        looks = looks && runs(l) ? l->pods ? 1 : LEAVING : looks - 1;
        goes_on = looks > 0 && !ferror(stdout);
        TRY(open_new_files(l, err));
        if (l->pods)
            pod_log_files_hide(l->pods);
        print_all(l);
        if (goes_on)
            nanosleep(&(struct timespec){.tv_nsec = FOLLOW_NS}, NULL);
    }
    if (l->n)
        return OK;
    if (l->args->n_operands > 1)
        return FAIL(err, E_DATA, "logs: '%s' has no '%s.log'", l->folder, l->args->operands[1]);
    return FAIL(err, E_DATA,
                "logs: '%s' holds no logs; launchers of this machine keep them there, others where they say",
                l->folder);
}

static log_level level_of(const char *word)
{
    for (log_level level = LOG_ERROR; word && level <= LOG_DEBUG; level++)
        if (strcmp(word, log_level_name(level)) == 0)
            return level;
    return LOG_DEBUG;
}

/* Over there it is this very command. */
static status print_there(const args *a, const place *p, error *err)
{
    const char *words[8], *tail[COMMAND_OPERANDS];
    int n = 0;
    words[n++] = "logs";
    if (args_has(a, "follow"))
        words[n++] = "--follow";
    if (args_has(a, "level")) {
        words[n++] = "--level";
        words[n++] = args_text(a, "level");
    }
    words[n] = NULL;
    for (int i = 1; i < a->n_operands; i++)
        tail[i - 1] = a->operands[i];
    tail[a->n_operands - 1] = NULL;
    return place_become(p, words, tail, err);
}

static status open_logs(logs *l, const place *p, error *err)
{
    place_pods pods;
    const char *dir = place_dir(p);
    if (place_is_kubernetes(p, &pods)) {
        TRYF(pod_log_files_open(&pods, args_has(l->args, "follow"), &l->pods, err), err, "logs");
        l->folder = xstrdup(pod_log_files_folder(l->pods));
        return OK;
    }
    if (!dir)
        return FAIL(err, E_USAGE,
                    "logs: a page tells the ends of logs in a browser only: name the job dir, ssh://HOST/DIR or "
                    "kubernetes://NAME");
    if (!fs_exists(dir))
        return FAIL(err, E_DATA, "logs: '%s' is not there", dir);
    TRY(jobdir_open(dir, &l->dir, err));
    l->folder = jobdir_file(l->dir, "log");
    return OK;
}

static void close_logs(logs *l)
{
    for (size_t i = 0; i < l->n; i++)
        log_file_close(&l->files[i]);
    free(l->files);
    free(l->is_ready);
    free(l->folder);
    jobdir_close(&l->dir);
    pod_log_files_close(&l->pods);
}

static int run(const args *a, error *err)
{
    logs l = {.args = a, .level = level_of(args_text(a, "level")), .is_painted = paint_is_wanted(STDOUT_FILENO)};
    place *p = NULL;
    status st = place_open(a, a->operands[0], &p, err);
    if (st != OK)
        error_prepend(err, "logs");
    else if (place_is_ssh(p))
        st = print_there(a, p, err);
    else if ((st = open_logs(&l, p, err)) == OK)
        st = print_logs(&l, err);
    close_logs(&l);
    place_close(&p);
    return status_exit_code(st);
}

static const flag flags[] = {
    {"follow", 'f', FLAG_SWITCH, NULL, "Output", "Go on with what is logged, until no master works in the job dir.",
     0, 0},
    {"level", 0, FLAG_CHOICE, "error|warn|info|debug", "Output", "Only lines of that level, and worse ones.", 0, 0},
    PLACE_FLAGS,
};

const command command_logs = {
    .name = "logs",
    .operands = "JOB_DIR|PLACE [TASK...]",
    .min_operands = 1,
    .max_operands = COMMAND_OPERANDS,
    .summary = "What the tasks of a job have logged, in the order of its time.",
    .about = "Prints JOB_DIR/log/*.log as one, or those of the tasks named, as worker.0. The time in front of a line "
             "is that of its task's host. What a task printed that is no line of the log has the task's name in "
             "front.\n\n"
             "A job elsewhere is named by ssh://[USER@]HOST[:PORT]/DIR, or by kubernetes://NAME, whose pods' logs are "
             "asked of kubectl.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
