#include "ps/outbox.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct parcel {
    span span; /* what is sent: of the memory that is `held` */
    outbox *from;
    span *held;
    net_peer to;
    outbox_label what;
    struct parcel *next; /* of those on their way to that peer */
} parcel;

typedef struct account {
    net_peer peer;
    parcel *parcels;
    size_t bytes;
    bool waits; /* was told no */
} account;

struct outbox {
    pthread_mutex_t lock; /* of everything below */
    net_waker *waker;     /* NULL once closed */
    size_t limit, refs;   /* refs: the server's, and one for each parcel under way */
    account *accounts;    /* only of peers with something on its way */
    size_t n_accounts, cap_accounts;
    bool news;
};

outbox *outbox_create(size_t limit, net_waker *waker)
{
    outbox *o = xcalloc(1, sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    o->waker = waker;
    o->limit = limit;
    o->refs = 1;
    return o;
}

/* With the lock, which it gives up. */
static void outbox_unref(outbox *o)
{
    bool last = --o->refs == 0;
    pthread_mutex_unlock(&o->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&o->lock);
    free(o->accounts);
    free(o);
}

void outbox_close(outbox **o)
{
    if (!o || !*o)
        return;
    pthread_mutex_lock(&(*o)->lock);
    (*o)->waker = NULL;
    outbox_unref(*o);
    *o = NULL;
}

static account *outbox_find(outbox *o, const net_peer *peer)
{
    for (size_t i = 0; i < o->n_accounts; i++)
        if (net_peer_equal(&o->accounts[i].peer, peer))
            return &o->accounts[i];
    return NULL;
}

bool outbox_has_room(outbox *o, const net_peer *to, size_t bytes)
{
    pthread_mutex_lock(&o->lock);
    account *a = outbox_find(o, to);
    bool fits = !a || a->bytes + bytes <= o->limit;
    if (!fits)
        a->waits = true;
    pthread_mutex_unlock(&o->lock);
    return fits;
}

/* Half of the limit must be free before a peer that waits is served: a wake-up serves many parts.
 */
static void outbox_settle(outbox *o, account *a, size_t bytes)
{
    a->bytes -= bytes;
    if (a->waits && a->bytes <= o->limit / 2) {
        a->waits = false;
        o->news = true;
        if (o->waker)
            net_waker_wake(o->waker);
    }
    if (!a->bytes)
        *a = o->accounts[--o->n_accounts];
}

static void parcel_left(span *s)
{
    parcel *p = s->owner;
    outbox *o = p->from;
    size_t bytes = s->bytes;
    span_drop(p->held);
    pthread_mutex_lock(&o->lock);
    account *a = outbox_find(o, &p->to);
    BUG_ON(!a);
    parcel **at = &a->parcels;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    outbox_settle(o, a, bytes);
    free(p);
    outbox_unref(o);
}

span *outbox_add(outbox *o, const net_peer *to, outbox_label what, span *held)
{
    parcel *p = xmalloc(sizeof *p);
    *p = (parcel){.from = o, .held = held, .to = *to, .what = what};
    p->span = (span){.data = held->data,
                     .bytes = held->bytes,
                     .refs = 1,
                     .release = parcel_left,
                     .owner = p};
    pthread_mutex_lock(&o->lock);
    account *a = outbox_find(o, to);
    if (!a) {
        GROW(o->accounts, o->cap_accounts, o->n_accounts + 1);
        a = &o->accounts[o->n_accounts++];
        *a = (account){.peer = *to};
    }
    a->bytes += held->bytes;
    p->next = a->parcels;
    a->parcels = p;
    o->refs++;
    pthread_mutex_unlock(&o->lock);
    return &p->span;
}

bool outbox_has(outbox *o, const net_peer *to, outbox_label what)
{
    pthread_mutex_lock(&o->lock);
    const account *a = outbox_find(o, to);
    const parcel *p = a ? a->parcels : NULL;
    while (p && (p->what.part != what.part || p->what.asked != what.asked))
        p = p->next;
    pthread_mutex_unlock(&o->lock);
    return p != NULL;
}

bool outbox_has_news(outbox *o)
{
    pthread_mutex_lock(&o->lock);
    bool news = o->news;
    o->news = false;
    pthread_mutex_unlock(&o->lock);
    return news;
}
