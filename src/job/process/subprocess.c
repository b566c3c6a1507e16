#include "job/process/subprocess.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What both processes see. */
typedef struct shared {
    bool done;
    status status;
    error error;
    char ret[];
} shared;

static void work_apart(shared *s, status (*work)(void *, error *), void *user, const void *ret,
                       size_t bytes)
{
    s->status = work(user, &s->error);
    if (bytes)
        memcpy(s->ret, ret, bytes);
    s->done = true;
    _exit(0);
}

static status wait_for(pid_t child, const shared *s, error *err)
{
    int how = 0;
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR)
            return FAIL(err, E_IO, "wait for a process: %s", strerror(errno));
    if (s->done)
        return OK;
    if (WIFSIGNALED(how))
        return FAIL(err, E_FAIL, "the process died by signal %d (%s)", WTERMSIG(how),
                    strsignal(WTERMSIG(how)));
    return FAIL(err, E_FAIL, "the process ended with %d", WEXITSTATUS(how));
}

status subprocess_run(status (*work)(void *user, error *err), void *user, void *ret, size_t bytes,
                 error *err)
{
    size_t room = sizeof(shared) + bytes;
    shared *s = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return FAIL(err, E_NOMEM, "memory for a process: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        work_apart(s, work, user, ret, bytes);
    status st = child < 0 ? FAIL(err, E_IO, "start a process: %s", strerror(errno))
                          : wait_for(child, s, err);
    if (st == OK && bytes)
        memcpy(ret, s->ret, bytes);
    if (st == OK && s->status != OK)
        st = FAIL(err, s->status, "%s", s->error.text);
    munmap(s, room);
    return st;
}
