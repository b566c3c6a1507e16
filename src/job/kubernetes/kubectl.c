#include "job/kubernetes/kubectl.h"

#include "common/base/fs.h"
#include "job/process/sent_file.h"
#include "job/process/short_command.h"
#include "job/ssh/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 24 };

/* --- one command --- */

static void make_line(const kubernetes_options *o, const char *const *words, const char *ret[WORDS + 4])
{
    int n = 0;
    ret[n++] = "kubectl";
    if (o->namespace) {
        ret[n++] = "--namespace";
        ret[n++] = o->namespace;
    }
    while (*words)
        ret[n++] = *words++;
    ret[n] = NULL;
}

/* `words` end with NULL; *ret_said as short_command_ask has it. */
static status call(const kubernetes_options *o, const char *const *words, char **ret_said, error *err)
{
    const char *argv[WORDS + 4];
    make_line(o, words, argv);
    return short_command_ask(argv, ret_said, err);
}

/* A file of memory with that text; `ret_path` is for others to read it by. */
static int hold(const char *text, char ret_path[64], error *err)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0)
        return FAIL(err, E_IO, "hold a text in memory: %s", strerror(errno)), -1;
    snprintf(ret_path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fs_write_all(fd, text, strlen(text), "a text in memory", err) == OK)
        return fd;
    close(fd);
    return -1;
}

const char *kubectl_selector(const kubernetes_options *o, arena *memory)
{
    return arena_printf(memory, "%s=%s", KUBERNETES_INSTANCE, o->name);
}

const char *kubectl_kinds(const kubernetes_options *o)
{
    return o->plain_jobs ? "jobs,services,configmaps,secrets" : "tfjobs,configmaps,secrets";
}

static status call_selected(const kubernetes_options *o, const char *verb, const char *kinds,
                            const char *const *more, char **ret_said, error *err)
{
    arena *memory = arena_create();
    const char *words[WORDS] = {verb, kinds, "--selector", kubectl_selector(o, memory)};
    for (int n = 4; *more; n++)
        words[n] = *more++;
    status st = call(o, words, ret_said, err);
    arena_destroy(&memory);
    return st;
}

/* --- making and removing --- */

/* From memory: it holds the key. */
status kubectl_apply(const kubernetes_options *o, const char *manifest, error *err)
{
    char path[64];
    int fd = hold(manifest, path, err);
    if (fd < 0)
        return E_IO;
    const char *words[] = {"apply", "--filename", path, NULL};
    status st = call(o, words, NULL, err);
    close(fd);
    return st;
}

status kubectl_delete(const kubernetes_options *o, bool waits, error *err)
{
    const char *more[] = {"--ignore-not-found", "--cascade=foreground",
                          waits ? "--wait=true" : "--wait=false", NULL};
    return call_selected(o, "delete", kubectl_kinds(o), more, NULL, err);
}

status kubectl_kill_pods(const kubernetes_options *o, error *err)
{
    static const char *const more[] = {"--ignore-not-found", "--grace-period=0", "--force", NULL};
    return call_selected(o, "delete", "pods", more, NULL, err);
}

/* --- one pod --- */

status kubectl_await_pod(const kubernetes_options *o, const char *name, error *err)
{
    const char *words[] = {"wait", "--for=condition=Ready", "--timeout=300s", "pod", name, NULL};
    return call(o, words, NULL, err);
}

status kubectl_remove_pod(const kubernetes_options *o, const char *name, error *err)
{
    const char *words[] = {"delete", "pod", name, "--ignore-not-found", "--wait=true", NULL};
    return call(o, words, NULL, err);
}

status kubectl_fetch(const kubernetes_options *o, const char *name, const char *file, int to, error *err)
{
    const char *words[] = {"exec", "--stdin", name, "--", "tequio", "task", NULL}, *argv[WORDS + 4];
    char input[64], *line = remote_file_line(file);
    int fd = hold(line, input, err), code = 0;
    free(line);
    if (fd < 0)
        return E_IO;
    make_line(o, words, argv);
    const sent_file_sender from = {.argv = argv, .input = input, .who = "kubectl exec", .where = "in the claim"};
    status st = sent_file_receive(&from, file, to, &code, err);
    close(fd);
    return st;
}

/* --- looking --- */

/* A line a fact, its words apart by tabs:  @pod NAME UID PHASE EXIT-CODE WHY-IT-WAITS,  @job NAME,
 * @is NAME CONDITION MESSAGE. */
static const char template[] =
    "go-template={{range .items}}{{$name := .metadata.name}}{{if eq .kind \"Pod\"}}"
    "@pod\t{{$name}}\t{{.metadata.uid}}\t{{with .status}}{{.phase}}\t"
    "{{range .containerStatuses}}{{with .state}}{{with .terminated}}"
    "{{.exitCode}}{{end}}{{end}}{{end}}\t"
    "{{range .containerStatuses}}{{with .state}}{{with .waiting}}"
    "{{.reason}}{{with .message}}: {{.}}{{end}}"
    "{{end}}{{end}}{{end}}"
    "{{range .conditions}}{{if .reason}}{{if eq .reason \"Unschedulable\"}}"
    "{{.message}}{{end}}{{end}}{{end}}"
    "{{end}}\n"
    "{{else}}@job\t{{$name}}\n{{with .status}}{{range .conditions}}{{if eq .status \"True\"}}"
    "@is\t{{$name}}\t{{.type}}\t{{with .message}}{{.}}{{end}}\n{{end}}{{end}}{{end}}{{end}}{{end}}";

enum { FIELDS = 6 };

/* Cuts a line at its tabs; what is missing is "". */
static void cut(char *line, const char *ret[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) {
        char *tab = strchr(line, '\t');
        ret[i] = line;
        line += strlen(line);
        if (tab) {
            *tab = '\0';
            line = tab + 1;
        }
    }
}

/* "seed-worker-3", or "seed-worker-3-x7k2p" of a Job, is worker.3. */
static bool task_of(const kubernetes_options *o, const char *name, task *ret)
{
    char word[KUBERNETES_NAME];
    int index = 0;
    size_t n = strlen(o->name);
    bool is_ours =
        strncmp(name, o->name, n) == 0 && sscanf(name + n, "-%63[a-z]-%d", word, &index) == 2;
    if (!is_ours || !role_of(word, &ret->role))
        return false;
    ret->index = index;
    return true;
}

static void take_pod(const kubernetes_options *o, const char *const *f, kubectl_view *v)
{
    kubectl_pod p = {
        .name = f[1], .uid = f[2], .exit_code = *f[4] ? atoi(f[4]) : -1, .waits = f[5]};
    p.has_begun = strcmp(f[3], "Pending") != 0 && strcmp(f[3], "Unknown") != 0;
    if (task_of(o, p.name, &p.task))
        v->pods[v->n_pods++] = p;
}

static void take_condition(const kubernetes_options *o, const char *const *f, kubectl_view *v)
{
    char master[2 * KUBERNETES_NAME];
    snprintf(master, sizeof master, "%s-%s", o->name, kubernetes_role(o, ROLE_MASTER));
    if (strcmp(f[2], "Succeeded") == 0 ||
        (strcmp(f[2], "Complete") == 0 && strcmp(f[1], master) == 0))
        v->is_done = true;
    if (strcmp(f[2], "Failed") == 0)
        v->failure = *f[3] ? f[3] : "it has failed";
}

static void read_view(const kubernetes_options *o, char *said, arena *memory, kubectl_view *ret)
{
    kubectl_view v = {.pods = arena_alloc(memory, (strlen(said) / 4 + 1) * sizeof *v.pods)};
    for (char *line = strtok_r(said, "\n", &said); line; line = strtok_r(NULL, "\n", &said)) {
        const char *f[FIELDS];
        cut(line, f);
        if (strcmp(f[0], "@pod") == 0)
            take_pod(o, f, &v);
        v.is_there = v.is_there || strcmp(f[0], "@job") == 0;
        if (strcmp(f[0], "@is") == 0)
            take_condition(o, f, &v);
    }
    *ret = v;
}

status kubectl_look(const kubernetes_options *o, arena *memory, kubectl_view *ret, error *err)
{
    const char *more[] = {"--request-timeout=30s", "--output", template, NULL};
    char *said = NULL;
    TRY(call_selected(o, "get", o->plain_jobs ? "jobs,pods" : "tfjobs,pods", more, &said, err));
    read_view(o, arena_strdup(memory, said), memory, ret);
    free(said);
    return OK;
}

/* --- looking from elsewhere --- */

/* A line a pod, its words apart by tabs: @pod NAME PHASE ARGUMENT..., each argument in Go's quotes. */
static const char found_template[] =
    "go-template={{range .items}}@pod\t{{.metadata.name}}\t{{with .status}}{{.phase}}{{end}}"
    "{{range .spec.containers}}{{range .args}}\t{{printf \"%q\" .}}{{end}}{{end}}\n{{end}}";

/* The argument behind "--job-dir"; NULL: there is none that stands for itself. */
static const char *job_dir_among(char *arguments)
{
    bool is_next = false;
    for (char *word = strtok_r(arguments, "\t", &arguments); word; word = strtok_r(NULL, "\t", &arguments)) {
        size_t n = strlen(word);
        if (is_next && n > 2 && !strchr(word, '\\')) {
            word[n - 1] = '\0';
            return word + 1;
        }
        is_next = strcmp(word, "\"--job-dir\"") == 0;
    }
    return NULL;
}

static bool read_found(const kubernetes_options *o, char *line, kubectl_found *ret)
{
    char *name = NULL, *phase = NULL, *word = strtok_r(line, "\t", &line);
    if (!word || strcmp(word, "@pod") != 0)
        return false;
    name = strtok_r(NULL, "\t", &line);
    phase = name ? strtok_r(NULL, "\t", &line) : NULL;
    *ret = (kubectl_found){.name = name, .phase = phase};
    if (!phase || !task_of(o, name, &ret->task))
        return false;
    ret->job_dir = job_dir_among(line);
    return true;
}

status kubectl_find(const kubernetes_options *o, arena *memory, kubectl_found **ret, int *ret_n, error *err)
{
    const char *more[] = {"--request-timeout=30s", "--output", found_template, NULL};
    char *said = NULL;
    int n = 0;
    TRY(call_selected(o, "get", "pods", more, &said, err));
    char *text = arena_strdup(memory, said);
    kubectl_found *list = arena_alloc(memory, (strlen(said) / 4 + 1) * sizeof *list);
    free(said);
    for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text))
        n += read_found(o, line, &list[n]);
    *ret = list;
    *ret_n = n;
    return OK;
}
