#include "fault/torture/links.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = MOST_TASKS * MOST_TASKS, FLOWS = 512, ROOM = 1 << 16 };
enum { WELL = IMPAIRMENTS, SLOW_BYTES = 1000, SLOW_US = 50000, TURN_MS = 20 };

struct links {
    pid_t pid;
    int n;
    atomic_int *how; /* [PAIRS], shared with the process: an impairment, or WELL */
};

/* What one side has said and the other has not been given. */
typedef struct stream {
    unsigned char data[ROOM];
    size_t begin, end;
    bool is_over;
    int64_t next_us; /* SLOW: nothing goes out before */
} stream;

typedef struct flow {
    int pair, fds[2];
    stream *from[2]; /* from[i]: what came in at fds[i] */
} flow;

typedef struct relay {
    atomic_int *how;
    int n_pairs, listeners[PAIRS], targets[PAIRS];
    flow flows[FLOWS];
    int n_flows;
} relay;

/* --- connections --- */

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_at(int port)
{
    struct sockaddr_in at = loopback(port);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, FLOWS) == 0)
        return fd;
    close(fd);
    return -1;
}

static void drop(relay *r, int i)
{
    flow *f = &r->flows[i];
    for (int side = 0; side < 2; side++) {
        close(f->fds[side]);
        free(f->from[side]);
    }
    *f = r->flows[--r->n_flows];
}

/* Who dials a task that is not there hears so at once. */
static void take(relay *r, int pair)
{
    int fd = accept4(r->listeners[pair], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct sockaddr_in at = loopback(r->targets[pair]);
    int on = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->how[pair] == BREAK || r->n_flows == FLOWS ||
        (connect(on, (struct sockaddr *)&at, sizeof at) != 0 && errno != EINPROGRESS)) {
        close(fd);
        close(on);
        return;
    }
    flow *f = &r->flows[r->n_flows++];
    *f = (flow){.pair = pair, .fds = {fd, on}};
    for (int side = 0; side < 2; side++)
        f->from[side] = xcalloc(1, sizeof(stream));
}

/* --- handing on --- */

/* False: the connection is broken. */
static bool hear(flow *f, int side)
{
    stream *s = f->from[side];
    if (s->end == ROOM || s->is_over)
        return true;
    ssize_t n = recv(f->fds[side], s->data + s->end, ROOM - s->end, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
    s->end += (size_t)n;
    s->is_over = n == 0;
    return true;
}

static bool say(flow *f, int side, bool slowly)
{
    stream *s = f->from[!side];
    int64_t now = clock_us();
    size_t bytes = s->end - s->begin;
    if (bytes && (!slowly || now >= s->next_us)) {
        if (slowly && bytes > SLOW_BYTES)
            bytes = SLOW_BYTES;
        ssize_t n = send(f->fds[side], s->data + s->begin, bytes, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
        s->begin += (size_t)n;
        s->next_us = now + SLOW_US;
        if (s->begin == s->end)
            s->begin = s->end = 0;
    }
    return s->begin < s->end || !s->is_over;
}

/* What each side may be waited for; nothing passes where all is stalled. */
static void wishes(const relay *r, const flow *f, struct pollfd ret[2])
{
    int how = r->how[f->pair];
    int64_t now = clock_us();
    for (int side = 0; side < 2; side++) {
        const stream *in = f->from[side], *out = f->from[!side];
        bool hears = how != STALL && in->end < ROOM && !in->is_over;
        bool says = how != STALL && out->begin < out->end && (how != SLOW || now >= out->next_us);
        ret[side] = (struct pollfd){
            .fd = hears || says ? f->fds[side] : -1,
            .events = (short)((hears ? POLLIN : 0) | (says ? POLLOUT : 0)),
        };
    }
}

static bool turn(relay *r, int i, const struct pollfd events[2])
{
    flow *f = &r->flows[i];
    int how = r->how[f->pair];
    if (how == BREAK)
        return false;
    if (how == STALL)
        return true;
    for (int side = 0; side < 2; side++)
        if (events[side].revents & (POLLIN | POLLHUP | POLLERR) && !hear(f, side))
            return false;
    return say(f, 0, how == SLOW) && say(f, 1, how == SLOW);
}

_Noreturn static void serve(relay *r)
{
    struct pollfd *events = xcalloc(PAIRS + 2 * FLOWS, sizeof *events);
    for (;;) {
        int n_flows = r->n_flows;
        struct pollfd *of_flows = events + r->n_pairs;
        for (int p = 0; p < r->n_pairs; p++)
            events[p] =
                (struct pollfd){.fd = r->how[p] == STALL ? -1 : r->listeners[p], .events = POLLIN};
        for (int i = 0; i < n_flows; i++)
            wishes(r, &r->flows[i], of_flows + 2 * (size_t)i);
        poll(events, (nfds_t)(r->n_pairs + 2 * n_flows), TURN_MS);
        for (int i = n_flows - 1; i >= 0; i--) /* drop() moves the last one here */
            if (!turn(r, i, of_flows + 2 * (size_t)i))
                drop(r, i);
        for (int p = 0; p < r->n_pairs; p++)
            if (events[p].revents & POLLIN)
                take(r, p);
    }
}

/* --- from outside --- */

links *links_start(int n, const int *ports, const int *targets)
{
    relay *r = xcalloc(1, sizeof *r);
    r->how = mmap(NULL, PAIRS * sizeof *r->how, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    r->n_pairs = n * n;
    bool listens = r->how != MAP_FAILED;
    for (int p = 0; p < n * n && listens; p++) {
        r->how[p] = WELL;
        r->targets[p] = targets[p % n];
        r->listeners[p] = p / n == p % n ? -1 : listen_at(ports[p]);
        listens = p / n == p % n || r->listeners[p] >= 0;
    }
    pid_t pid = listens ? fork() : -1;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(r);
    }
    links *l = NULL;
    if (pid > 0) {
        l = xmalloc(sizeof *l);
        *l = (links){.pid = pid, .n = n, .how = r->how};
    }
    for (int p = 0; p < n * n && listens; p++)
        close(r->listeners[p]);
    free(r);
    return l;
}

void links_stop(links **l)
{
    if (!*l)
        return;
    kill((*l)->pid, SIGKILL);
    waitpid((*l)->pid, NULL, 0);
    munmap((*l)->how, PAIRS * sizeof *(*l)->how);
    free(*l);
    *l = NULL;
}

void links_impair(links *l, int from, int to, impairment how)
{
    l->how[from * l->n + to] = (int)how;
}

void links_restore(links *l, int from, int to)
{
    l->how[from * l->n + to] = WELL;
}
