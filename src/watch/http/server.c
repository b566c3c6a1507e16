#include "watch/http/server.h"

#include "common/base/alloc.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 512, CONNECTION_BYTES = 32 << 10, IDLE_S = 30, BACKLOG = 64 };

/* --- libmicrohttpd --- */

#define CALLS(X)                                                                                                       \
    X(start_daemon) X(stop_daemon) X(create_response_from_buffer) X(add_response_header) X(queue_response)             \
    X(destroy_response) X(lookup_connection_value)

static struct {
#define CALL(name) __typeof__(&MHD_##name) name;
    CALLS(CALL)
#undef CALL
} mhd;

static status find_calls(void *library, error *err)
{
    static const struct {
        const char *name;
        void *place;
    } calls[] = {
#define CALL(name) {"MHD_" #name, &mhd.name},
        CALLS(CALL)
#undef CALL
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        void *found = dlsym(library, calls[i].name);
        if (!found)
            return FAIL(err, E_CONFIG, "libmicrohttpd is too old: it lacks %s; 0.9.70 has it", calls[i].name);
        memcpy(calls[i].place, &found, sizeof found);
    }
    return OK;
}

static status open_library(error *err)
{
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return FAIL(err, E_CONFIG,
                    "pages are served by libmicrohttpd, which is not here: %s; Debian has it in libmicrohttpd12",
                    dlerror());
    return find_calls(library, err);
}

/* --- one request --- */

struct http_server {
    struct MHD_Daemon *daemon;
    int fd;
    http_handler *handler;
    void *user;
};

const char *http_query(const http_request *r, const char *key)
{
    return mhd.lookup_connection_value(r->own, MHD_GET_ARGUMENT_KIND, key);
}

static http_answer refusal(int code, const char *why)
{
    return (http_answer){.code = code, .type = "text/plain; charset=utf-8", .text = why, .bytes = strlen(why)};
}

/* By a name of the loopback interface, with whatever port: it may be forwarded. Pages of other sites, whose names an
 * attacker can make point here, are called otherwise. */
static bool is_called_right(struct MHD_Connection *c)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    for (size_t i = 0; host && i < COUNT_OF(names); i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':'))
            return true;
    }
    return false;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, http_answer *a)
{
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; "
         "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"},
    };
    const void *body = a->text ? a->text : a->own.data;
    struct MHD_Response *r =
        mhd.create_response_from_buffer(a->text ? a->bytes : a->own.size, (void *)(uintptr_t)(body ? body : ""),
                                        a->text ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    buf_fini(&a->own);
    if (!r)
        return MHD_NO; /* no memory: the connection ends */
    mhd.add_response_header(r, "Content-Type", a->type);
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        mhd.add_response_header(r, headers[i][0], headers[i][1]);
    enum MHD_Result result = mhd.queue_response(c, (unsigned)a->code, r);
    mhd.destroy_response(r);
    return result;
}

/* It is called once for the head of a request, whose body would follow, and once at its end. */
static enum MHD_Result take_request(void *user, struct MHD_Connection *c, const char *path, const char *method,
                                    const char *version, const char *upload, size_t *upload_bytes, void **is_begun)
{
    static int begun;
    http_server *s = user;
    http_answer a;
    (void)version;
    (void)upload;
    if (!*is_begun) {
        *is_begun = &begun;
        return MHD_YES;
    }
    if (*upload_bytes) {
        *upload_bytes = 0; /* nobody reads it */
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        a = refusal(405, "GET and HEAD are answered\n");
    else if (!is_called_right(c))
        a = refusal(403, "this page is called localhost or 127.0.0.1\n");
    else
        s->handler(s->user, &(http_request){.path = path, .own = c}, memset(&a, 0, sizeof a));
    return send_answer(c, &a);
}

/* --- life --- */

static status listen_here(int port, int *ret_fd, int *ret_port, error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return FAIL(err, E_IO, "make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        status st = FAIL(err, errno == EADDRINUSE ? E_CONFIG : E_IO, "listen on port %d: %s", port, strerror(errno));
        close(fd);
        return st;
    }
    *ret_fd = fd;
    *ret_port = ntohs(at.sin_port);
    return OK;
}

status http_server_start(int port, http_handler *handler, void *user, http_server **ret, int *ret_port, error *err)
{
    TRY(open_library(err));
    http_server *s = xcalloc(1, sizeof *s);
    *s = (http_server){.fd = -1, .handler = handler, .user = user};
    status st;
    TRY_OUT(st, listen_here(port, &s->fd, ret_port, err));
    s->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, take_request, s, MHD_OPTION_LISTEN_SOCKET,
                                 s->fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
    st = s->daemon ? OK : FAIL(err, E_IO, "libmicrohttpd does not begin: %s", strerror(errno));
out:
    if (st != OK)
        http_server_stop(&s);
    *ret = s;
    return st;
}

void http_server_stop(http_server **s)
{
    if (!*s)
        return;
    if ((*s)->daemon)
        mhd.stop_daemon((*s)->daemon); /* it closes the socket */
    else if ((*s)->fd >= 0)
        close((*s)->fd);
    free(*s);
    *s = NULL;
}
