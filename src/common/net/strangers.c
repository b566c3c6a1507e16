#include "common/net/strangers.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/net/byte_limit.h"
#include "common/net/net_zmq.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

/* So many the kernel keeps until libzmq takes them; when there are more, they try again. So many
 * that were sent away or have left libzmq may have on its hands. Each of both, and each that is here,
 * costs a quarter of a megabyte at the most (strangers.h). */
enum { BACKLOG = 64, GONE_MAX = 64 };

/* How often those are looked at whom the kernel does not limit. */
enum { TICK_MS = 20 };

typedef struct stranger {
    int connection; /* libzmq's descriptor */
    int held;       /* ours of the same; -1: it was sent away, and libzmq does not know yet */
    bool is_limited;
    int64_t since_us;
    struct in6_addr from;
    int n_alike; /* held ones from there, itself included */
} stranger;

struct strangers {
    net_socket *socket; /* its refusals are counted there */
    pthread_t thread;
    bool has_thread;
    atomic_bool ends;
    int wake;
    int at_once;

    pthread_mutex_t lock;   /* of all below */
    void *monitor, *events; /* the socket's; to its owner */
    int monitor_fd;
    bool has_failed; /* a greeting, and of which connection comes next */
    int failure;
    struct listening {
        int fd;
        in_port_t port;
    } listening[STRANGERS_PORTS];
    int n_listening;
    bool is_limiting; /* the kernel can, and does where it was not flooded */
    bool keeps_syns;  /* somebody came whose SYN was kept: nobody after came before we were prepared */
    bool is_closed; /* to newcomers */
    int n_gone;     /* since the owner looked last: libzmq forgets them when it does */
    unsigned looks;
    stranger *at; /* the oldest first */
    size_t n, cap;
    int n_held;
};

int strangers_at_once(int tasks)
{
    return tasks > STRANGERS_MAX - STRANGERS_MIN ? STRANGERS_MAX : STRANGERS_MIN + tasks;
}

/* --- who is here --- */

static stranger *find(strangers *s, int connection)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].connection == connection)
            return &s->at[i];
    return NULL;
}

static void count_alike(strangers *s, const struct in6_addr *from, int more)
{
    s->n_held += more;
    for (size_t i = 0; i < s->n; i++)
        if (memcmp(&s->at[i].from, from, sizeof *from) == 0)
            s->at[i].n_alike += more;
}

static void let_go(strangers *s, stranger *one)
{
    if (one->held < 0)
        return;
    close(one->held);
    one->held = -1;
    count_alike(s, &one->from, -1);
}

static void drop(strangers *s, stranger *one)
{
    let_go(s, one);
    size_t i = (size_t)(one - s->at);
    memmove(one, one + 1, (--s->n - i) * sizeof *one);
}

static void add(strangers *s, const stranger *one)
{
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = *one;
    count_alike(s, &one->from, 1);
    for (size_t i = 0; i + 1 < s->n; i++) /* what the others from there know */
        if (memcmp(&s->at[i].from, &one->from, sizeof one->from) == 0)
            s->at[s->n - 1].n_alike = s->at[i].n_alike;
}

/* The oldest from where most are. */
static stranger *one_too_many(strangers *s)
{
    stranger *found = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].held >= 0 && (!found || s->at[i].n_alike > found->n_alike))
            found = &s->at[i];
    return found;
}

/* --- refusing --- */

static void hand_on(strangers *s, int event, int value)
{
    monitor_write(s->events, event, value);
}

static void refuse(strangers *s, refusal why)
{
    if (refusal_note(s->socket, why))
        hand_on(s, MONITOR_REFUSED, (int)why);
}

/* libzmq reads the end of the connection, and forgets it. */
static void send_away(strangers *s, stranger *one, refusal why)
{
    shutdown(one->held, SHUT_RDWR);
    let_go(s, one);
    refuse(s, why);
}

static bool says_too_much(const stranger *one)
{
    return !one->is_limited && byte_limit_received(one->held) > STRANGER_BYTES;
}

/* Returns for how long nothing has to be done; -1: until something happens. */
static int send_late_ones_away(strangers *s, int64_t now_us)
{
    int wait_ms = -1;
    for (size_t i = 0; i < s->n; i++) {
        stranger *one = &s->at[i];
        if (one->held < 0)
            continue;
        int64_t left_us = one->since_us + (int64_t)STRANGER_MS * 1000 - now_us;
        if (left_us <= 0 || says_too_much(one)) {
            send_away(s, one, REFUSAL_SILENT);
            continue;
        }
        int left_ms = one->is_limited ? (int)(left_us / 1000) + 1 : TICK_MS;
        wait_ms = wait_ms < 0 || left_ms < wait_ms ? left_ms : wait_ms;
    }
    return wait_ms;
}

/* libzmq keeps of a connection that is gone what its owner's thread must clear away. When that is
 * busy while many come and go, nobody is taken in until it has looked. */
static void open_or_close(strangers *s)
{
    unsigned looks = atomic_load(&s->socket->looks);
    s->n_gone = looks == s->looks ? s->n_gone : 0;
    s->looks = looks;
    bool closes = s->is_limiting && s->n_gone + (int)s->n - s->n_held >= GONE_MAX;
    for (int i = 0; closes != s->is_closed && i < s->n_listening; i++)
        if (closes)
            byte_limit_close(s->listening[i].fd);
        else
            (void)byte_limit_prepare(s->listening[i].fd);
    s->is_closed = closes;
}

/* --- what the monitor tells --- */

static void take_listening(strangers *s, int listening)
{
    struct sockaddr_in6 at; /* an IPv4 one has its port in the same place */
    socklen_t bytes = sizeof at;
    if (getsockname(listening, (struct sockaddr *)&at, &bytes) != 0 || at.sin6_family == AF_UNIX)
        return;
    BUG_ON(s->n_listening == STRANGERS_PORTS);
    s->listening[s->n_listening++] = (struct listening){listening, at.sin6_port};
    listen(listening, BACKLOG);
    s->is_limiting = byte_limit_prepare(listening);
    if (!s->is_limiting)
        LOG_D("STRANGER", "this kernel does not limit what they send: %s", strerror(errno));
}

/* Of the other end, IPv4 addresses as IPv6 has them. A descriptor that has another meaning by now
 * is not ours. */
static bool strangers_look_at(const strangers *s, int connection, struct in6_addr *ret)
{
    struct sockaddr_in6 own, peer;
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    if (getsockname(connection, (struct sockaddr *)&own, &own_bytes) != 0 ||
        getpeername(connection, (struct sockaddr *)&peer, &peer_bytes) != 0 ||
        (own.sin6_family != AF_INET && own.sin6_family != AF_INET6))
        return false;
    bool is_ours = false;
    for (int i = 0; i < s->n_listening; i++)
        is_ours |= s->listening[i].port == own.sin6_port;
    *ret = peer.sin6_addr;
    if (peer.sin6_family == AF_INET) {
        *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(ret->s6_addr + 12, &((struct sockaddr_in *)(void *)&peer)->sin_addr, 4);
    }
    return is_ours;
}

static void take_accepted(strangers *s, int connection)
{
    stranger one = {.connection = connection, .since_us = clock_us()};
    if (!strangers_look_at(s, connection, &one.from))
        return; /* it has left; or it came over a unix socket, from our own user */
    one.held = fcntl(connection, F_DUPFD_CLOEXEC, 0);
    if (one.held < 0) {
        shutdown(connection, SHUT_RDWR);
        return;
    }
    one.is_limited = byte_limit_set(one.held, STRANGER_BYTES);
    s->keeps_syns |= one.is_limited;
    add(s, &one);
    if (s->is_limiting && !one.is_limited && s->keeps_syns)
        send_away(s, &s->at[s->n - 1], REFUSAL_CROWD);
    else if (s->n_held > s->at_once)
        send_away(s, one_too_many(s), REFUSAL_CROWD);
}

/* A greeting that fails is told without saying of which connection; its end comes right after. */
static void take_failed(strangers *s)
{
    if (s->has_failed)
        refuse(s, refusal_of(s->socket, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, s->failure));
    s->has_failed = false;
}

static void take_disconnected(strangers *s, int connection)
{
    stranger *one = find(s, connection);
    s->n_gone++;
    if (!one)
        hand_on(s, ZMQ_EVENT_DISCONNECTED, connection);
    if (one && one->held < 0)
        s->has_failed = false; /* our own doing */
    take_failed(s);
    if (one)
        drop(s, one);
}

/* false: nothing was told */
static bool take_events(strangers *s)
{
    bool took_some = false;
    for (int event, value; monitor_read(s->monitor, &event, &value);) {
        took_some = true;
        if (event != ZMQ_EVENT_DISCONNECTED)
            take_failed(s);
        if (event == ZMQ_EVENT_LISTENING) {
            take_listening(s, value);
        } else if (event == ZMQ_EVENT_ACCEPTED) {
            take_accepted(s, value);
        } else if (event == ZMQ_EVENT_DISCONNECTED) {
            take_disconnected(s, value);
        } else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
            s->has_failed = true;
            s->failure = value;
        } else {
            refuse(s, refusal_of(s->socket, event, value));
        }
    }
    return took_some;
}

/* The thread of its own counts its time anew. */
static void wake(strangers *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof one);
    (void)n; /* full means it is awake already */
}

void strangers_admit(strangers *s, int connection)
{
    pthread_mutex_lock(&s->lock);
    /* What is read here, newcomers too, the thread does not see; it may wait without a limit. */
    if (take_events(s))
        wake(s);
    stranger *one = find(s, connection);
    if (one && one->held >= 0) {
        byte_limit_lift(one->held);
        drop(s, one);
    }
    pthread_mutex_unlock(&s->lock);
}

/* --- life --- */

static void *keep_watch(void *arg)
{
    strangers *s = arg;
    struct pollfd fds[] = {{.fd = s->monitor_fd, .events = POLLIN},
                           {.fd = s->wake, .events = POLLIN}};
    while (!atomic_load(&s->ends)) {
        pthread_mutex_lock(&s->lock);
        (void)take_events(s);
        int wait_ms = send_late_ones_away(s, clock_us());
        open_or_close(s);
        if (s->is_closed)
            wait_ms = TICK_MS;
        pthread_mutex_unlock(&s->lock);
        poll(fds, COUNT_OF(fds), wait_ms);
        uint64_t count;
        ssize_t n = read(s->wake, &count, sizeof count);
        (void)n;
    }
    return NULL;
}

static void *open_pair(net *n)
{
    int no_limit = 0;
    void *end = zmq_socket(n->context, ZMQ_PAIR);
    if (end) {
        zmq_setsockopt(end, ZMQ_SNDHWM, &no_limit, sizeof no_limit);
        zmq_setsockopt(end, ZMQ_RCVHWM, &no_limit, sizeof no_limit);
    }
    return end;
}

/* The monitor is ours; its owner reads from one end what we write into the other. */
static status take_monitor(net *n, strangers *s, error *err)
{
    static atomic_uint_fast64_t number;
    char name[64];
    size_t bytes = sizeof s->monitor_fd;
    snprintf(name, sizeof name, "inproc://strangers-%" PRIuFAST64, atomic_fetch_add(&number, 1));
    s->monitor = s->socket->monitor;
    s->socket->monitor = open_pair(n);
    s->events = open_pair(n);
    s->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->wake >= 0 && s->socket->monitor && s->events && zmq_bind(s->events, name) == 0 &&
        zmq_connect(s->socket->monitor, name) == 0 &&
        zmq_getsockopt(s->monitor, ZMQ_FD, &s->monitor_fd, &bytes) == 0)
        return OK;
    return FAIL(err, E_FAIL, "watch a socket: %s", zmq_strerror(errno));
}

status strangers_watch(net *n, net_socket *socket, strangers **ret, error *err)
{
    strangers *s = xcalloc(1, sizeof *s);
    *s = (strangers){.socket = socket, .at_once = n->strangers};
    pthread_mutex_init(&s->lock, NULL);
    status st = take_monitor(n, s, err);
    if (st == OK) {
        (void)take_events(s); /* where it listens */
        st = thread_start(&s->thread, "strangers", keep_watch, s, err);
    }
    s->has_thread = st == OK;
    if (st == OK) {
        watch_begin(&socket->events, socket->monitor);
        *ret = s;
    } else {
        strangers_end(&s);
    }
    return st;
}

static void close_now(void *socket)
{
    int linger = 0;
    if (!socket)
        return;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(socket);
}

void strangers_end(strangers **of)
{
    strangers *s = *of;
    if (!s)
        return;
    atomic_store(&s->ends, true);
    if (s->has_thread) {
        wake(s);
        pthread_join(s->thread, NULL);
    }
    for (size_t i = 0; i < s->n; i++)
        let_go(s, &s->at[i]);
    close_now(s->monitor);
    close_now(s->events);
    if (s->wake >= 0)
        close(s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->at);
    free(s);
    *of = NULL;
}
