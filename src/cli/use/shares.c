/* See shares.h. */
#include "cli/use/shares.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct share {
    pid_t pid; /* 0: it was waited for, or not started */
    int fd;    /* where it writes; -1: closed */
} share;

struct shares {
    int64_t n;
    share at[]; /* that of 0 is this process's */
};

/* What a share writes first: then come so many bytes, its counts or what it says of its failure. */
typedef struct head {
    status status;
    size_t bytes;
} head;

/* --- in the other process --- */

static bool write_all(int fd, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static _Noreturn void count_apart(const evaluator_request *request, int64_t index, int64_t n, int fd)
{
    buf counts = BUF_INIT;
    error err = ERROR_INIT;
    head h = {.status = evaluator_count(request, index, n, &counts, &err)};
    if (h.status != OK) {
        buf_clear(&counts);
        buf_adds(&counts, err.text);
    }
    h.bytes = counts.size;
    bool told = write_all(fd, &h, sizeof h) && write_all(fd, counts.data, counts.size);
    _exit(told ? 0 : 1);
}

/* --- in this one --- */

static status start(shares *s, const evaluator_request *request, int64_t index, error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0)
        return FAIL(err, E_IO, "a pipe to a process: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it died before the line above */
            _exit(1);
        close(ends[0]);
        count_apart(request, index, s->n, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return FAIL(err, E_IO, "start a process: %s", strerror(errno));
    }
    s->at[index] = (share){.pid = pid, .fd = ends[0]};
    return OK;
}

status shares_start(const evaluator_request *request, int64_t n, shares **ret, error *err)
{
    shares *s = xcalloc(1, sizeof *s + (size_t)n * sizeof *s->at);
    status st = OK;
    s->n = n;
    for (int64_t i = 0; i < n; i++)
        s->at[i].fd = -1;
    for (int64_t i = 1; i < n && st == OK; i++)
        st = start(s, request, i, err);
    if (st == OK)
        *ret = s;
    else
        shares_end(&s);
    return st;
}

static int wait_for(share *one)
{
    int how = 0;
    while (waitpid(one->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    one->pid = 0;
    return how;
}

void shares_end(shares **s)
{
    if (!s || !*s)
        return;
    for (int64_t i = 0; i < (*s)->n; i++) {
        share *one = &(*s)->at[i];
        if (one->pid > 0) {
            kill(one->pid, SIGKILL);
            wait_for(one);
        }
        if (one->fd >= 0)
            close(one->fd);
    }
    free(*s);
    *s = NULL;
}

static bool read_all(int fd, void *ret, size_t n)
{
    for (char *at = ret; n > 0;) {
        ssize_t done = read(fd, at, n);
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        at += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool read_told(int fd, head *h, buf *ret)
{
    if (!read_all(fd, h, sizeof *h))
        return false;
    buf_reserve(ret, h->bytes + 1);
    if (!read_all(fd, ret->data, h->bytes))
        return false;
    ret->data[h->bytes] = '\0';
    ret->size = h->bytes;
    return true;
}

status shares_take(void *user, int64_t index, buf *ret, error *err)
{
    shares *s = user;
    share *one = &s->at[index];
    head h = {.status = OK};
    bool told = read_told(one->fd, &h, ret);
    int how = wait_for(one);
    if (told && h.status != OK)
        return FAIL(err, h.status, "%s", ret->data);
    if (!told && WIFSIGNALED(how))
        return FAIL(err, E_FAIL, "the process of share %lld of %lld died by signal %d (%s)", (long long)index,
                    (long long)s->n, WTERMSIG(how), strsignal(WTERMSIG(how)));
    return told ? OK : FAIL(err, E_FAIL, "the process of share %lld of %lld ended with %d", (long long)index,
                            (long long)s->n, WEXITSTATUS(how));
}
