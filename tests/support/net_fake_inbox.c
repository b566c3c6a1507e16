/* See net_fake_inbox.h. Order of locks: inbox or waker, then sleeper. */
#include "support/net_fake_inbox.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A thread that waits in net_poll. */
typedef struct sleeper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
} sleeper;

typedef struct happening {
    struct happening *next;
    net_event event;
} happening;

struct net_waker {
    pthread_mutex_t lock;
    bool woken;
    sleeper *sleeper;
};

/* --- parcels --- */

static void payload_copy(parcel *p)
{
    span *sent = p->payload;
    if (!sent)
        return;
    p->payload = span_copy(sent->data, sent->bytes);
    span_drop(sent);
}

static void view_release(span *view)
{
    span_drop(view->owner);
    free(view);
}

/* The sender's memory in a span of the receiver's own. */
static void payload_view(parcel *p)
{
    span *sent = p->payload;
    if (!sent)
        return;
    p->payload = xmalloc(sizeof *sent);
    *p->payload = (span){.data = sent->data,
                         .bytes = sent->bytes,
                         .writable = true,
                         .refs = 1,
                         .release = view_release,
                         .owner = sent};
}

parcel *parcel_make(uint32_t line, bool is_shared, const void *head, span *payload)
{
    parcel *p = xcalloc(1, sizeof *p);
    p->line = line;
    p->is_shared = is_shared;
    memcpy(p->head, head, NET_HEAD);
    if (payload)
        p->payload = payload->release ? payload : span_copy(payload->data, payload->bytes);
    return p;
}

void parcel_append(parcel **list, parcel *p)
{
    while (*list)
        list = &(*list)->next;
    *list = p;
}

void parcels_drop(parcel *list)
{
    while (list) {
        parcel *next = list->next;
        span_drop(list->payload);
        free(list);
        list = next;
    }
}

/* --- inboxes --- */

void inbox_init(inbox *in)
{
    pthread_mutex_init(&in->lock, NULL);
}

void inbox_fini(inbox *in)
{
    parcels_drop(in->parcels);
    while (in->happenings) {
        happening *next = in->happenings->next;
        free(in->happenings);
        in->happenings = next;
    }
    pthread_mutex_destroy(&in->lock);
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

void inbox_put(inbox *in, parcel *p)
{
    pthread_mutex_lock(&in->lock);
    parcel_append(&in->parcels, p);
    wake(in->sleeper);
    pthread_mutex_unlock(&in->lock);
}

void inbox_tell(inbox *in, net_event event)
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

parcel *inbox_take_back(inbox *in, uint32_t id)
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

void inbox_keep_copies(inbox *in, uint32_t id)
{
    pthread_mutex_lock(&in->lock);
    for (parcel *p = in->parcels; p; p = p->next)
        if (p->line == id)
            payload_copy(p);
    pthread_mutex_unlock(&in->lock);
}

bool inbox_receive(inbox *in, net_message *ret, uint32_t *ret_line)
{
    pthread_mutex_lock(&in->lock);
    parcel *p = in->parcels;
    if (p)
        in->parcels = p->next;
    pthread_mutex_unlock(&in->lock);
    if (!p)
        return false;
    *ret = (net_message){.connection = -1};
    *ret_line = p->line;
    memcpy(ret->head, p->head, NET_HEAD);
    if (p->is_shared)
        payload_view(p);
    else
        payload_copy(p);
    ret->payload = p->payload;
    free(p);
    return true;
}

bool inbox_next_event(inbox *in, net_event *ret)
{
    pthread_mutex_lock(&in->lock);
    happening *h = in->happenings;
    if (h)
        in->happenings = h->next;
    pthread_mutex_unlock(&in->lock);
    if (!h)
        return false;
    *ret = h->event;
    free(h);
    return true;
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
        inbox *in = inbox_of(sockets[i]);
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
