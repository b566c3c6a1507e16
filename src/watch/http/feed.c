#include "watch/http/feed.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One event as it is sent, shared by all whom it is on its way to. */
typedef struct sent_event {
    size_t holders;
    size_t bytes;
    char text[];
} sent_event;

typedef struct topic {
    uint64_t number;            /* of its newest value: later ones have larger ones */
    sent_event *newest;         /* NULL: it has none */
} topic;

struct http_feed {
    pthread_mutex_t lock;
    topic *topics;
    size_t n;
    uint64_t last;              /* the largest number */
    uint64_t beats;
    sent_event *beat;
    size_t bytes;               /* of all events */
    bool has_ended;
    http_listener *first;
    size_t listeners;
};

struct http_listener {
    http_feed *feed;
    const http_feed_calls *calls;
    void *connection;
    http_listener *before, *next;
    uint64_t upto, beats;       /* it was sent what has no larger number */
    sent_event *current;        /* NULL: none is on its way */
    size_t at;                  /* so many of its bytes are gone */
    bool is_paused;
};

/* It counts in no feed yet. */
static sent_event *make_event(const char *name, const char *data)
{
    char *text = xasprintf(name ? "event: %s\ndata: %s\n\n" : ":\n\n", name, data);
    size_t bytes = strlen(text);
    sent_event *e = xmalloc(sizeof *e + bytes);
    *e = (sent_event){.holders = 1, .bytes = bytes};
    memcpy(e->text, text, bytes);
    free(text);
    return e;
}

static void drop_event(http_feed *f, sent_event **e)
{
    if (*e && --(*e)->holders == 0) {
        f->bytes -= (*e)->bytes;
        free(*e);
    }
    *e = NULL;
}

static bool is_same(const sent_event *a, const sent_event *b)
{
    return a && a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

http_feed *http_feed_new(size_t topics)
{
    http_feed *f = xcalloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    f->topics = xcalloc(topics, sizeof *f->topics);
    f->n = topics;
    f->beat = make_event(NULL, NULL);
    return f;
}

void http_feed_free(http_feed **f)
{
    if (!*f)
        return;
    http_feed_forget(*f);
    free((*f)->beat);
    free((*f)->topics);
    pthread_mutex_destroy(&(*f)->lock);
    free(*f);
    *f = NULL;
}

/* --- telling --- */

static void wake_all(http_feed *f)
{
    for (http_listener *l = f->first; l; l = l->next) {
        if (!l->is_paused)
            continue;
        l->is_paused = false;
        l->calls->go_on(l->connection);
    }
}

void http_feed_tell(http_feed *f, size_t i, const char *event, const char *data)
{
    sent_event *made = make_event(event, data);
    pthread_mutex_lock(&f->lock);
    topic *t = &f->topics[i];
    if (is_same(t->newest, made)) {
        free(made);
    } else {
        drop_event(f, &t->newest);
        f->bytes += made->bytes;
        *t = (topic){.number = ++f->last, .newest = made};
        wake_all(f);
    }
    pthread_mutex_unlock(&f->lock);
}

void http_feed_forget(http_feed *f)
{
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n; i++)
        drop_event(f, &f->topics[i].newest);
    pthread_mutex_unlock(&f->lock);
}

void http_feed_beat(http_feed *f)
{
    pthread_mutex_lock(&f->lock);
    f->beats++;
    wake_all(f);
    pthread_mutex_unlock(&f->lock);
}

size_t http_feed_listeners(http_feed *f)
{
    pthread_mutex_lock(&f->lock);
    size_t n = f->listeners;
    pthread_mutex_unlock(&f->lock);
    return n;
}

size_t http_feed_bytes(http_feed *f)
{
    pthread_mutex_lock(&f->lock);
    size_t n = f->bytes;
    pthread_mutex_unlock(&f->lock);
    return n;
}

void http_feed_end(http_feed *f)
{
    pthread_mutex_lock(&f->lock);
    f->has_ended = true;
    wake_all(f);
    pthread_mutex_unlock(&f->lock);
}

/* --- listening --- */

http_listener *http_feed_listen(http_feed *f, const http_feed_calls *calls, void *connection)
{
    http_listener *l = xcalloc(1, sizeof *l);
    pthread_mutex_lock(&f->lock);
    *l = (http_listener){.feed = f, .calls = calls, .connection = connection, .next = f->first};
    if (f->first)
        f->first->before = l;
    f->first = l;
    f->listeners++;
    pthread_mutex_unlock(&f->lock);
    return l;
}

void http_listener_end(http_listener *l)
{
    http_feed *f = l->feed;
    pthread_mutex_lock(&f->lock);
    *(l->before ? &l->before->next : &f->first) = l->next;
    if (l->next)
        l->next->before = l->before;
    f->listeners--;
    drop_event(f, &l->current);
    pthread_mutex_unlock(&f->lock);
    free(l);
}

/* The earliest value that it was not sent; values in between count no more. */
static topic *next_topic(http_feed *f, uint64_t upto)
{
    topic *found = NULL;
    for (size_t i = 0; i < f->n; i++) {
        topic *t = &f->topics[i];
        if (t->newest && t->number > upto && (!found || t->number < found->number))
            found = t;
    }
    return found;
}

/* Whether an event is on its way. */
static bool take_event(http_listener *l)
{
    http_feed *f = l->feed;
    if (l->current)
        return true;
    topic *t = next_topic(f, l->upto);
    if (!t && l->beats == f->beats)
        return false;
    if (t)
        l->upto = t->number;
    l->beats = f->beats;
    l->current = t ? t->newest : f->beat;
    l->current->holders++;
    l->at = 0;
    return true;
}

static size_t give_bytes(http_listener *l, char *to, size_t most)
{
    size_t left = l->current->bytes - l->at, n = left < most ? left : most;
    memcpy(to, l->current->text + l->at, n);
    l->at += n;
    if (l->at == l->current->bytes)
        drop_event(l->feed, &l->current);
    return n;
}

ssize_t http_listener_read(http_listener *l, char *to, size_t most)
{
    http_feed *f = l->feed;
    ssize_t n = 0;
    pthread_mutex_lock(&f->lock);
    if (f->has_ended) {
        n = -1;
    } else if (take_event(l)) {
        n = (ssize_t)give_bytes(l, to, most);
    } else {
        l->is_paused = true;
        l->calls->pause(l->connection);
    }
    pthread_mutex_unlock(&f->lock);
    return n;
}
