/* Listeners: where they are bound, and who may come. */
#include "common/net/net_zmq.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static status bind_one(net_socket *s, const char *endpoint, error *err)
{
    if (zmq_bind(s->socket, endpoint) == 0) {
        size_t bytes = sizeof s->endpoint;
        if (zmq_getsockopt(s->socket, ZMQ_LAST_ENDPOINT, s->endpoint, &bytes) != 0)
            BUG("ZeroMQ does not know what it bound");
        return OK;
    }
    const char *port = strncmp(endpoint, "ipc:", 4) == 0 ? NULL : strrchr(endpoint, ':');
    if (errno == EADDRINUSE && port)
        return FAIL(err, E_CONFIG, "listen on '%s': port %s is in use by another program", endpoint,
                    port + 1);
    if (errno == EADDRNOTAVAIL || errno == ENODEV)
        return FAIL(err, E_CONFIG, "listen on '%s': not an address of this host", endpoint);
    return FAIL(err, E_CONFIG, "listen on '%s': %s", endpoint, zmq_strerror(errno));
}

/* `listen_fd` is for the first tcp one. */
static status bind_all(net_socket *s, const char *const *endpoints, size_t n, int listen_fd,
                       error *err)
{
    status st = OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        bool hand_over = listen_fd >= 0 && strncmp(endpoints[i], "tcp://", 6) == 0;
        if (hand_over)
            socket_set(s->socket, ZMQ_USE_FD, listen_fd);
        st = bind_one(s, endpoints[i], err);
        if (!hand_over)
            continue;
        socket_set(s->socket, ZMQ_USE_FD, -1);
        listen_fd = -1;
    }
    return st;
}

static bool hear_other_processes(const char *const *endpoints, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= strncmp(endpoints[i], "inproc:", 7) != 0;
    return found;
}

static void let_in_own_user_only(net_socket *s)
{
    uid_t own = geteuid();
    if (zmq_setsockopt(s->socket, ZMQ_IPC_FILTER_UID, &own, sizeof own) != 0)
        BUG("ZeroMQ does not look at users");
}

status net_listen(net *n, const char *const *endpoints, size_t n_endpoints, int listen_fd,
                  net_socket **ret, error *err)
{
    net_socket *s = NULL;
    TRY(socket_open(n, ZMQ_ROUTER, &s, err));
    socket_set(s->socket, ZMQ_ROUTER_MANDATORY, 1);
    curve_apply(n->curve, s);
    let_in_own_user_only(s);
    socket_set(s->socket, ZMQ_SNDHWM, NET_QUEUE);
    socket_set(s->socket, ZMQ_RCVHWM, NET_QUEUE);
    s->shared = n->shares ? shared_listen() : NULL;
    status st = bind_all(s, endpoints, n_endpoints, listen_fd, err);
    if (st == OK && n->strangers && hear_other_processes(endpoints, n_endpoints))
        st = strangers_watch(n, s, &s->strangers, err);
    if (st != OK)
        net_close(&s, 0);
    else
        *ret = s;
    return st;
}
