#include "job/process/short_command.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MOST = 4 << 20 }; /* what a command says; more is read and dropped */
enum { NOT_THERE = 127 };       /* exit code of one that could not be started */

_Noreturn static void become(const short_command *e, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int input = open(e->input ? e->input : "/dev/null", O_RDONLY);
    if (input < 0) {
        dprintf(output, "open '%s': %s\n", e->input, strerror(errno));
        _exit(NOT_THERE);
    }
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(e->argv[0], e->argv);
    dprintf(output, "start %s: %s\n", e->argv[0], strerror(errno));
    _exit(NOT_THERE);
}

static status short_command_start(short_command *e, error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return FAIL(err, E_IO, "open a pipe: %s", strerror(errno));
    e->pid = fork();
    if (e->pid == 0)
        become(e, ends[1]);
    close(ends[1]);
    if (e->pid < 0) {
        close(ends[0]);
        return FAIL(err, E_IO, "start %s: %s", e->argv[0], strerror(errno));
    }
    e->fd = ends[0];
    return OK;
}

/* False at the end of what it says: then it is waited for. */
static bool short_command_listen_to(short_command *e)
{
    char piece[4096];
    ssize_t n = read(e->fd, piece, sizeof piece);
    if (n > 0 && e->output.size < OUTPUT_MOST)
        buf_add(&e->output, piece, (size_t)n);
    if (n > 0 || (n < 0 && errno == EINTR))
        return true;
    close(e->fd);
    e->fd = -1;
    int ended = 0;
    waitpid(e->pid, &ended, 0);
    e->code = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
    return false;
}

static void kill_rest(short_command *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i].fd >= 0) {
            kill(list[i].pid, SIGKILL);
            while (short_command_listen_to(&list[i]))
                ;
        }
}

/* Starts what there is room for, then waits for somebody to say something. */
static status short_command_turn(short_command *list, int n, int at_once, int *next, int *running,
                                 struct pollfd *polls, error *err)
{
    for (; *next < n && *running < at_once; ++*next) {
        if (!list[*next].argv)
            continue;
        TRY(short_command_start(&list[*next], err));
        ++*running;
    }
    for (int i = 0; i < n; i++)
        polls[i] = (struct pollfd){.fd = list[i].fd, .events = POLLIN};
    if (*running && poll(polls, (nfds_t)n, -1) < 0 && errno != EINTR)
        return FAIL(err, E_IO, "wait for commands: %s", strerror(errno));
    for (int i = 0; i < n; i++)
        if (list[i].fd >= 0 && polls[i].revents && !short_command_listen_to(&list[i]))
            --*running;
    return OK;
}

status short_commands_run(short_command *list, int n, int at_once, error *err)
{
    struct pollfd *polls = xcalloc((size_t)n, sizeof *polls);
    for (int i = 0; i < n; i++) {
        list[i].fd = -1;
        list[i].output = (buf)BUF_INIT;
    }
    int next = 0, running = 0;
    status st = OK;
    while (st == OK && (next < n || running))
        st = short_command_turn(list, n, at_once, &next, &running, polls, err);
    kill_rest(list, n);
    free(polls);
    return st;
}

static char *detach_trimmed(buf *output)
{
    size_t first = output->size ? strspn(output->data, "\n") : 0;
    while (output->size > first && output->data[output->size - 1] == '\n')
        output->size--;
    char *said = xstrndup(output->size ? output->data + first : "", output->size - first);
    buf_fini(output);
    return said;
}

status short_command_ask(const char *const *argv, char **ret_said, error *err)
{
    short_command e = {.argv = (char *const *)(uintptr_t)argv};
    TRY(short_commands_run(&e, 1, 1, err));
    char *said = detach_trimmed(&e.output);
    status st = OK;
    if (e.code)
        st = FAIL(err, e.code == NOT_THERE ? E_IO : E_FAIL, "%s: %s", argv[0],
                  *said ? said : "it failed without a word");
    if (st == OK && ret_said)
        *ret_said = said;
    else
        free(said);
    return st;
}

status short_command_read(const char *const *argv, const char *input, const char *who, buf *ret_said, int *ret_code,
                          error *err)
{
    short_command c = {.argv = (char *const *)(uintptr_t)argv, .input = input};
    status st = short_commands_run(&c, 1, 1, err);
    *ret_code = c.code;
    if (st == OK && c.code)
        st = FAIL(err, E_FAIL, "%s: %.*s", who, (int)c.output.size, c.output.data ? c.output.data : "");
    if (st == OK)
        *ret_said = c.output;
    else
        buf_fini(&c.output);
    return st;
}
