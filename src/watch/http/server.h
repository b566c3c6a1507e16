/*
 * An HTTP server over libmicrohttpd, which is opened when one is asked for: one thread, which calls the handler. It
 * only tells: GET and HEAD are answered, all else is refused. Connections (512), their memory (32 KiB each) and their
 * idle time (30 s) are bounded; more wait in the socket's backlog.
 *
 * It listens on the loopback interface and nowhere else, and answers those that name it so (Host), which pages of other
 * sites cannot.
 *
 * Threads: the handler runs on the server's; start and stop belong to one thread.
 */
#ifndef TEQUIO_WATCH_HTTP_SERVER_H
#define TEQUIO_WATCH_HTTP_SERVER_H

#include "common/base/buf.h"
#include "common/base/error.h"

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
} http_answer;

typedef void http_handler(void *user, const http_request *r, http_answer *ret);

typedef struct http_server http_server;

/* `port` 0: any that is free; *ret_port is the one. E_CONFIG: it is in use, or libmicrohttpd is not here. */
MUST_USE status http_server_start(int port, http_handler *handler, void *user, http_server **ret, int *ret_port,
                                  error *err);
void http_server_stop(http_server **s);

#endif
