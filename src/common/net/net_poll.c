/* Waiting: what is known of sockets without looking, wakers, and net_poll over both. */
#include "common/net/net_zmq.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

struct net_waker {
    int fd;
};

/* Makes the descriptor tell, unless there is something to read already. */
static bool has_input(watch *w)
{
    int events = 0;
    size_t bytes = sizeof events;
    if (w->is_drained)
        return false;
    zmq_getsockopt(w->socket, ZMQ_EVENTS, &events, &bytes);
    w->is_drained = !(events & ZMQ_POLLIN);
    return !w->is_drained;
}

static void end_poll(watch *w, bool is_readable)
{
    w->is_quiet = w->is_drained && !is_readable;
    w->is_drained = w->is_quiet;
}

status net_waker_create(net_waker **ret, error *err)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return FAIL(err, E_FAIL, "create an event descriptor: %s", strerror(errno));
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->fd = fd;
    return OK;
}

void net_waker_destroy(net_waker **w)
{
    if (!w || !*w)
        return;
    close((*w)->fd);
    free(*w);
    *w = NULL;
}

void net_waker_wake(net_waker *w)
{
    uint64_t one = 1;
    ssize_t n = write(w->fd, &one, sizeof one);
    (void)n; /* full means it is awake already */
}

/* The sooner of two timeouts; -1: none. */
static int sooner(int timeout_ms, int wait_ms)
{
    return wait_ms < 0 || (timeout_ms >= 0 && timeout_ms < wait_ms) ? timeout_ms : wait_ms;
}

/* Sends what is due, and returns how long it may be waited for what else time brings. */
static int wait_of_clock(net_socket *s, int timeout_ms)
{
    if (!s->delayed.n && !s->down_at_us)
        return timeout_ms;
    int64_t now = clock_us();
    net_send_delayed(s, now);
    int64_t pause_us = s->down_at_us - now;
    if (s->down_at_us)
        timeout_ms = sooner(timeout_ms, pause_us > 0 ? (int)(pause_us / 1000) + 1 : 0);
    return sooner(timeout_ms, delay_queue_wait_ms(&s->delayed, now));
}

status net_poll(net_socket *const *sockets, size_t n, net_waker *waker, int timeout_ms, error *err)
{
    watch *watches[2 * NET_POLL_MAX];
    struct pollfd fds[3 * NET_POLL_MAX + 1];
    nfds_t n_fds = 0;
    BUG_ON(n > NET_POLL_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!sockets[i])
            continue;
        timeout_ms = wait_of_clock(sockets[i], timeout_ms);
        watch *both[] = {&sockets[i]->messages, &sockets[i]->events};
        for (int k = 0; k < 2; k++) {
            if (has_input(both[k]) || sockets[i]->announce_up)
                timeout_ms = 0;
            watches[n_fds] = both[k];
            fds[n_fds++] = (struct pollfd){.fd = both[k]->fd, .events = POLLIN};
        }
    }
    nfds_t n_watches = n_fds;
    if (waker)
        fds[n_fds++] = (struct pollfd){.fd = waker->fd, .events = POLLIN};
    nfds_t first_shared = n_fds;
    for (size_t i = 0; i < n; i++) /* one each, which poll skips where it is -1 */
        fds[n_fds++] = (struct pollfd){
            .fd = sockets[i] ? shared_descriptor(sockets[i]->shared) : -1, .events = POLLIN};
    if (poll(fds, n_fds, timeout_ms) < 0 && errno != EINTR)
        return FAIL(err, E_FAIL, "wait for messages: %s", strerror(errno));
    for (nfds_t i = 0; i < n_watches; i++)
        end_poll(watches[i], fds[i].revents != 0);
    for (size_t i = 0; i < n; i++)
        if (fds[first_shared + i].revents)
            sockets[i]->may_sweep = true;
    if (waker && fds[n_watches].revents) {
        uint64_t count;
        ssize_t got = read(waker->fd, &count, sizeof count);
        (void)got;
    }
    return OK;
}
