#include "common/fault/freeze.h"

#include "common/base/log.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* of Linux 5.9, which older headers do not know */
#endif

/* In the child: only what POSIX allows after a fork of a process with threads. The descriptors go,
 * or a socket would listen on when the process is dead. */
_Noreturn static void wake_later(pid_t sleeper, struct timespec left)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (syscall(SYS_close_range, 0U, UINT_MAX, 0U) != 0)
        for (int fd = 0; fd < 4096; fd++)
            close(fd);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    if (getppid() == sleeper) /* it may be dead, and its number another's */
        kill(sleeper, SIGCONT);
    _exit(0);
}

void freeze_process(int64_t us)
{
    struct timespec length = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    pid_t sleeper = getpid(), waker = fork();
    if (waker == 0)
        wake_later(sleeper, length);
    if (waker < 0) {
        LOG_W("FAULT", "no freeze: fork: %s", strerror(errno));
        return;
    }
    raise(SIGSTOP);
    while (waitpid(waker, NULL, 0) < 0 && errno == EINTR)
        ;
    LOG_W("FAULT", "goes on after=%.3fs", (double)us / 1e6);
}
