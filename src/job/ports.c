#include "job/ports.h"

#include "common/net/byte_limit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} address;

/* 0 bytes: not a number. */
static socklen_t address_of(const char *host, int port, address *ret)
{
    uint16_t at = htons((uint16_t)port);
    *ret = (address){.six = {.sin6_family = AF_INET6, .sin6_port = at, .sin6_addr = in6addr_any}};
    if (!host || inet_pton(AF_INET6, host, &ret->six.sin6_addr) == 1)
        return sizeof ret->six;
    *ret = (address){.four = {.sin_family = AF_INET, .sin_port = at}};
    return inet_pton(AF_INET, host, &ret->four.sin_addr) == 1 ? sizeof ret->four : 0;
}

/* Returns errno, 0 when it listens. */
static int ports_open_at(address *at, socklen_t bytes, int *ret_fd, int *ret_port)
{
    int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    /* a port whose last job just ended is free; one that somebody listens on still is not */
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    /* on loopback nothing is ever congested: an algorithm that paces (BBR, where it is the default)
     * only delays; accepted connections inherit this one, which every kernel has */
    if (at->any.sa_family == AF_INET && ntohl(at->four.sin_addr.s_addr) >> 24 == 127)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    (void)byte_limit_keep_syns(fd); /* its process may limit those too who come before it runs */
    if (bind(fd, &at->any, bytes) || listen(fd, SOMAXCONN) || getsockname(fd, &at->any, &bytes)) {
        int cause = errno;
        close(fd);
        return cause;
    }
    *ret_fd = fd;
    *ret_port = ntohs(at->any.sa_family == AF_INET6 ? at->six.sin6_port : at->four.sin_port);
    return 0;
}

status port_listen(int port, const char *task, int *ret_fd, int *ret_port, error *err)
{
    address at;
    int cause = ports_open_at(&at, address_of(PORTS_HOST, port, &at), ret_fd, ret_port);
    if (cause == EADDRINUSE)
        return FAIL(err, E_CONFIG,
                    "port %d is in use (%s needs it): choose another with --start-port, or leave "
                    "it out and free ports are found",
                    port, task);
    return cause ? FAIL(err, E_IO, "listen on %s:%d for %s: %s", PORTS_HOST, port, task,
                        strerror(cause))
                 : OK;
}

status port_open(const char *host, int port, int *ret_fd, int *ret_port, error *err)
{
    address at;
    socklen_t bytes = address_of(host, port, &at);
    if (!bytes)
        return FAIL(err, E_CONFIG, "listen on '%s': not a numeric address", host);
    int cause = ports_open_at(&at, bytes, ret_fd, ret_port);
    if (cause == EAFNOSUPPORT && !host) /* a kernel without IPv6 */
        cause = ports_open_at(&at, address_of("0.0.0.0", port, &at), ret_fd, ret_port);
    return cause ? FAIL(err, cause == EADDRINUSE ? E_CONFIG : E_IO, "listen on %s port %d: %s",
                        host ? host : "all addresses", port, strerror(cause))
                 : OK;
}
