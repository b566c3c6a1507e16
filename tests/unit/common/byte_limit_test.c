/*
 * The kernel's limit on what a connection takes: as much of a segment as is left of it, whatever the
 * segment's size, and the rest once it is lifted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/net/byte_limit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT = 8192, ALL = 30000, DEADLINE_MS = 20000 };

typedef struct ends {
    int listening, peer, accepted;
    bool is_limited; /* this kernel can */
} ends;

static ends open_ends(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    ends e = {.listening = socket(AF_INET, SOCK_STREAM, 0), .peer = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(e.listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(e.listening, 1), 0);
    assert_int_equal(getsockname(e.listening, (struct sockaddr *)&at, &bytes), 0);
    e.is_limited = byte_limit_prepare(e.listening);
    assert_int_equal(connect(e.peer, (struct sockaddr *)&at, sizeof at), 0);
    e.accepted = accept(e.listening, NULL, NULL);
    assert_true(e.accepted >= 0);
    if (!e.is_limited)
        skip();
    return e;
}

static void close_ends(ends *e)
{
    close(e->accepted);
    close(e->peer);
    close(e->listening);
}

/* In one segment, where the kernel can hold it: the cork keeps all back until it is pulled. */
static void say(const ends *e, size_t bytes)
{
    static unsigned char data[ALL];
    int on = 1, off = 0;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    assert_int_equal(setsockopt(e->peer, IPPROTO_TCP, TCP_CORK, &on, sizeof on), 0);
    assert_int_equal(send(e->peer, data, bytes, 0), bytes);
    assert_int_equal(setsockopt(e->peer, IPPROTO_TCP, TCP_CORK, &off, sizeof off), 0);
}

/* Bytes `from` and on have come: so many. */
static void hear(const ends *e, size_t from, size_t bytes)
{
    unsigned char data[ALL];
    for (size_t n = 0; n < bytes;) {
        struct pollfd comes = {.fd = e->accepted, .events = POLLIN};
        assert_int_equal(poll(&comes, 1, DEADLINE_MS), 1);
        ssize_t got = recv(e->accepted, data, bytes - n, 0);
        assert_true(got > 0);
        for (size_t i = 0; i < (size_t)got; i++)
            assert_int_equal(data[i], (unsigned char)((from + n + i) * 7));
        n += (size_t)got;
    }
}

static void test_takes_what_is_left_of_the_limit(void **state)
{
    (void)state;
    ends e = open_ends();
    assert_true(byte_limit_set(e.accepted, LIMIT));
    say(&e, ALL);
    hear(&e, 0, LIMIT);
    assert_int_equal(byte_limit_received(e.accepted), LIMIT);
    byte_limit_lift(e.accepted);
    hear(&e, LIMIT, ALL - LIMIT);
    close_ends(&e);
}

/* What came before the limit was set counts. */
static void test_counts_from_the_first_byte(void **state)
{
    (void)state;
    ends e = open_ends();
    say(&e, 1000);
    hear(&e, 0, 1000);
    assert_true(byte_limit_set(e.accepted, LIMIT));
    say(&e, ALL);
    unsigned char data[ALL];
    for (size_t n = 0; n < LIMIT - 1000;) {
        ssize_t got = recv(e.accepted, data, sizeof data, 0);
        assert_true(got > 0);
        n += (size_t)got;
        assert_true(n <= LIMIT - 1000);
    }
    assert_int_equal(byte_limit_received(e.accepted), LIMIT);
    close_ends(&e);
}

/* Until then a long segment passes bit by bit. */
static void test_takes_little_of_each_segment_before(void **state)
{
    (void)state;
    ends e = open_ends();
    say(&e, 4000);
    hear(&e, 0, 4000);
    close_ends(&e);
}

static void test_an_end_is_seen(void **state)
{
    (void)state;
    ends e = open_ends();
    assert_true(byte_limit_set(e.accepted, LIMIT));
    say(&e, LIMIT);
    close(e.peer);
    hear(&e, 0, LIMIT);
    unsigned char more;
    assert_int_equal(recv(e.accepted, &more, 1, 0), 0);
    e.peer = -1;
    close_ends(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_what_is_left_of_the_limit),
        cmocka_unit_test(test_counts_from_the_first_byte),
        cmocka_unit_test(test_takes_little_of_each_segment_before),
        cmocka_unit_test(test_an_end_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
