#include "watch/http/server.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "watch/http/access.h"
#include "watch/http/login.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTION_BYTES = 32 << 10,
    BLOCK_BYTES = 16 << 10,
    FORM_BYTES = 256,
    UNSENT_BYTES = 128 << 10,
    MINUTE_US = 60 * 1000000
};

/* --- libmicrohttpd --- */

#define CALLS(X)                                                                                                       \
    X(start_daemon) X(stop_daemon) X(create_response_from_buffer) X(create_response_from_callback)                     \
    X(add_response_header) X(queue_response) X(destroy_response) X(lookup_connection_value) X(is_feature_supported)    \
    X(suspend_connection) X(resume_connection) X(get_daemon_info)

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

status http_check(bool with_tls, error *err)
{
    TRY(open_library(err));
    if (with_tls && mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return FAIL(err, E_CONFIG,
                    "the libmicrohttpd that is here was built without TLS: serve on 127.0.0.1, and reach it by "
                    "ssh -L PORT:127.0.0.1:PORT HOST");
    return OK;
}

/* --- one request --- */

struct http_server {
    struct MHD_Daemon *daemon;
    int fd;
    http_handler *handler;
    void *user;
    const char *const *open_paths;
    access_rule access;
    http_feed *feed;            /* NULL: nobody listens */
    unsigned connections;       /* at most */
    bool speaks_tls;
    size_t held;                /* bytes of answers that are on their way */
    log_pace wrong_tokens;
    atomic_bool has_begun;
    char said[256];             /* by libmicrohttpd until then */
};

/* What has come of a request. */
typedef struct request_begun {
    char form[FORM_BYTES];
    size_t bytes;
    bool is_too_long;
} request_begun;

/* What a handler's answer has beside. */
typedef struct extra_header {
    const char *name;           /* NULL: there is none */
    char value[192];
} extra_header;

const char *http_query(const http_request *r, const char *key)
{
    return mhd.lookup_connection_value(r->own, MHD_GET_ARGUMENT_KIND, key);
}

static http_answer text_answer(int code, const char *type, const char *text)
{
    return (http_answer){.code = code, .type = type, .text = text, .bytes = strlen(text)};
}

static http_answer refusal(int code, const char *why)
{
    return text_answer(code, "text/plain; charset=utf-8", why);
}

/* --- answers --- */

/* A body that is sent in pieces and counted as long as it lives. */
typedef struct held_body {
    http_server *server;
    buf body;
} held_body;

static ssize_t read_body(void *own, uint64_t from, char *to, size_t most)
{
    const held_body *b = own;
    size_t left = b->body.size - (size_t)from, n = left < most ? left : most;
    memcpy(to, b->body.data + from, n);
    return (ssize_t)n;
}

static void drop_body(void *own)
{
    held_body *b = own;
    b->server->held -= b->body.size;
    buf_fini(&b->body);
    free(b);
}

/* --- listeners --- */

static void pause_connection(void *connection)
{
    mhd.suspend_connection(connection);
}

static void go_on(void *connection)
{
    mhd.resume_connection(connection);
}

static ssize_t read_listener(void *own, uint64_t from, char *to, size_t most)
{
    (void)from;
    ssize_t n = http_listener_read(own, to, most);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void end_listener(void *own)
{
    http_listener_end(own);
}

static struct MHD_Response *listen_to(http_server *s, struct MHD_Connection *c)
{
    static const http_feed_calls calls = {.pause = pause_connection, .go_on = go_on};
    http_listener *l = http_feed_listen(s->feed, &calls, c);
    struct MHD_Response *r =
        mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_listener, l, end_listener);
    if (!r)
        http_listener_end(l);
    return r;
}

/* --- sending --- */

static struct MHD_Response *respond(http_server *s, struct MHD_Connection *c, http_answer *a)
{
    if (a->listens)
        return listen_to(s, c);
    if (a->text)
        return mhd.create_response_from_buffer(a->bytes, (void *)(uintptr_t)a->text, MHD_RESPMEM_PERSISTENT);
    held_body *b = xcalloc(1, sizeof *b);
    *b = (held_body){.server = s, .body = a->own};
    a->own = (buf)BUF_INIT;
    s->held += b->body.size;
    struct MHD_Response *r =
        mhd.create_response_from_callback(b->body.size, BLOCK_BYTES, read_body, b, drop_body);
    if (!r)
        drop_body(b);
    return r;
}

/* So that connections that are kept for later leave room for those that ask now. */
static bool is_crowded(const http_server *s)
{
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info && info->num_connections > s->connections / 2;
}

static enum MHD_Result send_answer(http_server *s, struct MHD_Connection *c, http_answer *a, const extra_header *extra)
{
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; "
         "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"},
    };
    struct MHD_Response *r = respond(s, c, a);
    if (!r)
        return MHD_NO; /* no memory: the connection ends */
    mhd.add_response_header(r, "Content-Type", a->type);
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        mhd.add_response_header(r, headers[i][0], headers[i][1]);
    if (extra->name)
        mhd.add_response_header(r, extra->name, extra->value);
    if (!a->listens && is_crowded(s))
        mhd.add_response_header(r, "Connection", "close");
    enum MHD_Result result = mhd.queue_response(c, (unsigned)a->code, r);
    mhd.destroy_response(r);
    return result;
}

/* --- who asks --- */

/* One line a minute, however many there are. */
static void note_wrong_token(http_server *s)
{
    unsigned others;
    if (log_pace_allows(&s->wrong_tokens, clock_us(), &others))
        LOG_W("HTTP_TOKEN", "a request with a wrong token was refused, and %u before it", others);
}

static http_answer log_in(http_server *s, const request_begun *b, extra_header *ret)
{
    if (b->is_too_long || !access_login(&s->access, b->form, b->bytes)) {
        note_wrong_token(s);
        return refusal(403, "this is not the token\n");
    }
    ret->name = "Set-Cookie";
    snprintf(ret->value, sizeof ret->value, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", s->access.cookie,
             s->access.token, s->speaks_tls ? "; Secure" : "");
    return refusal(200, "logged in\n");
}

static http_answer ask_for_token(const char *path, extra_header *ret)
{
    bool is_page = strcmp(path, "/") == 0;
    ret->name = is_page ? "Location" : "WWW-Authenticate";
    snprintf(ret->value, sizeof ret->value, "%s", is_page ? "/login" : "Bearer realm=\"tequio\"");
    return refusal(is_page ? 303 : 401, "a token is needed\n");
}

static bool is_open(const http_server *s, const char *path)
{
    for (size_t i = 0; s->open_paths && s->open_paths[i]; i++)
        if (strcmp(s->open_paths[i], path) == 0)
            return true;
    return false;
}

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static http_answer ask_handler(http_server *s, struct MHD_Connection *c, const char *path)
{
    http_answer a = {0};
    if (s->held + (s->feed ? http_feed_bytes(s->feed) : 0) > HTTP_HELD_MOST)
        return refusal(503, "too much is on its way to others already\n");
    s->handler(s->user, &(http_request){.path = path, .own = c}, &a);
    if (a.listens && http_feed_listeners(s->feed) >= HTTP_LISTENERS)
        return refusal(503, "as many listen already as can: ask again every now and then\n");
    return a;
}

static http_answer answer_request(http_server *s, struct MHD_Connection *c, const char *path, const char *method,
                                  const request_begun *b, extra_header *ret)
{
    bool is_login = s->access.needs_token && strcmp(path, "/login") == 0;
    if (is_login && strcmp(method, "POST") == 0)
        return log_in(s, b, ret);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refusal(405, "GET and HEAD are answered\n");
    if (is_login)
        return text_answer(200, "text/html; charset=utf-8", http_login_page);
    if (is_open(s, path))
        return ask_handler(s, c, path);
    switch (access_judge(&s->access, header_of(c, "Host"), header_of(c, "Authorization"), header_of(c, "Cookie"))) {
    case ACCESS_GRANTED:
        return ask_handler(s, c, path);
    case ACCESS_MISCALLED:
        return refusal(403, "this page is called localhost or 127.0.0.1\n");
    case ACCESS_WRONG:
        note_wrong_token(s);
        break;
    case ACCESS_UNKNOWN:
        break;
    }
    return ask_for_token(path, ret);
}

/* It is called for the head of a request, for pieces of a body, which only a login has, and for the end. */
static enum MHD_Result take_request(void *user, struct MHD_Connection *c, const char *path, const char *method,
                                    const char *version, const char *upload, size_t *upload_bytes, void **own)
{
    static _Thread_local bool gives_way;
    http_server *s = user;
    request_begun *b = *own;
    extra_header extra = {0};
    (void)version;
    if (!gives_way)
        thread_give_way();
    gives_way = true;
    if (!b) {
        *own = xcalloc(1, sizeof *b);
        return MHD_YES;
    }
    if (*upload_bytes) {
        size_t room = sizeof b->form - b->bytes, n = *upload_bytes < room ? *upload_bytes : room;
        memcpy(b->form + b->bytes, upload, n);
        b->bytes += n;
        b->is_too_long = b->is_too_long || n < *upload_bytes;
        *upload_bytes = 0;
        return MHD_YES;
    }
    http_answer a = answer_request(s, c, path, method, b, &extra);
    return send_answer(s, c, &a, &extra);
}

static void end_request(void *user, struct MHD_Connection *c, void **own, enum MHD_RequestTerminationCode why)
{
    (void)user;
    (void)c;
    (void)why;
    free(*own);
    *own = NULL;
}

/* --- life --- */

/* Of its start; later it tells of strangers' mistakes only. */
static void hear_library(void *user, const char *format, va_list list)
{
    http_server *s = user;
    if (atomic_load(&s->has_begun) || s->said[0])
        return;
    vsnprintf(s->said, sizeof s->said, format, list);
    s->said[strcspn(s->said, "\n")] = '\0';
}

/* Its thread begins with all signals blocked: they are for others. */
static struct MHD_Daemon *start_blocked(http_server *s, const http_options *o)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)o->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)o->key},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
                     (s->speaks_tls ? MHD_USE_TLS : 0);
    int idle_s = o->idle_s ? o->idle_s : HTTP_IDLE_S;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = mhd.start_daemon(
        flags, 0, NULL, NULL, take_request, s, MHD_OPTION_EXTERNAL_LOGGER, hear_library, s, MHD_OPTION_LISTEN_SOCKET,
        s->fd, MHD_OPTION_CONNECTION_LIMIT, s->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)idle_s,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)o->per_address, MHD_OPTION_NOTIFY_COMPLETED,
        end_request, NULL, MHD_OPTION_ARRAY, s->speaks_tls ? tls : tls + 2, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

/* What the kernel holds for one that reads nothing; connections have it from their listener. */
static void bound_unsent(int fd)
{
    const int bytes = UNSENT_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

status http_server_start(const http_options *o, http_server **ret, error *err)
{
    http_server *s = xcalloc(1, sizeof *s);
    status st;
    *s = (http_server){.fd = o->fd,
                       .handler = o->handler,
                       .user = o->user,
                       .open_paths = o->open_paths,
                       .feed = o->feed,
                       .connections = (unsigned)(o->connections ? o->connections : HTTP_CONNECTIONS),
                       .speaks_tls = o->certificate,
                       .access.needs_token = o->token,
                       .wrong_tokens.period_us = MINUTE_US};
    snprintf(s->access.token, sizeof s->access.token, "%s", o->token ? o->token : "");
    snprintf(s->access.cookie, sizeof s->access.cookie, "tequio-%d", o->port);
    TRY_OUT(st, http_check(s->speaks_tls, err));
    bound_unsent(s->fd);
    s->daemon = start_blocked(s, o);
    atomic_store(&s->has_begun, true);
    if (!s->daemon)
        st = FAIL(err, s->speaks_tls ? E_CONFIG : E_IO, "libmicrohttpd does not begin%s: %s",
                  s->speaks_tls ? " with this certificate and key" : "", s->said[0] ? s->said : strerror(errno));
out:
    if (st != OK)
        http_server_stop(&s);
    else
        *ret = s;
    return st;
}

void http_server_stop(http_server **s)
{
    if (!*s)
        return;
    if ((*s)->feed)
        http_feed_end((*s)->feed); /* none may be paused when it stops */
    if ((*s)->daemon)
        mhd.stop_daemon((*s)->daemon); /* it closes the socket */
    else
        close((*s)->fd);
    jobkey_wipe(&(*s)->access, sizeof (*s)->access);
    free(*s);
    *s = NULL;
}
