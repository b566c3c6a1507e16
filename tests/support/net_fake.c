/*
 * A line joins a dial and a listener. Its two ends are pointers that become NULL when that side
 * closes; then nothing is delivered there any more.
 *
 * Order of locks: registry, a listener's list of lines, line, inbox or waker, sleeper.
 */
#include "support/net_fake.h"

#include "common/base/alloc.h"
#include "common/net/net.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DIAL, LISTENER, FIRST_PORT = 50000, ENDPOINT = 256, ENDPOINTS = 4 };

/* A thread that waits in net_poll. */
typedef struct sleeper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
} sleeper;

typedef struct parcel {
    struct parcel *next;
    uint32_t line;
    bool is_shared; /* inproc: the receiver reads the sender's memory */
    unsigned char head[NET_HEAD];
    net_buffer payload; /* without `release`: our copy */
} parcel;

typedef struct happening {
    struct happening *next;
    net_event event;
} happening;

typedef struct inbox {
    pthread_mutex_t lock;
    parcel *parcels;
    happening *happenings;
    sleeper *sleeper;
} inbox;

typedef struct line {
    pthread_mutex_t lock;
    atomic_int refs; /* one per end */
    uint32_t id;
    bool is_local, is_lost;
    char endpoint[ENDPOINT]; /* as dialled */
    net_socket *end[2];
    parcel *backlog; /* sent before the listener was there */
} line;

struct net {
    int unused;
};

struct net_socket {
    const net *net;
    bool is_listener;
    char endpoint[ENDPOINT];
    char bound[ENDPOINTS][ENDPOINT];
    size_t n_bound;
    inbox inbox;
    line *dial;
    pthread_mutex_t lines_lock;
    line **lines; /* a listener's */
    size_t n_lines, cap_lines;
};

struct net_waker {
    pthread_mutex_t lock;
    bool woken;
    sleeper *sleeper;
};

/* Listeners, and dials that wait for one. */
static struct {
    pthread_mutex_t lock;
    net_socket **listeners, **waiting;
    size_t n_listeners, cap_listeners, n_waiting, cap_waiting;
    uint32_t lines;
    int port;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .port = FIRST_PORT};

/* --- parcels and inboxes --- */

static void payload_end(net_buffer *b)
{
    if (b->release)
        b->release((void *)(uintptr_t)b->data, b->hint);
    else
        free((void *)(uintptr_t)b->data);
    *b = (net_buffer){.data = NULL};
}

static void payload_copy(net_buffer *b)
{
    if (!b->release)
        return;
    void *copy = xmalloc(b->bytes + 1);
    memcpy(copy, b->data, b->bytes);
    net_buffer own = {.data = copy, .bytes = b->bytes};
    payload_end(b);
    *b = own;
}

static void parcels_drop(parcel *list)
{
    while (list) {
        parcel *next = list->next;
        payload_end(&list->payload);
        free(list);
        list = next;
    }
}

static void wake(sleeper *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->woken = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void parcel_append(parcel **list, parcel *p)
{
    while (*list)
        list = &(*list)->next;
    *list = p;
}

static void inbox_put(inbox *in, parcel *p)
{
    pthread_mutex_lock(&in->lock);
    parcel_append(&in->parcels, p);
    wake(in->sleeper);
    pthread_mutex_unlock(&in->lock);
}

static void inbox_tell(inbox *in, net_event event)
{
    happening *h = xcalloc(1, sizeof *h);
    h->event = event;
    pthread_mutex_lock(&in->lock);
    happening **at = &in->happenings;
    while (*at)
        at = &(*at)->next;
    *at = h;
    wake(in->sleeper);
    pthread_mutex_unlock(&in->lock);
}

/* What came over `id` and was not received; the caller ends it, without our lock. */
static parcel *inbox_take_back(inbox *in, uint32_t id)
{
    parcel *taken = NULL;
    pthread_mutex_lock(&in->lock);
    for (parcel **at = &in->parcels; *at;) {
        parcel *p = *at;
        if (p->line != id) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->next = NULL;
        parcel_append(&taken, p);
    }
    pthread_mutex_unlock(&in->lock);
    return taken;
}

/* The sender's memory comes back, the messages stay. */
static void inbox_keep_copies(inbox *in, uint32_t id)
{
    pthread_mutex_lock(&in->lock);
    for (parcel *p = in->parcels; p; p = p->next)
        if (p->line == id)
            payload_copy(&p->payload);
    pthread_mutex_unlock(&in->lock);
}

static void inbox_fini(inbox *in)
{
    parcels_drop(in->parcels);
    while (in->happenings) {
        happening *next = in->happenings->next;
        free(in->happenings);
        in->happenings = next;
    }
    pthread_mutex_destroy(&in->lock);
}

/* --- lines --- */

static void line_unref(line *l)
{
    if (atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    parcels_drop(l->backlog);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static net_event event_at(const line *l, int side, net_event_kind kind)
{
    return (net_event){.kind = kind, .connection = side == LISTENER ? (int)l->id : -1};
}

/* One side closes. linger: what it sent is still received. */
static void line_leave(line *l, int side, bool linger)
{
    parcel *lost = NULL;
    pthread_mutex_lock(&l->lock);
    net_socket *peer = l->end[!side];
    l->end[side] = NULL;
    if (peer && !l->is_lost) {
        if (linger)
            inbox_keep_copies(&peer->inbox, l->id);
        else
            lost = inbox_take_back(&peer->inbox, l->id);
        inbox_tell(&peer->inbox, event_at(l, !side, NET_DOWN));
    }
    l->is_lost = true;
    pthread_mutex_unlock(&l->lock);
    parcels_drop(lost);
    line_unref(l);
}

static bool line_cut(line *l)
{
    parcel *lost[2] = {NULL, NULL};
    pthread_mutex_lock(&l->lock);
    bool was_up = !l->is_lost;
    for (int side = DIAL; was_up && side <= LISTENER; side++) {
        lost[side] = inbox_take_back(&l->end[side]->inbox, l->id);
        inbox_tell(&l->end[side]->inbox, event_at(l, side, NET_DOWN));
    }
    l->is_lost = true;
    pthread_mutex_unlock(&l->lock);
    parcels_drop(lost[DIAL]);
    parcels_drop(lost[LISTENER]);
    return was_up;
}

/* The registry is locked. */
static void line_connect(net_socket *dial, net_socket *listener)
{
    line *l = dial->dial;
    pthread_mutex_lock(&listener->lines_lock);
    GROW(listener->lines, listener->cap_lines, listener->n_lines + 1);
    listener->lines[listener->n_lines++] = l;
    atomic_fetch_add(&l->refs, 1);
    pthread_mutex_lock(&l->lock);
    l->end[LISTENER] = listener;
    inbox_tell(&dial->inbox, event_at(l, DIAL, NET_UP));
    while (l->backlog) {
        parcel *p = l->backlog;
        l->backlog = p->next;
        p->next = NULL;
        inbox_put(&listener->inbox, p);
    }
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&listener->lines_lock);
}

/* --- names --- */

static bool is_local(const char *endpoint)
{
    return strncmp(endpoint, "inproc://", 9) == 0;
}

/* A tcp listener may be bound to every address. */
static bool same_place(const char *bound, const char *dialled)
{
    if (strncmp(bound, "tcp://*:", 8) == 0 && !is_local(dialled))
        return strcmp(bound + 7, strrchr(dialled, ':')) == 0;
    return strcmp(bound, dialled) == 0;
}

static bool listens_at(const net_socket *s, const net *n, const char *endpoint)
{
    for (size_t i = 0; i < s->n_bound; i++)
        if (same_place(s->bound[i], endpoint) && (s->net == n || !is_local(endpoint)))
            return true;
    return false;
}

static net_socket *find_listener(const net *n, const char *endpoint)
{
    for (size_t i = 0; i < registry.n_listeners; i++)
        if (listens_at(registry.listeners[i], n, endpoint))
            return registry.listeners[i];
    return NULL;
}

static void list_remove(net_socket **list, size_t *n, const net_socket *s)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == s) {
            list[i] = list[--*n];
            return;
        }
}

static status check_endpoint(const char *endpoint, const char *what, error *err)
{
    bool is_tcp = strncmp(endpoint, "tcp://", 6) == 0 && strchr(endpoint + 6, ':');
    if (is_local(endpoint) || is_tcp)
        return OK;
    return FAIL(err, E_CONFIG, "%s '%s': not an endpoint", what, endpoint);
}

/* --- life --- */

status net_create(net **ret, error *err)
{
    (void)err;
    *ret = xcalloc(1, sizeof **ret);
    return OK;
}

void net_destroy(net **n)
{
    if (!n)
        return;
    free(*n);
    *n = NULL;
}

static net_socket *socket_open(const net *n, bool is_listener)
{
    net_socket *s = xcalloc(1, sizeof *s);
    s->net = n;
    s->is_listener = is_listener;
    pthread_mutex_init(&s->inbox.lock, NULL);
    pthread_mutex_init(&s->lines_lock, NULL);
    return s;
}

/* The registry is locked. */
static status bind_one(net_socket *s, const char *endpoint, error *err)
{
    TRY(check_endpoint(endpoint, "listen on", err));
    BUG_ON(s->n_bound == ENDPOINTS);
    size_t n = strlen(endpoint);
    bool pick = !is_local(endpoint) && strcmp(endpoint + n - 2, ":0") == 0;
    if (!pick && find_listener(s->net, endpoint))
        return FAIL(err, E_CONFIG, "listen on '%s': port %s is in use by another program", endpoint,
                    strrchr(endpoint, ':') + 1);
    if (pick)
        snprintf(s->endpoint, ENDPOINT, "%.*s%d", (int)n - 1, endpoint, registry.port++);
    else
        snprintf(s->endpoint, ENDPOINT, "%s", endpoint);
    memcpy(s->bound[s->n_bound++], s->endpoint, ENDPOINT);
    return OK;
}

static void adopt_waiting(net_socket *s)
{
    for (size_t i = 0; i < registry.n_waiting;) {
        net_socket *dial = registry.waiting[i];
        if (!listens_at(s, dial->net, dial->endpoint)) {
            i++;
            continue;
        }
        registry.waiting[i] = registry.waiting[--registry.n_waiting];
        line_connect(dial, s);
    }
}

status net_listen(net *n, const char *const *endpoints, size_t n_endpoints, int listen_fd,
                  net_socket **ret, error *err)
{
    (void)listen_fd;
    net_socket *s = socket_open(n, true);
    pthread_mutex_lock(&registry.lock);
    status st = OK;
    for (size_t i = 0; st == OK && i < n_endpoints; i++)
        st = bind_one(s, endpoints[i], err);
    GROW(registry.listeners, registry.cap_listeners, registry.n_listeners + 1);
    registry.listeners[registry.n_listeners++] = s;
    if (st == OK)
        adopt_waiting(s);
    pthread_mutex_unlock(&registry.lock);
    if (st != OK)
        net_close(&s, 0);
    else
        *ret = s;
    return st;
}

status net_dial(net *n, const char *endpoint, net_socket **ret, error *err)
{
    TRY(check_endpoint(endpoint, "connect to", err));
    net_socket *s = socket_open(n, false);
    snprintf(s->endpoint, ENDPOINT, "%s", endpoint);
    line *l = s->dial = xcalloc(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    l->is_local = is_local(endpoint);
    memcpy(l->endpoint, s->endpoint, ENDPOINT);
    l->end[DIAL] = s;
    atomic_store(&l->refs, 1);
    pthread_mutex_lock(&registry.lock);
    l->id = ++registry.lines;
    net_socket *listener = find_listener(n, endpoint);
    if (listener) {
        line_connect(s, listener);
    } else {
        GROW(registry.waiting, registry.cap_waiting, registry.n_waiting + 1);
        registry.waiting[registry.n_waiting++] = s;
    }
    pthread_mutex_unlock(&registry.lock);
    *ret = s;
    return OK;
}

void net_close(net_socket **socket, int linger_ms)
{
    if (!socket || !*socket)
        return;
    net_socket *s = *socket;
    *socket = NULL;
    pthread_mutex_lock(&registry.lock);
    list_remove(registry.listeners, &registry.n_listeners, s);
    list_remove(registry.waiting, &registry.n_waiting, s);
    pthread_mutex_unlock(&registry.lock);
    if (s->dial)
        line_leave(s->dial, DIAL, linger_ms != 0);
    for (size_t i = 0; i < s->n_lines; i++)
        line_leave(s->lines[i], LISTENER, linger_ms != 0);
    inbox_fini(&s->inbox);
    pthread_mutex_destroy(&s->lines_lock);
    free(s->lines);
    free(s);
}

const char *net_endpoint(const net_socket *s)
{
    return s->endpoint;
}

bool net_is_local(const net_socket *s)
{
    return !s->is_listener && s->dial->is_local;
}

uint64_t net_dropped(const net_socket *s)
{
    (void)s;
    return 0;
}

size_t net_fake_cut(const char *endpoint)
{
    size_t n = 0;
    pthread_mutex_lock(&registry.lock);
    for (size_t i = 0; i < registry.n_listeners; i++) {
        net_socket *s = registry.listeners[i];
        pthread_mutex_lock(&s->lines_lock);
        for (size_t k = 0; k < s->n_lines; k++)
            n += strcmp(s->lines[k]->endpoint, endpoint) == 0 && line_cut(s->lines[k]);
        pthread_mutex_unlock(&s->lines_lock);
    }
    pthread_mutex_unlock(&registry.lock);
    return n;
}

/* --- messages --- */

static parcel *parcel_make(const line *l, const void *head, const net_buffer *payload)
{
    parcel *p = xcalloc(1, sizeof *p);
    p->line = l->id;
    p->is_shared = l->is_local;
    memcpy(p->head, head, NET_HEAD);
    if (!payload)
        return p;
    p->payload = *payload;
    if (!payload->release) {
        void *copy = xmalloc(payload->bytes + 1);
        memcpy(copy, payload->data, payload->bytes);
        p->payload.data = copy;
    }
    return p;
}

/* false: nobody is there, and the parcel is gone. */
static bool line_carry(line *l, int from, parcel *p)
{
    parcel *lost = NULL;
    pthread_mutex_lock(&l->lock);
    net_socket *to = l->end[!from];
    bool arrives = !l->is_lost;
    if (!arrives)
        lost = p;
    else if (to)
        inbox_put(&to->inbox, p);
    else
        parcel_append(&l->backlog, p);
    pthread_mutex_unlock(&l->lock);
    parcels_drop(lost);
    return arrives;
}

static line *line_of_peer(net_socket *s, const net_peer *to)
{
    uint32_t id;
    memcpy(&id, to->id, sizeof id);
    line *found = NULL;
    pthread_mutex_lock(&s->lines_lock);
    for (size_t i = 0; i < s->n_lines && !found; i++)
        if (s->lines[i]->id == id)
            found = s->lines[i];
    pthread_mutex_unlock(&s->lines_lock);
    return found;
}

status net_send(net_socket *s, const net_peer *to, const void *head, const net_buffer *payload,
                error *err)
{
    if (!s->is_listener) {
        /* a lost line says so by its event */
        line_carry(s->dial, DIAL, parcel_make(s->dial, head, payload));
        return OK;
    }
    line *l = line_of_peer(s, to);
    BUG_ON(!l);
    if (line_carry(l, LISTENER, parcel_make(l, head, payload)))
        return OK;
    return FAIL(err, E_LOST, "the peer is gone");
}

_Static_assert(sizeof(net_buffer) <= sizeof(net_payload), "a payload holds a buffer");

static net_buffer *buffer_of(const net_payload *p)
{
    return (net_buffer *)(void *)(uintptr_t)p->opaque;
}

bool net_receive(net_socket *s, net_message *ret)
{
    pthread_mutex_lock(&s->inbox.lock);
    parcel *p = s->inbox.parcels;
    if (p)
        s->inbox.parcels = p->next;
    pthread_mutex_unlock(&s->inbox.lock);
    if (!p)
        return false;
    *ret = (net_message){.connection = -1};
    memcpy(ret->head, p->head, NET_HEAD);
    if (s->is_listener) {
        ret->connection = (int)p->line;
        ret->from.size = sizeof p->line;
        memcpy(ret->from.id, &p->line, sizeof p->line);
    }
    if (!p->is_shared)
        payload_copy(&p->payload);
    *buffer_of(&ret->payload) = p->payload;
    free(p);
    return true;
}

bool net_next_event(net_socket *s, net_event *ret)
{
    pthread_mutex_lock(&s->inbox.lock);
    happening *h = s->inbox.happenings;
    if (h)
        s->inbox.happenings = h->next;
    pthread_mutex_unlock(&s->inbox.lock);
    if (!h)
        return false;
    *ret = h->event;
    free(h);
    return true;
}

const void *net_payload_data(const net_payload *p)
{
    return buffer_of(p)->data;
}

size_t net_payload_bytes(const net_payload *p)
{
    return buffer_of(p)->bytes;
}

void net_payload_close(net_payload *p)
{
    payload_end(buffer_of(p));
}

void net_payload_move(net_payload *to, net_payload *from)
{
    *to = *from;
    *buffer_of(from) = (net_buffer){.data = NULL};
}

bool net_peer_equal(const net_peer *a, const net_peer *b)
{
    return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

/* --- waiting --- */

status net_waker_create(net_waker **ret, error *err)
{
    (void)err;
    *ret = xcalloc(1, sizeof **ret);
    pthread_mutex_init(&(*ret)->lock, NULL);
    return OK;
}

void net_waker_destroy(net_waker **w)
{
    if (!w || !*w)
        return;
    pthread_mutex_destroy(&(*w)->lock);
    free(*w);
    *w = NULL;
}

void net_waker_wake(net_waker *w)
{
    pthread_mutex_lock(&w->lock);
    w->woken = true;
    wake(w->sleeper);
    pthread_mutex_unlock(&w->lock);
}

/* Lets `me` be woken by all of them (NULL: no more); true: one has something already. */
static bool attach(net_socket *const *sockets, size_t n, net_waker *waker, sleeper *me)
{
    bool ready = false;
    for (size_t i = 0; i < n; i++) {
        if (!sockets[i])
            continue;
        inbox *in = &sockets[i]->inbox;
        pthread_mutex_lock(&in->lock);
        in->sleeper = me;
        ready |= in->parcels || in->happenings;
        pthread_mutex_unlock(&in->lock);
    }
    if (waker) {
        pthread_mutex_lock(&waker->lock);
        waker->sleeper = me;
        ready |= waker->woken;
        waker->woken &= me != NULL;
        pthread_mutex_unlock(&waker->lock);
    }
    return ready;
}

static void sleep_until_woken(sleeper *me, int timeout_ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&me->lock);
    while (!me->woken) {
        if (timeout_ms < 0)
            pthread_cond_wait(&me->changed, &me->lock);
        else if (pthread_cond_timedwait(&me->changed, &me->lock, &end) == ETIMEDOUT)
            break;
    }
    pthread_mutex_unlock(&me->lock);
}

status net_poll(net_socket *const *sockets, size_t n, net_waker *waker, int timeout_ms, error *err)
{
    (void)err;
    sleeper me = {.woken = false};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&me.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&me.lock, NULL);
    if (!attach(sockets, n, waker, &me))
        sleep_until_woken(&me, timeout_ms);
    attach(sockets, n, waker, NULL);
    pthread_cond_destroy(&me.changed);
    pthread_mutex_destroy(&me.lock);
    return OK;
}

const char *net_library_version(char *buffer, size_t bytes)
{
    snprintf(buffer, bytes, "none");
    return buffer;
}
