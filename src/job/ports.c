#include "job/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static status fail_listen(int port, const char *task, int cause, error *err)
{
    if (cause == EADDRINUSE)
        return FAIL(err, E_CONFIG,
                    "port %d is in use (%s needs it): choose another with --start-port, or leave "
                    "it out and free ports are found",
                    port, task);
    return FAIL(err, E_IO, "listen on %s:%d for %s: %s", PORTS_HOST, port, task, strerror(cause));
}

status port_listen(int port, const char *task, int *ret_fd, int *ret_port, error *err)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = inet_addr(PORTS_HOST),
    };
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_listen(port, task, errno, err);
    /* a port whose last job just ended is free; one that somebody listens on still is not */
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* on loopback nothing is ever congested: an algorithm that paces (BBR, where it is the default)
     * only delays; accepted connections inherit this one, which every kernel has */
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&at, &bytes)) {
        int cause = errno;
        close(fd);
        return fail_listen(port, task, cause, err);
    }
    *ret_fd = fd;
    *ret_port = ntohs(at.sin_port);
    return OK;
}
