#include "watch/http/listen.h"

#include "common/base/alloc.h"
#include "common/cluster/cluster.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST_BYTES = 256, PORT_BYTES = 8 };

/* --- what a place says --- */

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && digits < 6 && !text[digits] && atoi(text) <= PORT_MOST;
}

/* `ret_host` is empty for all addresses. */
static status split(const char *place, char ret_host[HOST_BYTES], char ret_port[PORT_BYTES], error *err)
{
    const char *colon = strrchr(place, ':'), *port = colon ? colon + 1 : place, *host = colon ? place : "127.0.0.1";
    size_t n = colon ? (size_t)(colon - place) : strlen(host);
    bool in_brackets = n > 2 && host[0] == '[' && host[n - 1] == ']';
    bool is_bare_ipv6 = !in_brackets && memchr(host, ':', n);
    if (!is_port(port) || n == 0 || n >= HOST_BYTES || is_bare_ipv6)
        return FAIL(err, E_CONFIG,
                    "'%s' is no place to listen at: it must be HOST:PORT, as 127.0.0.1:8000 or [::1]:8000, or a PORT "
                    "of 127.0.0.1; port 0 is any that is free", place);
    snprintf(ret_host, HOST_BYTES, "%.*s", (int)(n - 2 * in_brackets), host + in_brackets);
    snprintf(ret_port, PORT_BYTES, "%s", port);
    if (strcmp(ret_host, "*") == 0)
        ret_host[0] = '\0';
    return OK;
}

status http_place_read(const char *place, int *ret_port, bool *ret_is_local, error *err)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    TRY(split(place, host, port, err));
    *ret_port = atoi(port);
    *ret_is_local = host_is_loopback(host);
    return OK;
}

/* --- sockets --- */

static bool is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static status find_place(int fd, http_place *ret, error *err)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;
    char host[HOST_BYTES], port[PORT_BYTES];
    if (getsockname(fd, (struct sockaddr *)&at, &bytes) != 0)
        return FAIL(err, E_CONFIG, "descriptor %d is no socket: %s", fd, strerror(errno));
    int cause = getnameinfo((struct sockaddr *)&at, bytes, host, sizeof host, port, sizeof port,
                            NI_NUMERICHOST | NI_NUMERICSERV);
    if (cause)
        return FAIL(err, E_CONFIG, "descriptor %d listens at no address: %s", fd, gai_strerror(cause));
    *ret = (http_place){.fd = fd, .port = atoi(port), .is_local = is_loopback(&at)};
    snprintf(ret->address, sizeof ret->address, at.ss_family == AF_INET6 ? "[%.64s]:%s" : "%.64s:%s", host, port);
    return OK;
}

/* errno; 0: it listens. */
static int open_at(const struct addrinfo *a, int *ret_fd)
{
    int on = 1, off = 0, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int cause = errno;
    close(fd);
    return cause;
}

/* Of all addresses the one that takes both kinds comes first. */
static int open_first(const struct addrinfo *list, bool is_any, int *ret_fd)
{
    int cause = EADDRNOTAVAIL;
    for (int turn = 0; turn < 2; turn++)
        for (const struct addrinfo *a = list; a; a = a->ai_next)
            if (!is_any || (a->ai_family == AF_INET6) == (turn == 0)) {
                cause = open_at(a, ret_fd);
                if (!cause || cause == EADDRINUSE)
                    return cause;
            }
    return cause;
}

status http_listen(const char *place, http_place *ret, error *err)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *list = NULL;
    int fd, end = 0;
    if (sscanf(place, "fd:%8d%n", &fd, &end) == 1 && !place[end]) {
        TRYF(find_place(fd, ret, err), err, "listen at '%s'", place);
        ret->is_given = true;
        return OK;
    }
    TRY(split(place, host, port, err));
    int unknown = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
    if (unknown)
        return FAIL(err, E_CONFIG, "listen at '%s': %s", place, gai_strerror(unknown));
    int cause = open_first(list, !host[0], &fd);
    freeaddrinfo(list);
    if (cause == EADDRINUSE)
        return FAIL(err, E_CONFIG, "port %s is in use on %s: choose another, or 0, and one that is free is found", port,
                    host[0] ? host : "this host");
    if (cause)
        return FAIL(err, E_CONFIG, "listen at '%s': %s", place, strerror(cause));
    status st = find_place(fd, ret, err);
    if (st != OK)
        close(fd);
    return st;
}

void http_place_close(http_place *p)
{
    if (p->fd >= 0)
        close(p->fd);
    *p = (http_place)HTTP_NOWHERE;
}
