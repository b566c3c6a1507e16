#include "fault/process_cluster.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURN_US = 5000, LEAVE_S = 10, PREEMPTED = 143, SECOND_US = 1000000 };

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (!value || !*value) {
        fprintf(stderr, "FAILED: %s is not set; run this by ctest\n", name);
        exit(1);
    }
    return value;
}

/* --- processes --- */

/* In the child. */
_Noreturn static void become(char *const *argv, char *const *envp, const char *log, int listen_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
    close(null);
    if (listen_fd >= 0)
        fcntl(listen_fd, F_SETFD, 0);
    execve(argv[0], argv, envp);
    _exit(127);
}

static pid_t start(char *const *argv, char *const *envp, const char *dir, const char *name,
                   int listen_fd)
{
    char *log = xasprintf("%s/%s.log", dir, name);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(argv, envp, log, listen_fd);
    if (pid < 0)
        give_up("fork");
    free(log);
    return pid;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TURN_US * 1000}, NULL);
}

int process_cluster_train(const char *dir, const char *name, const char *const *arguments, int limit_s)
{
    extern char **environ;
    char *argv[32] = {(char *)(uintptr_t)variable("TEQUIO"), (char *)(uintptr_t) "train"};
    char *path = argv[2] = xasprintf("%s/config.jsonnet", dir);
    size_t n = 3;
    while (*arguments && n < COUNT_OF(argv) - 1)
        argv[n++] = (char *)(uintptr_t)*arguments++;
    pid_t pid = start(argv, environ, dir, name, -1);
    free(path);
    int64_t until = clock_us() + (int64_t)limit_s * SECOND_US;
    int end = 0;
    while (waitpid(pid, &end, WNOHANG) == 0) {
        if (clock_us() > until) {
            kill(pid, SIGKILL); /* its tasks die with it */
            waitpid(pid, &end, 0);
            return 124;
        }
        nap();
    }
    return WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
}

/* --- the folder --- */

/* Inputs so large, and a loss scale that begins so high, that gradients overflow: steps 0, 2, 3, 4,
 * 6, 9 and 10 are skipped, and in between the scale grows. */
static const char config_text[] =
    "{\n"
    "    dataset_reader: { type: 'idx', std: 1e-21 },\n"
    "    train_data_path: '%1$s/train/images-idx3-ubyte',\n"
    "    validation_data_path: '%1$s/validation/images-idx3-ubyte',\n"
    "    model: { type: 'mlp', hidden: [1024, 128] },\n"
    "    data_loader: { batch_size: 16 },\n"
    "    trainer: {\n"
    "        num_epochs: 3,\n"
    "        batches_per_step: 4,\n"
    "        optimizer: { type: 'adam', lr: 0.01 },\n"
    "        grad_norm: 1.0,\n"
    "        loss_scale: 'dynamic',\n"
    "        loss_scale_start: 4611686018427387904,\n"
    "        loss_scale_window: 2,\n"
    "        save_checkpoints_steps: 3,\n"
    "        save_histogram_steps: 2,\n"
    "    },\n"
    "    distributed: { heartbeat_timeout: 1, wait_warning: 1, preempt_grace: 2,\n"
    "                   start_timeout: 30, lost_timeout: 30 },\n"
    "}\n";

static void make_data(const char *dir, const char *name, const char *examples, const char *seed)
{
    extern char **environ;
    char *path = xasprintf("%s/%s", dir, name);
    char *argv[] = {(char *)(uintptr_t)variable("MAKE_IDX"), path, (char *)(uintptr_t)examples,
                    (char *)(uintptr_t)seed, NULL};
    int end;
    if (waitpid(start(argv, environ, dir, "make_idx", -1), &end, 0) < 0 || end != 0)
        give_up("make_idx");
    free(path);
}

char *process_cluster_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/tequio-cluster-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        give_up("a folder for the test");
    char *text = xasprintf(config_text, dir), *path = xasprintf("%s/config.jsonnet", dir);
    error err = ERROR_INIT;
    if (fs_write_atomic(path, text, strlen(text), &err) != OK)
        give_up(err.text);
    free(text);
    free(path);
    make_data(dir, "train", "256", "1");
    make_data(dir, "validation", "64", "8");
    return dir;
}

/* --- tasks --- */

static const process_cluster_oddity *oddity_of(const process_cluster *h, const process_cluster_task *t)
{
    static const process_cluster_oddity none = {.task = NULL};
    const process_cluster_oddity *o = h->o.oddity;
    return o && o->task && strcmp(o->task, t->name) == 0 ? o : &none;
}

/* Takes over `entry`, in place of one of that name. */
static void put_variable(char ***e, char *entry)
{
    size_t n = 0, name = strcspn(entry, "=") + 1;
    while ((*e)[n] && strncmp((*e)[n], entry, name) != 0)
        n++;
    bool is_new = !(*e)[n];
    free((*e)[n]);
    if (is_new) {
        *e = xrealloc(*e, (n + 2) * sizeof **e);
        (*e)[n + 1] = NULL;
    }
    (*e)[n] = entry;
}

/* The launcher's, and what is this task's own. */
static char **environment_of(process_cluster *h, int i)
{
    extern char **environ;
    roster_words words = {.fault = h->o.spec ? h->o.spec : "", .settings = PROCESS_CLUSTER_SETTINGS};
    const process_cluster_task *t = &h->tasks[i];
    char **e = roster_environment(&h->roster, i, t->n_lives + 1, &words, environ);
    const char *first_set = oddity_of(h, t)->first_set;
    if (first_set && !t->n_lives)
        put_variable(&e, xstrdup(first_set));
    return e;
}

static char *job_dir_of(const process_cluster *h, const process_cluster_task *t)
{
    const process_cluster_oddity *o = oddity_of(h, t);
    bool is_elsewhere = o->job_dir && (!o->first_dir || !t->n_lives);
    return xasprintf("%s/%s", h->o.dir, is_elsewhere ? o->job_dir : "job");
}

static void start_life(process_cluster *h, int i)
{
    process_cluster_task *t = &h->tasks[i];
    char *path = xasprintf("%s/config.jsonnet", h->o.dir), *dir = job_dir_of(h, t);
    char *argv[] = {(char *)(uintptr_t)variable("TEQUIO"),
                    (char *)(uintptr_t) "train",
                    path,
                    (char *)(uintptr_t) "--job-dir",
                    dir,
                    (char *)(uintptr_t) "-o",
                    (char *)(uintptr_t)h->o.overrides,
                    NULL};
    char **e = environment_of(h, i);
    pid_t pid = start(argv, e, h->o.dir, t->name, h->roster.tasks[i].listen_fd);
    t->lives[t->n_lives++] = (process_cluster_life){.pid = pid};
    roster_environment_free(e);
    free(path);
    free(dir);
}

static void remove_leftovers(const char *dir)
{
    static const char *const names[] = {"job", "elsewhere"};
    error err = ERROR_INIT;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = xasprintf("%s/%s", dir, names[i]);
        if (fs_remove_tree(path, &err) != OK)
            give_up(err.text);
        free(path);
    }
}

void process_cluster_start(process_cluster *h, const process_cluster_options *options)
{
    *h = (process_cluster){.o = *options};
    if (!options->goes_on)
        remove_leftovers(options->dir);
    roster_shape shape = {.counts = {[ROLE_MASTER] = 1,
                                     [ROLE_WORKER] = PROCESS_CLUSTER_WORKERS,
                                     [ROLE_PS] = options->servers ? options->servers : PROCESS_CLUSTER_SERVERS},
                          .primary = "chief"};
    error err = ERROR_INIT;
    if (roster_open(&shape, &h->roster, &err) != OK)
        give_up(err.text);
    for (h->n = 0; h->n < h->roster.n; h->n++) {
        process_cluster_task *t = &h->tasks[h->n];
        task_name(h->roster.tasks[h->n].task, t->name);
        char *log = xasprintf("%s/%s.log", options->dir, t->name);
        unlink(log);
        free(log);
        start_life(h, h->n);
    }
}

static process_cluster_life *last_life(const process_cluster_task *t)
{
    return (process_cluster_life *)(uintptr_t)&t->lives[t->n_lives - 1];
}

int process_cluster_code(const process_cluster_task *t)
{
    const process_cluster_life *l = last_life(t);
    if (!l->is_over)
        return -1;
    return WIFSIGNALED(l->wait_status) ? 128 + WTERMSIG(l->wait_status)
                                       : WEXITSTATUS(l->wait_status);
}

bool process_cluster_was_killed(const process_cluster_task *t, int life)
{
    const process_cluster_life *l = &t->lives[life - 1];
    return life <= t->n_lives && l->is_over && WIFSIGNALED(l->wait_status) &&
           WTERMSIG(l->wait_status) == SIGKILL;
}

/* As the launcher does it; and one whose first life was made to fail gets a second one. */
static bool shall_live_again(const process_cluster *h, const process_cluster_task *t)
{
    int code = process_cluster_code(t);
    bool was_made_to_fail = oddity_of(h, t)->first_set && t->n_lives == 1 && code > 0;
    return t->n_lives < PROCESS_CLUSTER_LIVES && process_cluster_code(&h->tasks[0]) != 0 &&
           (was_made_to_fail || (code >= 128 && code != PREEMPTED));
}

bool process_cluster_turn(process_cluster *h)
{
    int n_running = 0;
    for (int i = 0; i < h->n; i++) {
        process_cluster_task *t = &h->tasks[i];
        process_cluster_life *l = last_life(t);
        if (!l->is_over && waitpid(l->pid, &l->wait_status, WNOHANG) == l->pid)
            l->is_over = true;
    }
    for (int i = 0; i < h->n; i++) { /* whether the chief is done is known by now */
        if (last_life(&h->tasks[i])->is_over && shall_live_again(h, &h->tasks[i]))
            start_life(h, i);
        n_running += !last_life(&h->tasks[i])->is_over;
    }
    if (n_running)
        nap();
    return n_running > 0;
}

static void kill_all(process_cluster *h)
{
    for (int i = 0; i < h->n; i++) {
        process_cluster_life *l = last_life(&h->tasks[i]);
        if (l->is_over)
            continue;
        kill(l->pid, SIGKILL);
        waitpid(l->pid, &l->wait_status, 0);
        l->is_over = true;
    }
}

bool process_cluster_end(process_cluster *h, int limit_s)
{
    int64_t until = clock_us() + (int64_t)limit_s * SECOND_US;
    bool is_done = false;
    while (process_cluster_turn(h)) {
        if (!is_done && process_cluster_code(&h->tasks[0]) == 0) {
            is_done = true;
            until = clock_us() + (int64_t)LEAVE_S * SECOND_US;
        }
        if (clock_us() < until)
            continue;
        kill_all(h);
        return false;
    }
    return true;
}

void process_cluster_fini(process_cluster *h)
{
    kill_all(h);
    roster_close(&h->roster);
}

process_cluster_task *process_cluster_task_of(process_cluster *h, const char *name)
{
    for (int i = 0; i < h->n; i++)
        if (strcmp(h->tasks[i].name, name) == 0)
            return &h->tasks[i];
    give_up("no such task");
}

void process_cluster_signal(process_cluster *h, const char *name, int signal)
{
    const process_cluster_life *l = last_life(process_cluster_task_of(h, name));
    if (!l->is_over)
        kill(l->pid, signal);
}

/* --- what they say and leave behind --- */

static int count_in(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s.log", dir, name);
    buf all = BUF_INIT;
    int n = 0;
    if (fs_read(path, 64 << 20, &all, NULL) == OK && all.data)
        for (const char *at = all.data; (at = strstr(at, text)); at++)
            n++;
    buf_fini(&all);
    free(path);
    return n;
}

int process_cluster_says(const process_cluster *h, const char *name, const char *text)
{
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (!name || strcmp(name, h->tasks[i].name) == 0)
            n += count_in(h->o.dir, h->tasks[i].name, text);
    return n;
}

void process_cluster_print_logs(const process_cluster *h, int lines)
{
    for (int i = 0; i < h->n; i++) {
        printf("--- %s, lives %d, code %d\n", h->tasks[i].name, h->tasks[i].n_lives,
               process_cluster_code(&h->tasks[i]));
        process_cluster_print_log(h->o.dir, h->tasks[i].name, lines);
    }
}

void process_cluster_print_log(const char *dir, const char *name, int lines)
{
    char *command = xasprintf("tail -n %d '%s/%s.log'", lines, dir, name);
    fflush(NULL);
    if (system(command) != 0)
        printf("(no log)\n");
    free(command);
}

bool process_cluster_result_of(const char *dir, const char *job, process_cluster_result *ret)
{
    char *path = xasprintf("%s/%s/summary.json", dir, job);
    json_t *all = NULL;
    bool found = json_read_file(path, &all, NULL) == OK;
    const char *sha = found ? json_string_value(json_object_get(all, "params_sha256")) : NULL;
    *ret = (process_cluster_result){.batches = -1};
    if (sha) {
        snprintf(ret->sha256, sizeof ret->sha256, "%s", sha);
        ret->batches = json_integer_value(json_object_get(all, "batches_applied"));
    }
    json_decref(all);
    free(path);
    return sha != NULL;
}

process_cluster_result process_cluster_undisturbed(const char *dir, const char *overrides, int limit_s)
{
    enum { LINES = 40 };
    static const char name[] = "undisturbed";
    char *job = xasprintf("%s/%s", dir, name);
    const char *const arguments[] = {"-s", job, "--force", "-o", overrides, NULL};
    process_cluster_result result;
    int code = process_cluster_train(dir, name, arguments, limit_s);
    if (code != 0 || !process_cluster_result_of(dir, name, &result)) {
        printf("FAILED: the undisturbed job with -o '%s' ended with %d\n", overrides, code);
        process_cluster_print_log(dir, name, LINES);
        exit(1);
    }
    free(job);
    return result;
}
