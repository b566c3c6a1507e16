#include "job/ssh/remote.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "job/process/child.h"
#include "job/process/sent_file.h"
#include "job/process/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the launcher's side --- */

static json_t *list_of(const char *const *texts)
{
    json_t *list = json_array();
    for (int i = 0; texts && texts[i]; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

char *remote_line(const remote_task *t)
{
    json_t *all = json_pack("{s:o, s:o, s:s}", "arguments", list_of(t->arguments), "environment",
                            list_of((const char *const *)t->environment), "folder", t->folder);
    BUG_ON(!all);
    if (t->config)
        json_object_set_new(all, "config", json_string(t->config));
    char *text = json_text(all);
    char *line = xasprintf("%s\n", text);
    json_decref(all);
    free(text);
    return line;
}

char *remote_file_line(const char *path)
{
    json_t *all = json_pack("{s:s}", "file", path);
    char *text = json_text(all), *line = xasprintf("%s\n", text);
    json_decref(all);
    free(text);
    return line;
}

/* --- the host's side --- */

enum { LINE_MOST = 64 << 20 };

typedef struct serving {
    buf input;
    pid_t pid;
    signals signals;
    error *err;
} serving;

/* One more piece of the input; *ret_end at its end. */
static status read_some(serving *s, bool *ret_end)
{
    char piece[65536];
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && errno != EINTR)
        return FAIL(s->err, E_IO, "read what the launcher says: %s", strerror(errno));
    *ret_end = n == 0;
    if (n > 0)
        buf_add(&s->input, piece, (size_t)n);
    if (s->input.size > LINE_MOST)
        return FAIL(s->err, E_PROTOCOL, "the launcher's line is longer than %d bytes", LINE_MOST);
    return OK;
}

/* Cuts the first line out of the input; NULL if none is whole. The caller frees it. */
static char *cut_line(buf *input)
{
    char *end = input->size ? memchr(input->data, '\n', input->size) : NULL;
    if (!end)
        return NULL;
    size_t n = (size_t)(end - input->data);
    char *line = xstrndup(input->data, n);
    input->size -= n + 1;
    memmove(input->data, end + 1, input->size);
    return line;
}

static status read_task(serving *s, json_t **ret)
{
    char *line = NULL;
    for (bool end = false; !(line = cut_line(&s->input));) {
        TRY(read_some(s, &end));
        if (end)
            return FAIL(s->err, E_PROTOCOL,
                        "this is for launchers (`tequio submit --target ssh`): they say on standard "
                        "input what to run");
    }
    status st = json_parse(line, strlen(line), "the launcher's line", E_PROTOCOL, ret, s->err);
    free(line);
    return st;
}

static bool is_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return json_is_array(list) && json_array_size(list) > 0;
}

/* A file of memory that the task inherits: nothing of it stays on the host. */
static status place_config(const char *text, char *ret_path, size_t bytes, error *err)
{
    int fd = memfd_create("config.json", 0);
    size_t n = strlen(text), at = 0;
    while (fd >= 0 && at < n) {
        ssize_t written = write(fd, text + at, n - at);
        if (written < 0)
            return FAIL(err, E_IO, "keep the configuration: %s", strerror(errno));
        at += (size_t)written;
    }
    if (fd < 0)
        return FAIL(err, E_IO, "keep the configuration: %s", strerror(errno));
    snprintf(ret_path, bytes, "/proc/self/fd/%d", fd);
    return OK;
}

static char **command_line(const json_t *arguments, const char *config)
{
    size_t n = json_array_size(arguments);
    char **argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = xstrdup("tequio");
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(arguments, i));
        argv[1 + i] = xstrdup(strcmp(text, REMOTE_CONFIG) == 0 ? config : text);
    }
    return argv;
}

static void take_environment(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        char *entry = xstrdup(json_string_value(json_array_get(list, i)));
        char *equals = strchr(entry, '=');
        if (equals) {
            *equals = '\0';
            setenv(entry, equals + 1, 1);
        }
        free(entry);
    }
}

static void enter_folder(const char *folder)
{
    const char *home = getenv("HOME");
    if ((!folder || chdir(folder)) && home && chdir(home))
        return; /* where the shell has put us, then */
}

_Noreturn static void become(char *const *argv, pid_t server)
{
    child_stand_apart(server);
    execv("/proc/self/exe", argv);
    _exit(127);
}

static status remote_start(serving *s, const json_t *t)
{
    const json_t *arguments = json_object_get(t, "arguments");
    const char *config = json_string_value(json_object_get(t, "config"));
    char path[64] = "";
    if (!is_texts(arguments))
        return FAIL(s->err, E_PROTOCOL, "the launcher's line names no arguments");
    if (config)
        TRY(place_config(config, path, sizeof path, s->err));
    if (is_texts(json_object_get(t, "environment")))
        take_environment(json_object_get(t, "environment"));
    enter_folder(json_string_value(json_object_get(t, "folder")));
    char **argv = command_line(arguments, path);
    pid_t server = getpid();
    s->pid = fork();
    if (s->pid == 0)
        become(argv, server);
    for (char **a = argv; *a; a++)
        free(*a);
    free(argv);
    if (s->pid < 0)
        return FAIL(s->err, E_IO, "start the task: %s", strerror(errno));
    setpgid(s->pid, s->pid);
    return OK;
}

/* What a task hears alone, its children would die of. */
static void pass(const serving *s, int number)
{
    kill(number == SIGUSR1 ? s->pid : -s->pid, number);
}

/* "signal 15" */
static status obey(serving *s, const char *line)
{
    static const char word[] = "signal ";
    char *end = NULL;
    long number = 0;
    if (strncmp(line, word, sizeof word - 1) == 0)
        number = strtol(line + sizeof word - 1, &end, 10);
    if (!end || *end || number < 1 || number >= NSIG)
        return FAIL(s->err, E_PROTOCOL, "the launcher says '%s', which means nothing here", line);
    pass(s, (int)number);
    return OK;
}

static status hear(serving *s)
{
    bool end = false;
    TRY(read_some(s, &end));
    if (end)
        kill(-s->pid, SIGKILL);
    status st = OK;
    for (char *line; st == OK && (line = cut_line(&s->input)); free(line))
        st = obey(s, line);
    return end ? E_LOST : st;
}

static void pass_signals(serving *s)
{
    for (int number; signals_next(&s->signals, &number);)
        if (number != SIGCHLD)
            pass(s, number);
}

/* Until the task has ended; *ret is as of waitpid. */
static status remote_attend(serving *s, int *ret)
{
    bool hears = true;
    while (waitpid(s->pid, ret, WNOHANG) != s->pid) {
        struct pollfd polls[] = {{.fd = s->signals.fd, .events = POLLIN},
                                 {.fd = hears ? STDIN_FILENO : -1, .events = POLLIN}};
        if (poll(polls, 2, -1) < 0 && errno != EINTR)
            return FAIL(s->err, E_IO, "wait for the task: %s", strerror(errno));
        pass_signals(s);
        if (!polls[1].revents)
            continue;
        status st = hear(s);
        hears = st == OK;
        if (st != OK && st != E_LOST)
            return st;
    }
    kill(-s->pid, SIGKILL); /* what it may have left behind */
    return OK;
}

/* As the task ended. */
static int end_as(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    return 128 + WTERMSIG(wait_status); /* a shell would say the same */
}

int remote_serve(error *err)
{
    serving s = {.signals = SIGNALS_INIT, .err = err};
    json_t *t = NULL;
    int ended = 0;
    status st = read_task(&s, &t);
    const char *file = json_string_value(json_object_get(t, "file"));
    if (st == OK && file) {
        st = sent_file_write(file, err);
        json_decref(t);
        buf_fini(&s.input);
        return status_exit_code(st);
    }
    if (st == OK)
        st = signals_open(true, &s.signals, err);
    if (st == OK)
        st = remote_start(&s, t);
    if (st == OK)
        st = remote_attend(&s, &ended);
    if (st != OK && s.pid > 0)
        kill(-s.pid, SIGKILL);
    json_decref(t);
    signals_close(&s.signals);
    buf_fini(&s.input);
    return st == OK ? end_as(ended) : status_exit_code(st);
}
