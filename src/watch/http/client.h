/*
 * HTTP requests, one after another, to one server or several, by libcurl. Every wait ends: a server that does not
 * answer at its own limit, all of them at http_client_end_by. Redirections are not followed; proxies and certificates
 * are libcurl's usual ones.
 *
 * Threads: one asks; http_client_end_by is any thread's.
 */
#ifndef TEQUIO_WATCH_HTTP_CLIENT_H
#define TEQUIO_WATCH_HTTP_CLIENT_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct http_client http_client;

enum { HTTP_CLIENT_ANSWER_MOST = 4 << 20 };

typedef struct http_client_options {
    const char *what;           /* is asked, in messages: "an MLflow server" */
    const char *bearer;         /* who asks: a token, or a user and a password; NULL: nobody says */
    const char *user, *password;
    const char *authorities;    /* a file of certificates that are believed beside; NULL: none */
    bool believes_all;          /* any certificate */
} http_client_options;

/* Takes copies. E_CONFIG: there is no libcurl. The main thread's, before others use libcurl. */
MUST_USE status http_client_open(const http_client_options *o, http_client **ret, error *err);
void http_client_close(http_client **c);

typedef struct http_call {
    const char *method, *url;
    const char *type;           /* of the body */
    const void *body;           /* NULL: none, or */
    size_t bytes;
    const char *file;           /* its path */
    int limit_s;                /* for the answer; of a file, for as long as it does not move */
} http_call;

/* The server's answer, whatever its code. E_IO: there is none; E_ABORTED: all waits have ended; else what reading the
 * file failed by. */
MUST_USE status http_client_ask(http_client *c, const http_call *call, int *ret_code, buf *ret, error *err);

/* Waits so long; false: all waits have ended. Returns early when http_client_end_by is called, or was since the last
 * pause. */
bool http_client_pause(http_client *c, int64_t us);
/* From that moment (clock_us) on nothing is waited for. */
void http_client_end_by(http_client *c, int64_t when_us);

/* Appends text as a part of a URL's query. */
void http_client_escape(const char *text, buf *ret);

#endif
