/*
 * What whoever listens to a server is told as it changes: topics, each with its newest value, as server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * Only the newest value of a topic counts. A listener that reads slowly is told fewer of them, one that begins is told
 * all topics as they are, and a value is kept once, however many listen: a feed is as large as its topics, and each
 * listener adds the event that is on its way to it.
 *
 * Threads: any may tell. A listener is read by the server's thread, which `pause` is called on; `go_on` is called by
 * whoever tells. Both are called under the feed's lock, so nothing that is told between is missed.
 */
#ifndef TEQUIO_WATCH_HTTP_FEED_H
#define TEQUIO_WATCH_HTTP_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct http_feed http_feed;

http_feed *http_feed_new(size_t topics);
void http_feed_free(http_feed **f);     /* nobody listens any more */

/* `event` names it, `data` is one line. The value that it has already is not told again. */
void http_feed_tell(http_feed *f, size_t topic, const char *event, const char *data);
/* No topic has a value any more. */
void http_feed_forget(http_feed *f);
/* Every listener is sent a line that says nothing: by that one that is gone is noticed. */
void http_feed_beat(http_feed *f);
size_t http_feed_listeners(http_feed *f);
size_t http_feed_bytes(http_feed *f);   /* of all events that are kept, or on their way */

/* --- the server's side --- */

typedef struct http_feed_calls {
    void (*pause)(void *connection);    /* it is not read until it goes on */
    void (*go_on)(void *connection);
} http_feed_calls;

typedef struct http_listener http_listener;

http_listener *http_feed_listen(http_feed *f, const http_feed_calls *calls, void *connection);
void http_listener_end(http_listener *l);

/* The next bytes, `most` at most; 0: there are none now, and it was paused; -1: the feed has ended. */
ssize_t http_listener_read(http_listener *l, char *to, size_t most);

/* All go on, and find that the feed has ended. */
void http_feed_end(http_feed *f);

#endif
