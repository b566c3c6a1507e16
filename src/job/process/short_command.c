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

enum { OUTPUT_MOST = 4 << 20 }; /* of `output`; more is read and dropped */
enum { PIECE_BYTES = 64 << 10 };
enum { NOT_THERE = 127 };       /* exit code of one that could not be started */

/* `said` is for its standard error, and for its standard output if `taken` is -1. */
_Noreturn static void become(const short_command *e, int said, int taken)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int input = open(e->input ? e->input : "/dev/null", O_RDONLY);
    if (input < 0) {
        dprintf(said, "open '%s': %s\n", e->input, strerror(errno));
        _exit(NOT_THERE);
    }
    dup2(input, STDIN_FILENO);
    dup2(taken < 0 ? said : taken, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    execvp(e->argv[0], e->argv);
    dprintf(said, "start %s: %s\n", e->argv[0], strerror(errno));
    _exit(NOT_THERE);
}

static void close_all(int fds[SHORT_COMMAND_PIPES])
{
    for (int i = 0; i < SHORT_COMMAND_PIPES; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static status short_command_start(short_command *e, error *err)
{
    int ours[SHORT_COMMAND_PIPES] = {-1, -1}, theirs[SHORT_COMMAND_PIPES] = {-1, -1};
    status st = OK;
    for (int i = 0; st == OK && i < (e->take ? 2 : 1); i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            st = FAIL(err, E_IO, "open a pipe: %s", strerror(errno));
        else
            ours[i] = ends[0], theirs[i] = ends[1];
    }
    e->pid = st == OK ? fork() : -1;
    if (e->pid == 0)
        become(e, theirs[0], theirs[1]);
    if (st == OK && e->pid < 0)
        st = FAIL(err, E_IO, "start %s: %s", e->argv[0], strerror(errno));
    close_all(theirs);
    if (st != OK)
        close_all(ours);
    memcpy(e->fds, ours, sizeof ours);
    return st;
}

static bool is_running(const short_command *e)
{
    return e->fds[0] >= 0 || e->fds[1] >= 0;
}

static bool take_piece(short_command *e, int i, const char *piece, size_t n)
{
    if (i)
        return e->take(e->user, piece, n);
    if (e->output.size < OUTPUT_MOST)
        buf_add(&e->output, piece, n);
    return true;
}

/* At the end of all that it says it is waited for. */
static void short_command_listen_to(short_command *e, int i)
{
    char piece[PIECE_BYTES];
    ssize_t n = read(e->fds[i], piece, sizeof piece);
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0 && take_piece(e, i, piece, (size_t)n))
        return;
    if (n > 0)
        kill(e->pid, SIGKILL);
    close(e->fds[i]);
    e->fds[i] = -1;
    if (is_running(e))
        return;
    int ended = 0;
    waitpid(e->pid, &ended, 0);
    e->code = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}

static void kill_rest(short_command *list, int n)
{
    for (int i = 0; i < n; i++) {
        if (is_running(&list[i]))
            kill(list[i].pid, SIGKILL);
        for (int k = 0; k < SHORT_COMMAND_PIPES; k++)
            while (list[i].fds[k] >= 0)
                short_command_listen_to(&list[i], k);
    }
}

static void listen_to_all(short_command *list, int n, const struct pollfd *polls, int *running)
{
    for (int i = 0; i < n; i++) {
        if (!is_running(&list[i]))
            continue;
        for (int k = 0; k < SHORT_COMMAND_PIPES; k++)
            if (list[i].fds[k] >= 0 && polls[i * SHORT_COMMAND_PIPES + k].revents)
                short_command_listen_to(&list[i], k);
        if (!is_running(&list[i]))
            --*running;
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
        for (int k = 0; k < SHORT_COMMAND_PIPES; k++)
            polls[i * SHORT_COMMAND_PIPES + k] = (struct pollfd){.fd = list[i].fds[k], .events = POLLIN};
    if (*running && poll(polls, (nfds_t)n * SHORT_COMMAND_PIPES, -1) < 0 && errno != EINTR)
        return FAIL(err, E_IO, "wait for commands: %s", strerror(errno));
    listen_to_all(list, n, polls, running);
    return OK;
}

status short_commands_run(short_command *list, int n, int at_once, error *err)
{
    struct pollfd *polls = xcalloc((size_t)n * SHORT_COMMAND_PIPES, sizeof *polls);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < SHORT_COMMAND_PIPES; k++)
            list[i].fds[k] = -1;
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

status short_command_stream(const char *const *argv, const char *input, short_command_take *take, void *user,
                            char **ret_words, int *ret_code, error *err)
{
    short_command c = {.argv = (char *const *)(uintptr_t)argv, .input = input, .take = take, .user = user};
    status st = short_commands_run(&c, 1, 1, err);
    if (st != OK) {
        buf_fini(&c.output);
        return st;
    }
    *ret_words = detach_trimmed(&c.output);
    *ret_code = c.code;
    return OK;
}
