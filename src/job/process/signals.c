#include "job/process/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

status signals_open(bool children, signals *ret, error *err)
{
    signals s;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    if (children) {
        sigaddset(&ours, SIGCHLD);
        sigaddset(&ours, SIGUSR1);
    }
    sigprocmask(SIG_BLOCK, &ours, &s.old_mask);
    s.fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s.fd < 0) {
        int why = errno;
        sigprocmask(SIG_SETMASK, &s.old_mask, NULL);
        return FAIL(err, E_IO, "open a signalfd: %s", strerror(why));
    }
    *ret = s;
    return OK;
}

void signals_close(signals *s)
{
    if (s->fd < 0)
        return;
    close(s->fd);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    s->fd = -1;
}

bool signals_next(const signals *s, int *ret)
{
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    *ret = (int)info.ssi_signo;
    return true;
}
