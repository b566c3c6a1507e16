#include "job/process/exit_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int outlived[] = {SIGINT, SIGTERM, SIGHUP};

static void set_signals(void (*handler)(int))
{
    for (size_t i = 0; i < sizeof outlived / sizeof outlived[0]; i++)
        signal(outlived[i], handler);
}

/* Holds nothing of ours that somebody else may wait to see closed. */
static void stand_apart(const char *log)
{
    int input = open("/dev/null", O_RDONLY);
    int output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    setsid();
    set_signals(SIG_IGN);
    dup2(input, STDIN_FILENO);
    dup2(output < 0 ? input : output, STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
}

_Noreturn static void keep(const char *const *argv, const char *log, int fd)
{
    char nothing;
    stand_apart(log);
    while (read(fd, &nothing, 1) < 0 && errno == EINTR)
        continue;
    set_signals(SIG_DFL);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    dprintf(STDERR_FILENO, "start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

status exit_hook_set(const char *const *argv, const char *log, exit_hook *ret, error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return FAIL(err, E_IO, "open a pipe: %s", strerror(errno));
    pid_t keeper = fork();
    if (keeper == 0) {
        close(ends[1]);
        keep(argv, log, ends[0]);
    }
    close(ends[0]);
    if (keeper < 0) {
        close(ends[1]);
        return FAIL(err, E_IO, "start a process: %s", strerror(errno));
    }
    *ret = (exit_hook){.keeper = keeper, .fd = ends[1]};
    return OK;
}

int exit_hook_run(exit_hook *w)
{
    int ended = 0;
    if (!w->keeper)
        return 0;
    close(w->fd);
    while (waitpid(w->keeper, &ended, 0) < 0 && errno == EINTR)
        continue;
    *w = (exit_hook){.keeper = 0};
    return WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}
