/*
 * A listener that limits strangers: the kernel holds back what they say beyond a few kilobytes
 * until they are admitted, too many at once go, the oldest first, and so does who is not admitted
 * in time. Who speaks at once gets in all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/strangers.h"
#include "unit/common/support_net.h"
#include "unit/common/support_zmtp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static pair limited_pair(const char *endpoint)
{
    pair p = {.net = NULL};
    assert_int_equal(net_create(&p.net, NULL), OK);
    net_limit_strangers(p.net, 0);
    p.listener = listen_on(p.net, endpoint);
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    return p;
}

static void send_large(net_socket *dial, const void *data)
{
    span b = span_for_call(data, LARGE);
    assert_int_equal(net_send(dial, NULL, head_of('l'), &b, NULL), OK);
}

/* The dial's first message comes, as small as a HELLO. */
static int take_hello(pair *p)
{
    net_message m;
    assert_int_equal(net_send(p->dial, NULL, head_of('h'), NULL, NULL), OK);
    wait_message(p->listener, &m);
    assert_memory_equal(m.head, head_of('h'), NET_HEAD);
    span_drop(m.payload);
    return m.connection;
}

static void check_held_back_until_admitted(const char *endpoint)
{
    pair p = limited_pair(endpoint);
    net_message m;
    char *data = xcalloc(1, LARGE);
    memset(data, 'd', LARGE);
    int connection = take_hello(&p);
    send_large(p.dial, data);
    for (int64_t until = clock_us() + 300 * 1000; clock_us() < until;) {
        assert_false(net_receive(p.listener, &m));
        assert_int_equal(net_poll(&p.listener, 1, NULL, 100, NULL), OK);
    }
    net_admit(p.listener, connection);
    wait_message(p.listener, &m);
    assert_int_equal(span_bytes(m.payload), LARGE);
    assert_memory_equal(span_data(m.payload), data, LARGE);
    span_drop(m.payload);
    net_admit(p.listener, connection);
    send_large(p.dial, data);
    wait_message(p.listener, &m);
    span_drop(m.payload);
    net_close(&p.dial, 0); /* of who was admitted the end is told */
    wait_event(p.listener, NET_DOWN);
    pair_fini(&p);
    free(data);
}

static void test_what_a_stranger_sends_is_held_back(void **state)
{
    (void)state;
    check_held_back_until_admitted("tcp://127.0.0.1:0");
    check_held_back_until_admitted("tcp://[::1]:0");
}

/* A launcher opens its tasks' sockets before they run. */
static void test_who_came_before_the_listener_gets_in(void **state)
{
    (void)state;
    pair p = {.net = NULL};
    assert_int_equal(net_create(&p.net, NULL), OK);
    net_limit_strangers(p.net, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    char text[64];
    const char *endpoint = text;
    snprintf(text, sizeof text, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    struct pollfd arrived = {.fd = fd, .events = POLLIN};
    p.dial = dial_to(p.net, endpoint);
    assert_int_equal(poll(&arrived, 1, LIMIT_MS), 1);
    assert_int_equal(net_listen(p.net, &endpoint, 1, fd, &p.listener, NULL), OK);
    net_admit(p.listener, take_hello(&p));
    wait_event(p.dial, NET_UP);
    net_event event;
    assert_false(net_next_event(p.dial, &event));
    assert_int_equal(net_refused(p.listener), 0);
    pair_fini(&p);
}

static bool is_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
    return poll(&p, 1, 0) == 1 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static void test_a_crowd_keeps_nobody_out(void **state)
{
    (void)state;
    enum { CROWD = 2 * STRANGERS_MIN };
    pair p = limited_pair("tcp://127.0.0.1:0");
    net_admit(p.listener, take_hello(&p));
    int fds[CROWD], left = 0;
    for (int i = 0; i < CROWD; i++) {
        fds[i] = raw_connect(net_endpoint(p.listener));
        zmtp_greet(fds[i], NULL);
    }
    raw_wait_closed(fds[0]); /* and closes it */
    assert_string_equal(wait_event(p.listener, NET_REFUSED).why,
                        "too many at once that have not said which task they are");
    net_socket *late = dial_to(p.net, net_endpoint(p.listener));
    net_message m;
    assert_int_equal(net_send(late, NULL, head_of('x'), NULL, NULL), OK);
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of('x'), NET_HEAD);
    span_drop(m.payload);
    net_admit(p.listener, m.connection);
    for (int i = 1; i < CROWD; i++) {
        left += !is_closed(fds[i]);
        close(fds[i]);
    }
    assert_true(left <= STRANGERS_MIN);
    (void)take_hello(&p); /* it was there all the time */
    net_close(&late, 0);
    pair_fini(&p);
}

static const char silent[] = "it did not say in ten seconds which task it is";

static void test_who_says_nothing_has_its_time(void **state)
{
    (void)state;
    pair p = limited_pair("tcp://127.0.0.1:0");
    int connection = take_hello(&p), fd = raw_connect(net_endpoint(p.listener));
    net_admit(p.listener, connection);
    zmtp_greet(fd, NULL);
    raw_wait_closed(fd);
    assert_string_equal(wait_event(p.listener, NET_REFUSED).why, silent);
    assert_int_equal(net_refused(p.listener), 1);
    assert_int_equal(take_hello(&p), connection); /* who was admitted stays */
    pair_fini(&p);
}

/* The owner, which admits somebody all the while, reads before the strangers' own thread that one
 * has come; nothing more happens at that listener, so nothing else wakes the thread. */
static void test_who_comes_while_another_is_admitted_has_its_time(void **state)
{
    (void)state;
    enum { LISTENERS = 8, ADMITTING_US = 20 * 1000 };
    pair pairs[LISTENERS] = {{.net = NULL}};
    int fds[LISTENERS];
    for (int i = 0; i < LISTENERS; i++) {
        pair *p = &pairs[i];
        assert_int_equal(net_create(&p->net, NULL), OK);
        net_limit_strangers(p->net, 0);
        p->listener = listen_on(p->net, "tcp://127.0.0.1:0");
        fds[i] = raw_connect(net_endpoint(p->listener));
        for (int64_t until = clock_us() + ADMITTING_US; clock_us() < until;)
            net_admit(p->listener, -1);
        zmtp_greet(fds[i], NULL);
    }
    for (int i = 0; i < LISTENERS; i++) {
        raw_wait_closed(fds[i]);
        assert_string_equal(wait_event(pairs[i].listener, NET_REFUSED).why, silent);
        pair_fini(&pairs[i]);
    }
}

static void test_a_large_cluster_has_more_room(void **state)
{
    (void)state;
    assert_int_equal(strangers_at_once(0), STRANGERS_MIN);
    assert_int_equal(strangers_at_once(100), STRANGERS_MIN + 100);
    assert_int_equal(strangers_at_once(5000), STRANGERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_stranger_sends_is_held_back),
        cmocka_unit_test(test_who_came_before_the_listener_gets_in),
        cmocka_unit_test(test_a_crowd_keeps_nobody_out),
        cmocka_unit_test(test_who_says_nothing_has_its_time),
        cmocka_unit_test(test_who_comes_while_another_is_admitted_has_its_time),
        cmocka_unit_test(test_a_large_cluster_has_more_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
