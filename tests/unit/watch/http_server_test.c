/* The HTTP server, by raw sockets: what it answers, what it refuses, and whom it does not wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "watch/http/listen.h"
#include "watch/http/server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD = 200, LARGE = 3 << 20, HUNGRY = 60, TOPICS = 3, EVENT = 256 << 10, TELLS = 400 };

#define TOKEN "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

typedef struct scene {
    http_server *server;
    http_feed *feed;
    int port;
} scene;

static void answer(void *user, const http_request *r, http_answer *ret)
{
    (void)user;
    const char *word = http_query(r, "word");
    *ret = (http_answer){.code = 200, .type = "text/plain"};
    static const char some[LARGE];
    if (strcmp(r->path, "/events") == 0)
        *ret = (http_answer){.code = 200, .type = "text/event-stream", .listens = true};
    else if (strcmp(r->path, "/large") == 0)
        buf_add(&ret->own, some, sizeof some);
    else
        buf_addf(&ret->own, "%s %s", r->path, word ? word : "-");
}

static int set_up_with(void **state, const char *token, int idle_s)
{
    static const char *const open_paths[] = {"/healthz", NULL};
    scene *s = xcalloc(1, sizeof *s);
    http_place at = HTTP_NOWHERE;
    error err = ERROR_INIT;
    s->feed = http_feed_new(TOPICS);
    status st = http_listen("127.0.0.1:0", &at, &err);
    if (st == OK)
        st = http_server_start(&(http_options){.fd = at.fd,
                                               .port = at.port,
                                               .handler = answer,
                                               .feed = s->feed,
                                               .idle_s = idle_s,
                                               .token = token,
                                               .open_paths = token ? open_paths : NULL},
                               &s->server, &err);
    s->port = at.port;
    *state = s;
    if (st == OK)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    http_feed_free(&s->feed);
    free(s);
    return -1;
}

static int set_up(void **state)
{
    return set_up_with(state, NULL, 0);
}

static int set_up_hasty(void **state)
{
    return set_up_with(state, NULL, 1);
}

static int set_up_locked(void **state)
{
    return set_up_with(state, TOKEN, 0);
}

static int tear_down(void **state)
{
    scene *s = *state;
    http_server_stop(&s->server);
    if (s->feed)
        assert_int_equal(http_feed_listeners(s->feed), 0);
    http_feed_free(&s->feed);
    free(s);
    return 0;
}

static int dial(const scene *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that is answered until the server hangs up. */
static void hear(int fd, buf *ret)
{
    char some[65536];
    for (ssize_t n; (n = recv(fd, some, sizeof some, 0)) > 0;)
        buf_add(ret, some, (size_t)n);
    buf_adds(ret, "");
    close(fd);
}

/* A request of that first line and Host, and how the answer begins and ends. */
static void expect(const scene *s, const char *line, const char *host, const char *begins, const char *ends)
{
    char text[512];
    buf got = BUF_INIT;
    int fd = dial(s);
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host);
    say(fd, text);
    hear(fd, &got);
    assert_memory_equal(got.data, begins, strlen(begins));
    assert_true(got.size >= strlen(ends));
    assert_string_equal(got.data + got.size - strlen(ends), ends);
    buf_fini(&got);
}

static const char *here(const scene *s)
{
    static char host[32];
    snprintf(host, sizeof host, "127.0.0.1:%d", s->port);
    return host;
}

static void requests_are_answered(void **state)
{
    const scene *s = *state;
    char name[32];
    snprintf(name, sizeof name, "LocalHost:%d", s->port);
    expect(s, "GET /a?word=b%20c", here(s), "HTTP/1.1 200 ", "\r\n\r\n/a b c");
    expect(s, "GET /a%2Fb", name, "HTTP/1.1 200 ", "\r\n\r\n/a/b -");
    expect(s, "GET /a", "localhost:9000", "HTTP/1.1 200 ", "/a -"); /* forwarded from another port */
    expect(s, "HEAD /a", here(s), "HTTP/1.1 200 ", "\r\n\r\n");
}

static void all_else_is_refused(void **state)
{
    const scene *s = *state;
    expect(s, "POST /a", here(s), "HTTP/1.1 405 ", "GET and HEAD are answered\n");
    expect(s, "DELETE /a", here(s), "HTTP/1.1 405 ", "GET and HEAD are answered\n");
    expect(s, "GET /a", "example.org", "HTTP/1.1 403 ", "this page is called localhost or 127.0.0.1\n");
    expect(s, "GET /a", "localhost.example.org:80", "HTTP/1.1 403 ", "this page is called localhost or 127.0.0.1\n");
}

/* Whoever says half a request, nonsense or too much, or reads nothing, is in nobody's way. */
static void nobody_is_waited_for(void **state)
{
    const scene *s = *state;
    buf got = BUF_INIT, long_line = BUF_INIT;
    int half = dial(s), reads_nothing = dial(s), nonsense = dial(s), endless = dial(s);
    say(half, "GET /a HTTP/1.1\r\nHost: ");
    for (int i = 0; i < 4; i++)
        say(reads_nothing, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    say(nonsense, "\x01\x02\r\n\r\n");
    hear(nonsense, &got);
    buf_adds(&long_line, "GET /");
    for (int i = 0; i < 100 * 1000; i++)
        buf_add(&long_line, "x", 1);
    (void)!send(endless, long_line.data, long_line.size, MSG_NOSIGNAL); /* it may hang up in the midst of it */
    expect(s, "GET /after", here(s), "HTTP/1.1 200 ", "/after -");
    buf_fini(&long_line);
    buf_fini(&got);
    close(endless);
    close(reads_nothing);
    close(half);
}

static void a_crowd_leaves_it_well(void **state)
{
    const scene *s = *state;
    int fds[CROWD];
    for (int i = 0; i < CROWD; i++)
        fds[i] = dial(s);
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
    expect(s, "GET /after", here(s), "HTTP/1.1 200 ", "/after -");
}

/* Answers that nobody takes are so much memory; beyond it others are told to come again, until these are gone. */
static void what_nobody_takes_is_bounded(void **state)
{
    const scene *s = *state;
    int fds[HUNGRY];
    for (int i = 0; i < HUNGRY; i++) {
        fds[i] = dial(s);
        say(fds[i], "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    expect(s, "GET /after", here(s), "HTTP/1.1 503 ", "too much is on its way to others already\n");
    for (int i = 0; i < HUNGRY; i++)
        close(fds[i]);
    for (bool is_well = false; !is_well;) {
        buf got = BUF_INIT;
        int fd = dial(s);
        say(fd, "GET /after HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        hear(fd, &got);
        is_well = strncmp(got.data, "HTTP/1.1 200 ", 13) == 0;
        buf_fini(&got);
    }
}

/* --- listeners --- */

/* One that listens, with a buffer of so many bytes, 0: the usual one. */
static int listen_with(const scene *s, const char *version, int bytes)
{
    char text[64];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (bytes)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    snprintf(text, sizeof text, "GET /events HTTP/%s\r\nHost: localhost\r\n\r\n", version);
    say(fd, text);
    return fd;
}

/* Reads until `words` have come; what came is in `ret`. */
static void hear_until(int fd, const char *words, buf *ret)
{
    char some[65536];
    buf_clear(ret);
    buf_adds(ret, "");
    while (!memmem(ret->data, ret->size, words, strlen(words))) {
        ssize_t n = recv(fd, some, sizeof some, 0);
        assert_true(n > 0);
        buf_add(ret, some, (size_t)n);
    }
}

static void listeners_are_told_the_newest(void **state)
{
    const scene *s = *state;
    buf got = BUF_INIT;
    http_feed_tell(s->feed, 2, "two", "old");
    http_feed_tell(s->feed, 0, "zero", "{\"a\": 1}");
    http_feed_tell(s->feed, 2, "two", "new");
    int first = listen_with(s, "1.1", 0), second = listen_with(s, "1.1", 0);
    hear_until(first, "event: two\ndata: new\n\n", &got);
    assert_memory_equal(got.data, "HTTP/1.1 200 ", 13);
    assert_non_null(strstr(got.data, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(got.data, "event: zero\ndata: {\"a\": 1}\n\n"));
    assert_null(strstr(got.data, "old"));
    http_feed_tell(s->feed, 2, "two", "new"); /* as it was */
    http_feed_tell(s->feed, 1, "one", "x");
    hear_until(first, "event: one\ndata: x\n\n", &got);
    assert_null(strstr(got.data, "two"));
    http_feed_beat(s->feed);
    hear_until(first, "\n:\n\n", &got);
    hear_until(second, "event: one\ndata: x\n\n", &got);
    http_feed_forget(s->feed);
    assert_int_equal(http_feed_bytes(s->feed), 0);
    close(first);
    while (http_feed_listeners(s->feed) > 1) /* that it has hung up shows as it is written to */
        http_feed_beat(s->feed);
    close(second);
    buf_fini(&got);
}

/* However much is told meanwhile, what is kept for it is one event, until it is left, after a second here. */
static void one_that_reads_nothing_is_left(void **state)
{
    const scene *s = *state;
    buf got = BUF_INIT;
    char *text = xmalloc(EVENT + 1), last[32] = "";
    memset(text, 'x', EVENT);
    text[EVENT] = '\0';
    int deaf = listen_with(s, "1.1", 4096), hears = listen_with(s, "1.0", 0); /* of which no chunks are made */
    for (int i = 0; http_feed_listeners(s->feed) < 2; i++)
        http_feed_beat(s->feed);
    size_t most = 0;
    for (int i = 0; i < TELLS || http_feed_listeners(s->feed) > 1; i++) {
        snprintf(last, sizeof last, "%09d\n\n", i);
        memcpy(text + EVENT - 9, last, 9);
        http_feed_tell(s->feed, 0, "large", text);
        hear_until(hears, last, &got); /* others are told as ever */
        if (most < http_feed_bytes(s->feed))
            most = http_feed_bytes(s->feed);
    }
    assert_true(most <= 3 * (EVENT + 64)); /* the newest, and what is on its way to the two */
    close(deaf);
    close(hears);
    free(text);
    buf_fini(&got);
}

static void too_many_listeners_are_refused(void **state)
{
    const scene *s = *state;
    int fds[HTTP_LISTENERS];
    buf got = BUF_INIT;
    http_feed_tell(s->feed, 0, "zero", "x");
    for (int i = 0; i < HTTP_LISTENERS; i++)
        fds[i] = listen_with(s, "1.1", 0);
    for (int i = 0; i < HTTP_LISTENERS; i++)
        hear_until(fds[i], "data: x\n\n", &got);
    expect(s, "GET /events", here(s), "HTTP/1.1 503 ", "ask again every now and then\n");
    int kept = dial(s);
    say(kept, "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    hear(kept, &got); /* it ends by itself: connections are few now */
    assert_non_null(strstr(got.data, "Connection: close\r\n"));
    http_feed_tell(s->feed, 0, "zero", "y");
    for (int i = 0; i < HTTP_LISTENERS; i++) {
        hear_until(fds[i], "data: y\n\n", &got);
        close(fds[i]);
    }
    buf_fini(&got);
}

/* --- with a token --- */

/* A request with further lines in its head and perhaps a body. */
static void ask(const scene *s, const char *line, const char *more, buf *ret)
{
    buf text = BUF_INIT;
    int fd = dial(s);
    buf_addf(&text, "%s HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n%s", line, more);
    say(fd, text.data);
    hear(fd, ret);
    buf_fini(&text);
}

static void expect_code(const scene *s, const char *line, const char *more, const char *code)
{
    buf got = BUF_INIT;
    ask(s, line, more, &got);
    assert_memory_equal(got.data + strlen("HTTP/1.1 "), code, strlen(code));
    buf_fini(&got);
}

static void the_token_lets_in(void **state)
{
    const scene *s = *state;
    expect_code(s, "GET /a", "\r\n", "401");
    expect_code(s, "GET /", "\r\n", "303");
    expect_code(s, "GET /events", "\r\n", "401");
    expect_code(s, "GET /healthz", "\r\n", "200");
    expect_code(s, "GET /login", "\r\n", "200");
    expect_code(s, "GET /a", "Authorization: Bearer " TOKEN "\r\n\r\n", "200");
    expect_code(s, "GET /a", "Authorization: Bearer " TOKEN "0\r\n\r\n", "401");
    expect_code(s, "GET /a", "Authorization: Basic " TOKEN "\r\n\r\n", "401");
    expect_code(s, "GET /a?token=" TOKEN, "\r\n", "401");
    expect_code(s, "PUT /a", "Authorization: Bearer " TOKEN "\r\n\r\n", "405");
}

static void a_login_sets_a_cookie(void **state)
{
    const scene *s = *state;
    buf got = BUF_INIT;
    char cookie[128], line[256];
    ask(s, "POST /login", "Content-Length: 70\r\n\r\ntoken=" TOKEN, &got);
    snprintf(cookie, sizeof cookie, "tequio-%d=" TOKEN, s->port);
    snprintf(line, sizeof line, "Set-Cookie: %s; Path=/; HttpOnly; SameSite=Strict\r\n", cookie);
    assert_non_null(strstr(got.data, line));
    buf_fini(&got);
    snprintf(line, sizeof line, "Cookie: a=b; %s; c=d\r\n\r\n", cookie);
    expect_code(s, "GET /a", line, "200");
    line[strlen("Cookie: a=b; tequio-")] = '0'; /* of another port */
    expect_code(s, "GET /a", line, "401");
    expect_code(s, "POST /login", "Content-Length: 9\r\n\r\ntoken=000", "403");
    expect_code(s, "POST /login", "Content-Length: 0\r\n\r\n", "403");
}

/* --- where --- */

static void a_port_in_use_is_refused(void **state)
{
    const scene *s = *state;
    http_place second = HTTP_NOWHERE;
    error err = ERROR_INIT;
    char place[32], text[128];
    snprintf(place, sizeof place, "%d", s->port);
    snprintf(text, sizeof text,
             "port %d is in use on 127.0.0.1: choose another, or 0, and one that is free is found", s->port);
    assert_int_equal(http_listen(place, &second, &err), E_CONFIG);
    assert_string_equal(err.text, text);
}

static void places_are_read(void **state)
{
    static const char *const none[] = {"", ":", "localhost", "localhost:", ":80", "::1:80", "[::1]", "1.2.3.4:65536",
                                       "localhost:8x", "fd:", "fd:x", "fd:999999"};
    http_place p = HTTP_NOWHERE, again = HTTP_NOWHERE;
    char place[32];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(http_listen(none[i], &p, NULL), E_CONFIG);
    assert_int_equal(http_listen("*:0", &p, NULL), OK);
    assert_false(p.is_local);
    snprintf(place, sizeof place, "fd:%d", p.fd);
    assert_int_equal(http_listen(place, &again, NULL), OK);
    assert_true(again.is_given);
    assert_int_equal(again.port, p.port);
    http_place_close(&p);
    assert_int_equal(http_listen("localhost:0", &p, NULL), OK);
    assert_true(p.is_local && p.port > 0);
    http_place_close(&p);
    assert_int_equal(p.fd, -1);
}

static void a_certificate_that_is_none_is_refused(void **state)
{
    (void)state;
    http_server *server = NULL;
    http_place at = HTTP_NOWHERE;
    error err = ERROR_INIT;
    assert_int_equal(http_listen("0", &at, &err), OK);
    http_options o = {.fd = at.fd, .port = at.port, .handler = answer, .certificate = "none", .key = "none"};
    assert_int_equal(http_server_start(&o, &server, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "certificate"));
    assert_null(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_are_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_else_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crowd_leaves_it_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_takes_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listeners_are_told_the_newest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_reads_nothing_is_left, set_up_hasty, tear_down),
        cmocka_unit_test_setup_teardown(too_many_listeners_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_token_lets_in, set_up_locked, tear_down),
        cmocka_unit_test_setup_teardown(a_login_sets_a_cookie, set_up_locked, tear_down),
        cmocka_unit_test_setup_teardown(a_port_in_use_is_refused, set_up, tear_down),
        cmocka_unit_test(places_are_read),
        cmocka_unit_test(a_certificate_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
