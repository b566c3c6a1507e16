/*
 * A line joins a dial and a listener. Its two ends are pointers that become NULL when that side
 * closes; then nothing is delivered there any more.
 *
 * Order of locks: registry, a listener's list of lines, line, inbox.
 */
#include "support/net_fake.h"

#include "common/base/alloc.h"
#include "support/net_fake_inbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIAL, LISTENER, FIRST_PORT = 50000, ENDPOINT = 256, ENDPOINTS = 4 };

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
    bool is_up; /* a dial whose NET_UP was told */
    pthread_mutex_t lines_lock;
    line **lines; /* a listener's */
    size_t n_lines, cap_lines;
};

/* Listeners, and dials that wait for one. */
static struct {
    pthread_mutex_t lock;
    net_socket **listeners, **waiting;
    size_t n_listeners, cap_listeners, n_waiting, cap_waiting;
    uint32_t lines;
    int port;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .port = FIRST_PORT};

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

void net_set_send_timeout(net *n, int ms)
{
    (void)n;
    (void)ms;
}

void net_destroy(net **n)
{
    if (!n)
        return;
    free(*n);
    *n = NULL;
}

void net_share_memory(net *n)
{
    (void)n; /* it is all one memory here */
}

void net_limit_strangers(net *n, int tasks)
{
    (void)n, (void)tasks; /* there are none here */
}

void net_admit(net_socket *listener, int connection)
{
    (void)listener, (void)connection;
}

void net_watch_memory(net_socket *s, const net_memory *m)
{
    (void)s, (void)m;
}

status net_use_key(net *n, const struct jobkey *key, error *err)
{
    (void)n, (void)key, (void)err;
    return OK;
}

static net_socket *socket_open(const net *n, bool is_listener)
{
    net_socket *s = xcalloc(1, sizeof *s);
    s->net = n;
    s->is_listener = is_listener;
    inbox_init(&s->inbox);
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

uint32_t net_peer_number(const net_socket *s, const net_peer *peer)
{
    uint32_t number = s->is_listener ? 0 : s->dial->id;
    if (peer && peer->size >= sizeof number)
        memcpy(&number, peer->id, sizeof number);
    return number;
}

const char *net_endpoint(const net_socket *s)
{
    return s->endpoint;
}

bool net_is_local(const net_socket *s)
{
    return !s->is_listener && s->dial->is_local;
}

bool net_is_up(const net_socket *s)
{
    return s->is_up || net_is_local(s);
}

uint64_t net_dropped(const net_socket *s)
{
    (void)s;
    return 0;
}

uint64_t net_refused(const net_socket *s)
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

status net_send(net_socket *s, const net_peer *to, const void *head, span *payload, error *err)
{
    if (!s->is_listener) {
        /* a lost line says so by its event */
        line_carry(s->dial, DIAL, parcel_make(s->dial->id, s->dial->is_local, head, payload));
        return OK;
    }
    line *l = line_of_peer(s, to);
    parcel *p = parcel_make(l ? l->id : 0, l && l->is_local, head, payload);
    if (l && line_carry(l, LISTENER, p))
        return OK;
    if (!l)
        parcels_drop(p);
    return FAIL(err, E_LOST, "the peer is gone");
}

bool net_receive(net_socket *s, net_message *ret)
{
    uint32_t from;
    if (!inbox_receive(&s->inbox, ret, &from))
        return false;
    if (!s->is_listener)
        return true;
    ret->connection = (int)from;
    ret->from.size = sizeof from;
    memcpy(ret->from.id, &from, sizeof from);
    return true;
}

bool net_next_event(net_socket *s, net_event *ret)
{
    bool is_told = inbox_next_event(&s->inbox, ret);
    s->is_up |= is_told && ret->kind == NET_UP;
    return is_told;
}

inbox *inbox_of(net_socket *s)
{
    return &s->inbox;
}

const char *net_library_version(char *buffer, size_t bytes)
{
    snprintf(buffer, bytes, "none");
    return buffer;
}
