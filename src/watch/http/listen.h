/*
 * Where an HTTP server listens. A place is HOST:PORT, PORT of the loopback interface, *:PORT of all addresses, or fd:N,
 * a socket that listens already, as who began this process opened it. A port of 0 is the kernel's choice. Threads: any;
 * may block in name resolution.
 */
#ifndef TEQUIO_WATCH_HTTP_LISTEN_H
#define TEQUIO_WATCH_HTTP_LISTEN_H

#include "common/base/error.h"

#include <stdbool.h>

typedef struct http_place {
    int fd;             /* listens, close-on-exec; -1: none */
    char address[128];  /* "127.0.0.1:8000", "[::1]:8000" */
    int port;
    bool is_local;      /* nobody but this host can reach it */
    bool is_given;      /* it was fd:N */
} http_place;

#define HTTP_NOWHERE {.fd = -1}

/* What a place says: its port, and whether none but this host could reach it. E_CONFIG: it is none. */
MUST_USE status http_place_read(const char *place, int *ret_port, bool *ret_is_local, error *err);

/* E_CONFIG: it is no place, not of this host, or in use. */
MUST_USE status http_listen(const char *place, http_place *ret, error *err);
void http_place_close(http_place *p);

#endif
