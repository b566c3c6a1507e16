/* The HTTP server, by raw sockets: what it answers, what it refuses, and whom it does not wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "watch/http/server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD = 200, LARGE = 3 << 20 };

typedef struct scene {
    http_server *server;
    int port;
} scene;

static void answer(void *user, const http_request *r, http_answer *ret)
{
    (void)user;
    const char *word = http_query(r, "word");
    *ret = (http_answer){.code = 200, .type = "text/plain"};
    if (strcmp(r->path, "/large") == 0)
        for (int i = 0; i < LARGE; i++)
            buf_add(&ret->own, "x", 1);
    else
        buf_addf(&ret->own, "%s %s", r->path, word ? word : "-");
}

static int set_up(void **state)
{
    scene *s = xcalloc(1, sizeof *s);
    error err = ERROR_INIT;
    if (http_server_start(0, answer, NULL, &s->server, &s->port, &err) != OK) {
        fprintf(stderr, "%s\n", err.text);
        free(s);
        return -1;
    }
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    http_server_stop(&s->server);
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

static void a_port_in_use_is_refused(void **state)
{
    const scene *s = *state;
    http_server *second = NULL;
    int port;
    error err = ERROR_INIT;
    char text[64];
    snprintf(text, sizeof text, "listen on port %d: Address already in use", s->port);
    assert_int_equal(http_server_start(s->port, answer, NULL, &second, &port, &err), E_CONFIG);
    assert_string_equal(err.text, text);
    assert_null(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_are_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_else_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crowd_leaves_it_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_port_in_use_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
