#include "job/process/child.h"

#include "common/base/alloc.h"
#include "job/process/log_mux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void child_stand_apart(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child, between fork and exec: only what POSIX allows there. */
_Noreturn static void become(const child_start *start, int input, const int *pipes, pid_t launcher)
{
    child_stand_apart(launcher);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR1, SIG_IGN); /* until it handles it */
    dup2(input, STDIN_FILENO);
    dup2(pipes[0], STDOUT_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    if (start->listen_fd >= 0)
        fcntl(start->listen_fd, F_SETFD, 0);
    if (start->metrics_fd >= 0)
        fcntl(start->metrics_fd, F_SETFD, 0);
    const char *program = start->program ? start->program : "/proc/self/exe";
    execvpe(program, start->argv, start->envp);
    const char *hint = start->program || errno != ENOENT ? "" : "; is /proc mounted?";
    dprintf(STDERR_FILENO, "tequio: cannot start %s: %s%s\n", program, strerror(errno), hint);
    _exit(127);
}

/* What the child reads, as *ret_read: nothing, or what is written into c->input_fd. */
static status open_input(child *c, const child_start *start, int *ret_read, error *err)
{
    int ends[2] = {open("/dev/null", O_RDONLY | O_CLOEXEC), -1};
    if (start->input) {
        close(ends[0]);
        if (pipe2(ends, O_CLOEXEC))
            return FAIL(err, E_IO, "open a pipe for %s: %s", c->name, strerror(errno));
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        buf_adds(&c->input, start->input);
    }
    *ret_read = ends[0];
    c->input_fd = ends[1];
    return OK;
}

static status open_pipes(child *c, int *ret_write, error *err)
{
    for (int i = 0; i < CHILD_STREAMS; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return FAIL(err, E_IO, "open a pipe for %s: %s", c->name, strerror(errno));
        c->streams[i].fd = ends[0];
        ret_write[i] = ends[1];
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    return OK;
}

status child_run(child *ret, const child_start *start, error *err)
{
    int pipes[CHILD_STREAMS] = {-1, -1}, input = -1;
    status st = OK;
    *ret = (child){.task = start->task, .streams = {{.fd = -1}, {.fd = -1}}, .input_fd = -1};
    task_name(start->task, ret->name);
    ret->log = fopen(start->log_path, "ae");
    if (!ret->log)
        log_mux_say("%s: what it says is not kept: open '%s': %s", ret->name, start->log_path,
                   strerror(errno));
    TRY_OUT(st, open_input(ret, start, &input, err));
    TRY_OUT(st, open_pipes(ret, pipes, err));
    pid_t launcher = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(start, input, pipes, launcher);
    if (pid < 0) {
        st = FAIL(err, E_IO, "start a process for %s: %s", ret->name, strerror(errno));
        goto out;
    }
    setpgid(pid, pid); /* parent or child, whichever comes first */
    ret->pid = pid;
    child_write(ret);
out:
    if (input >= 0)
        close(input);
    for (int i = 0; i < CHILD_STREAMS; i++)
        if (pipes[i] >= 0)
            close(pipes[i]);
    if (st != OK)
        child_fini(ret);
    return st;
}

static void close_input(child *c)
{
    if (c->input_fd >= 0)
        close(c->input_fd);
    c->input_fd = -1;
    buf_fini(&c->input);
}

void child_fini(child *c)
{
    close_input(c);
    for (int i = 0; i < CHILD_STREAMS; i++) {
        if (c->streams[i].fd >= 0)
            close(c->streams[i].fd);
        c->streams[i].fd = -1;
        buf_fini(&c->streams[i].line);
    }
    if (c->log)
        fclose(c->log);
    c->log = NULL;
    for (size_t i = 0; i < CHILD_LAST_LINES; i++) {
        free(c->last[i]);
        c->last[i] = NULL;
    }
    c->n_lines = 0;
}

/* A disk that takes no log is no reason to end. */
static void log_line(child *c, const char *line)
{
    bool fails = c->log && (fprintf(c->log, "%s\n", line) < 0 || fflush(c->log) != 0);
    if (fails && !c->log_fails)
        log_mux_say("%s: its log lacks lines: %s", c->name, strerror(errno));
    c->log_fails = fails;
}

static void keep_line(child *c, const char *line)
{
    char **place = &c->last[c->n_lines++ % CHILD_LAST_LINES];
    free(*place);
    *place = xstrdup(line);
    log_line(c, line);
}

static void end_line(child *c, int stream, bool is_bar, child_line *tell, void *user)
{
    buf *line = &c->streams[stream].line;
    buf_reserve(line, 1);
    line->data[line->size] = 0;
    if (!is_bar)
        keep_line(c, line->data);
    tell(user, c, stream, line->data, is_bar);
    buf_clear(line);
}

static void split(child *c, int stream, const char *data, size_t bytes, child_line *tell,
                  void *user)
{
    buf *line = &c->streams[stream].line;
    for (size_t i = 0; i < bytes; i++) {
        bool is_bar = data[i] == '\r' && line->size > 0;
        if (data[i] == '\n' || is_bar || line->size == CHILD_LINE_MAX)
            end_line(c, stream, is_bar, tell, user);
        if (data[i] != '\n' && data[i] != '\r')
            buf_add(line, data + i, 1);
    }
}

bool child_read(child *c, int stream, child_line *tell, void *user)
{
    child_stream *s = &c->streams[stream];
    char data[16384];
    if (s->fd < 0)
        return false;
    ssize_t n = read(s->fd, data, sizeof data);
    if (n > 0)
        split(c, stream, data, (size_t)n, tell, user);
    if (n > 0 || (n < 0 && errno == EINTR))
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (s->line.size > 0)
        end_line(c, stream, false, tell, user);
    close(s->fd);
    s->fd = -1;
    return false;
}

void child_write(child *c)
{
    while (c->input_fd >= 0 && c->input.size) {
        ssize_t n = write(c->input_fd, c->input.data, c->input.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            close_input(c); /* it reads no more; how it ends will tell */
        if (n < 0)
            return;
        c->input.size -= (size_t)n;
        memmove(c->input.data, c->input.data + n, c->input.size);
    }
}

/* Looked at first and reaped last, so that its group cannot be anybody else's when it is killed. */
bool child_reap(child *c)
{
    siginfo_t info = {.si_pid = 0};
    if (c->has_ended || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
        info.si_pid != c->pid)
        return false;
    kill(-c->pid, SIGKILL);
    waitpid(c->pid, &c->wait_status, 0);
    c->has_ended = true;
    return true;
}

void child_kill(child *c, int signal)
{
    if (c->pid <= 0 || c->has_ended)
        return;
    if (c->input_fd < 0 || signal == SIGKILL) {
        kill(signal == SIGUSR1 ? c->pid : -c->pid, signal); /* a task's own, not its children's */
        return;
    }
    buf_addf(&c->input, "signal %d\n", signal);
    child_write(c);
}

int child_exit_code(const child *c)
{
    return WIFSIGNALED(c->wait_status) ? 128 + WTERMSIG(c->wait_status)
                                       : WEXITSTATUS(c->wait_status);
}

void child_describe_end(const child *c, char *ret, size_t bytes)
{
    if (WIFSIGNALED(c->wait_status))
        snprintf(ret, bytes, "killed by signal %d (%s)", WTERMSIG(c->wait_status),
                 strsignal(WTERMSIG(c->wait_status)));
    else
        snprintf(ret, bytes, "exit %d", WEXITSTATUS(c->wait_status));
}

const char *child_failure(const child *c)
{
    for (size_t i = 1; i <= CHILD_LAST_LINES && i <= c->n_lines; i++) {
        const char *line = c->last[(c->n_lines - i) % CHILD_LAST_LINES];
        if (strncmp(line, CHILD_FAILURE, strlen(CHILD_FAILURE)) == 0)
            return line + strlen(CHILD_FAILURE);
    }
    return NULL;
}

char *child_describe_failure(const child *c)
{
    char end[80];
    const char *why = child_failure(c);
    child_describe_end(c, end, sizeof end);
    return xasprintf("%s%s%s", end, why ? ": " : "", why ? why : "");
}

void child_last_lines(const child *c, size_t bytes, buf *ret)
{
    size_t kept = c->n_lines < CHILD_LAST_LINES ? c->n_lines : CHILD_LAST_LINES;
    size_t first = c->n_lines, used = 0;
    while (c->n_lines - first < kept) {
        size_t more = strlen(c->last[(first - 1) % CHILD_LAST_LINES]) + strlen("\n    ");
        if (used + more > bytes)
            break;
        used += more;
        first--;
    }
    for (size_t i = first; i < c->n_lines; i++)
        buf_addf(ret, "\n    %s", c->last[i % CHILD_LAST_LINES]);
}
