#include "cli/roles/endpoints.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/wait_warning.h"
#include "common/net/net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

typedef enum host_kind { HOST_LOOPBACK, HOST_OURS, HOST_ELSEWHERE, HOST_UNKNOWN } host_kind;

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || !b || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr, 4) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16) == 0;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool is_ours(const struct sockaddr *a)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        found = same_address(i->ifa_addr, a);
    freeifaddrs(all);
    return found;
}

/* Where a host is; its numeric address (brackets around IPv6) when it resolves. */
static host_kind look_up(const char *host, char *ret_numeric, size_t bytes)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(host, NULL, &hints, &list) != 0)
        return HOST_UNKNOWN;
    host_kind kind = is_loopback(list->ai_addr) ? HOST_LOOPBACK
                     : is_ours(list->ai_addr)   ? HOST_OURS
                                                : HOST_ELSEWHERE;
    char text[INET6_ADDRSTRLEN + 64] = "";
    getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
    snprintf(ret_numeric, bytes, list->ai_family == AF_INET6 ? "[%s]" : "%s", text);
    freeaddrinfo(list);
    return kind;
}

/* Addresses of the cluster that are not loopback ones are encrypted without a word; this one is
 * opened by distributed.bind. */
static status check_security(const config *c, const char *endpoint, bool encrypts, error *err)
{
    const char *security = config_str(c, "distributed.security");
    if (encrypts || (security && strcmp(security, "off") == 0))
        return OK;
    return FAIL(err, E_CONFIG,
                "listening on %s is open to the network, but nothing is encrypted, as all "
                "addresses of the cluster are loopback ones: set distributed.security to \"curve\", or to "
                "\"off\" (--insecure) if everybody on that network may be trusted",
                endpoint);
}

static status address_of(const cluster *c, task t, char ret_host[HOST_BYTES], int *ret_port,
                         error *err)
{
    char name[TASK_NAME];
    const char *address = cluster_address(c, t);
    if (!address)
        return FAIL(err, E_CONFIG, "%s has no address in the cluster", task_name(t, name));
    TRYF(address_split(address, ret_host, HOST_BYTES, ret_port, err), err, "%s", task_name(t, name));
    return OK;
}

status endpoint_listen_at(const config *conf, const char *host, int port, bool encrypts, char **ret,
                          error *err)
{
    char numeric[HOST_BYTES] = "";
    const char *bind = config_str(conf, "distributed.bind");
    host_kind kind = look_up(bind ? bind : host, numeric, sizeof numeric);
    if (bind && (kind == HOST_UNKNOWN || kind == HOST_ELSEWHERE) && strcmp(bind, "*") != 0 &&
        strcmp(bind, "0.0.0.0") != 0)
        return FAIL(err, E_CONFIG, "distributed.bind: '%s' is not an address of this host", bind);
    bool everywhere = kind == HOST_UNKNOWN || kind == HOST_ELSEWHERE;
    char *endpoint = xasprintf("tcp://%s:%d", everywhere ? "*" : numeric, port);
    status st = kind == HOST_LOOPBACK ? OK : check_security(conf, endpoint, encrypts, err);
    if (st == OK)
        *ret = endpoint;
    else
        free(endpoint);
    return st;
}

status endpoint_listen(const config *conf, const cluster *c, task t, bool encrypts, char **ret,
                       error *err)
{
    char host[HOST_BYTES];
    int port = 0;
    TRY(address_of(c, t, host, &port, err));
    return endpoint_listen_at(conf, host, port, encrypts, ret, err);
}

static bool is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* By its name, so that a task that comes back under another address is found, but over the protocol
 * that was chosen now: the other side listens on that. */
static char *endpoint_of(const char *host, const char *numeric, int port)
{
    if (is_numeric(host))
        return xasprintf("tcp://%s:%d", numeric, port);
    return xasprintf("%s%s:%d", numeric[0] == '[' ? "tcp://" : NET_TCP4, host, port);
}

status endpoint_dial_at(const config *conf, const char *name, const char *host, int port,
                        const atomic_bool *stop, char **ret, error *err)
{
    char numeric[HOST_BYTES] = "";
    int64_t begin = clock_us();
    int64_t timeout_us = (int64_t)(config_f64(conf, "distributed.start_timeout") * 1e6);
    double waited, limit_s = config_f64(conf, "distributed.wait_warning");
    wait_warning waiting = {0};
    while (look_up(host, numeric, sizeof numeric) == HOST_UNKNOWN) {
        if (stop && atomic_load(stop))
            return FAIL(err, E_PREEMPTED, "preempted before the host of %s, '%s', resolved", name,
                        host);
        if (clock_us() - begin > timeout_us)
            return FAIL(err, E_CONFIG,
                        "%s: host '%s' does not resolve; correct its address or its name service",
                        name, host);
        if (wait_warning_due(&waiting, clock_us(), begin, limit_s, &waited))
            LOG_W("WAIT", "for=%s since=%.1fs: host '%s' does not resolve yet", name, waited, host);
        poll(NULL, 0, 500);
    }
    *ret = endpoint_of(host, numeric, port);
    return OK;
}

status endpoint_dial(const config *conf, const cluster *c, task t, const atomic_bool *stop,
                     char **ret, error *err)
{
    char name[TASK_NAME], host[HOST_BYTES];
    int port = 0;
    TRY(address_of(c, t, host, &port, err));
    return endpoint_dial_at(conf, task_name(t, name), host, port, stop, ret, err);
}

static bool own_address(const struct addrinfo *to, char *ret, size_t bytes)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 && /* sends nothing */
                 getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
                 getnameinfo((struct sockaddr *)&own, size, ret, (socklen_t)bytes, NULL, 0,
                             NI_NUMERICHOST) == 0;
    if (fd >= 0)
        close(fd);
    return found;
}

status endpoint_own_host(const char *host, char *ret, size_t bytes, error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list = NULL;
    int cause = getaddrinfo(host, "9", &hints, &list);
    if (cause)
        return FAIL(err, E_CONFIG, "host '%s': %s", host, gai_strerror(cause));
    bool found = own_address(list, ret, bytes);
    freeaddrinfo(list);
    return found ? OK : FAIL(err, E_IO, "there is no way from this host to '%s'", host);
}
