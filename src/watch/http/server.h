/*
 * An HTTP server over libmicrohttpd, which is opened when one is asked for: one thread, which calls the handler. It
 * only tells: GET and HEAD are answered, all else is refused but a login, which sets a cookie. Whom it tells, access.h
 * says.
 *
 * Bounded are the connections (more wait in the socket's backlog), the memory of each (32 KiB), the time in which
 * nothing moves, and the answers that are on their way (HTTP_HELD_MOST; then 503). Whoever listens to a feed (feed.h)
 * keeps its connection until it hangs up or takes nothing for that time; HTTP_LISTENERS do at most, then 503. Once more
 * than half of all connections are in use each ends with its answer.
 *
 * Threads: the handler runs on the server's, which has all signals blocked and gives way to all others; start and stop
 * belong to one thread.
 */
#ifndef TEQUIO_WATCH_HTTP_SERVER_H
#define TEQUIO_WATCH_HTTP_SERVER_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "watch/http/feed.h"

#include <stdbool.h>

enum { HTTP_CONNECTIONS = 768, HTTP_LISTENERS = 512, HTTP_IDLE_S = 30, HTTP_HELD_MOST = 128 << 20 };

typedef struct http_request {
    const char *path;       /* "/api/runs", decoded */
    void *own;
} http_request;

/* The value of ?KEY=, decoded; NULL: there is none. */
const char *http_query(const http_request *r, const char *key);

typedef struct http_answer {
    int code;               /* 200, 404, ... */
    const char *type;       /* "application/json" */
    const char *text;       /* kept for ever, with its `bytes`; NULL: `own` is the body */
    size_t bytes;
    buf own;                /* moved in */
    bool listens;           /* all that the server's feed tells, from now on, in place of a body */
} http_answer;

typedef void http_handler(void *user, const http_request *r, http_answer *ret);

typedef struct http_server http_server;

typedef struct http_options {
    int fd;                         /* a socket that listens (listen.h); the server's from then on */
    int port;                       /* where it does */
    http_handler *handler;
    void *user;
    http_feed *feed;                /* NULL: there is none, and no answer listens */
    const char *token;              /* NULL: none is needed; copied */
    const char *const *open_paths;  /* whoever asks is told of these; NULL at the end; NULL: there are none */
    const char *certificate, *key;  /* PEM, of TLS; NULL: it is not spoken */
    int connections;                /* at a time; 0: HTTP_CONNECTIONS */
    int per_address;                /* of these, from one address; 0: all */
    int idle_s;                     /* in which nothing moves; 0: HTTP_IDLE_S */
} http_options;

/* E_CONFIG: libmicrohttpd is not here, or with `with_tls` has none. */
MUST_USE status http_check(bool with_tls, error *err);

/* E_CONFIG: likewise, or certificate and key are none. The socket is closed then, too. */
MUST_USE status http_server_start(const http_options *o, http_server **ret, error *err);
void http_server_stop(http_server **s);

#endif
