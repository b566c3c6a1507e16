/*
 * Connections under a key: who has it is served as without one, everybody else is refused, counted
 * and told of once, and the listener goes on.
 *
 * CTest labels: smoke
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jobkey.h"
#include "unit/common/support_net.h"
#include "unit/common/support_relay.h"
#include "unit/common/support_zmtp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static const char any_port[] = "tcp://127.0.0.1:0";

/* What the ends are told. */
static const char no_key[] = "the listener does not have our key, does not encrypt, or has just ended";
static const char hung_up[] =
    "the listener hung up before it had greeted: it has just ended, or it wants a key";
static const char mute[] = "the connection stands, and nobody greets: the task there is stopped, "
                           "hung, or has ended and its port is held open";
static const char stranger[] = "it does not have our key, or repeats what it overheard";
static const char plain[] = "it does not encrypt, and we do";
static const char broken[] = "it broke off the greeting, or said nothing for too long";

/* A net under the key that consists of `fill`; 0: in the clear. */
static net *net_with(int fill)
{
    net *n = NULL;
    error err = ERROR_INIT;
    assert_int_equal(net_create(&n, NULL), OK);
    jobkey key;
    memset(&key, fill, sizeof key);
    if (fill && net_use_key(n, &key, &err) != OK)
        fail_msg("%s", err.text);
    return n;
}

static pair pair_with(int fill, const char *endpoint)
{
    pair p = {.net = net_with(fill)};
    p.listener = listen_on(p.net, endpoint);
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    return p;
}

/* A dial and a listener that must not come together. */
typedef struct strangers {
    net *here, *there;
    net_socket *listener, *dial;
} strangers;

static strangers strangers_make(int listener_key, int dial_key)
{
    strangers s = {.here = net_with(listener_key), .there = net_with(dial_key)};
    s.listener = listen_on(s.here, any_port);
    s.dial = dial_to(s.there, net_endpoint(s.listener));
    return s;
}

static void strangers_fini(strangers *s)
{
    net_close(&s->dial, 0);
    net_close(&s->listener, 0);
    net_destroy(&s->here);
    net_destroy(&s->there);
}

static void check_refused(net_socket *listener, const char *why)
{
    assert_string_equal(wait_event(listener, NET_REFUSED).why, why);
}

static const char *never_up(net_socket *dial)
{
    net_event event = next_event(dial);
    assert_int_equal(event.kind, NET_DOWN);
    assert_non_null(event.why);
    return event.why;
}

/* Reads events away until so many were refused, and gives the number of them that were news. */
static int wait_refused(net_socket *listener, uint64_t n)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    int news = 0;
    net_event event;
    while (net_refused(listener) < n) {
        while (net_next_event(listener, &event))
            news += event.kind == NET_REFUSED;
        assert_true(clock_us() < until);
        assert_int_equal(net_poll(&listener, 1, NULL, 100, NULL), OK);
    }
    assert_int_equal(net_refused(listener), n);
    return news;
}

/* Someone who has the key says something, and it is all that the listener hears. */
static void check_served(net *n, net_socket *listener)
{
    net_socket *dial = dial_to(n, net_endpoint(listener));
    assert_int_equal(net_send(dial, NULL, head_of('g'), NULL, NULL), OK);
    net_message m;
    wait_message(listener, &m);
    assert_memory_equal(m.head, head_of('g'), NET_HEAD);
    span_drop(m.payload);
    assert_false(net_receive(listener, &m));
    net_close(&dial, 0);
}

static void test_messages_come_as_they_went(void **state)
{
    (void)state;
    pair p = pair_with('k', any_port);
    wait_event(p.dial, NET_UP);
    for (size_t floats = 1; floats < (4 << 20); floats = floats * 7 + 1) {
        float *data = xcalloc(floats, sizeof *data);
        for (size_t i = 0; i < floats; i++)
            data[i] = (float)i;
        span buffer = span_for_call(data, floats * sizeof *data);
        assert_int_equal(net_send(p.dial, NULL, head_of('q'), &buffer, NULL), OK);
        net_message m, back;
        wait_message(p.listener, &m);
        assert_int_equal(span_bytes(m.payload), buffer.bytes);
        assert_int_equal((uintptr_t)span_data(m.payload) % sizeof(float), 0);
        assert_memory_equal(span_data(m.payload), data, buffer.bytes);
        span_drop(m.payload);
        assert_int_equal(net_send(p.listener, &m.from, head_of('a'), &buffer, NULL), OK);
        wait_message(p.dial, &back);
        assert_memory_equal(span_data(back.payload), data, buffer.bytes);
        span_drop(back.payload);
        free(data);
    }
    assert_int_equal(net_refused(p.listener) + net_refused(p.dial), 0);
    pair_fini(&p);
}

static void test_threads_share_memory_as_ever(void **state)
{
    (void)state;
    pair p = pair_with('k', "inproc://here");
    assert_true(net_is_local(p.dial));
    wait_event(p.dial, NET_UP);
    check_served(p.net, p.listener);
    pair_fini(&p);
}

static void test_the_key_of_another_job(void **state)
{
    (void)state;
    strangers s = strangers_make('k', 'x');
    assert_string_equal(never_up(s.dial), no_key);
    check_refused(s.listener, stranger);
    assert_int_equal(net_refused(s.listener), 1);
    net_close(&s.dial, 0);
    for (uint64_t n = 2; n < 5; n++) { /* one that tries again */
        s.dial = dial_to(s.there, net_endpoint(s.listener));
        assert_string_equal(never_up(s.dial), no_key);
        assert_int_equal(wait_refused(s.listener, n), 0);
        net_close(&s.dial, 0);
    }
    check_served(s.here, s.listener);
    strangers_fini(&s);
}

/* It is told by whoever sees the other's greeting first; the other one is only hung up on. */
static void test_only_one_end_encrypts(void **state)
{
    (void)state;
    for (int key = 0; key <= 'k'; key += 'k') {
        strangers s = strangers_make(key, 'k' - key);
        never_up(s.dial);
        wait_refused(s.listener, 1);
        check_served(s.here, s.listener);
        strangers_fini(&s);
    }
}

static void test_a_caller_that_does_not_encrypt(void **state)
{
    (void)state;
    static const unsigned char greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                               0,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    net *n = net_with('k');
    net_socket *listener = listen_on(n, any_port);
    int fd = raw_connect(net_endpoint(listener));
    raw_write(fd, greeting, sizeof greeting);
    raw_wait_closed(fd);
    check_refused(listener, plain);
    check_served(n, listener);
    net_close(&listener, 0);
    net_destroy(&n);
}

/* A port that is held open for a task that has ended, and one whose task ends just now. */
static void test_a_listener_that_does_not_greet(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char endpoint[64];
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    net *n = net_with(0);
    net_socket *dial = dial_to(n, endpoint);
    int came = accept(fd, NULL, NULL);
    assert_true(came >= 0);
    close(came);
    assert_string_equal(never_up(dial), hung_up);
    net_close(&dial, 0);
    dial = dial_to(n, endpoint);
    assert_string_equal(never_up(dial), mute);
    net_close(&dial, 0);
    close(fd);
    net_destroy(&n);
}

/* Knows whom it calls, as only members do, but comes under a name of its own. */
static void test_an_unknown_caller(void **state)
{
    (void)state;
    net *n = net_with('k');
    net_socket *listener = listen_on(n, any_port);
    jobkey key;
    memset(&key, 'k', sizeof key);
    jobkey_pair there, own;
    jobkey_derive(&key, JOBKEY_LISTENERS, &there);
    memset(&key, 'x', sizeof key);
    jobkey_derive(&key, JOBKEY_DIALLERS, &own);
    void *context = zmq_ctx_new(), *dial = zmq_socket(context, ZMQ_DEALER);
    int none = 0;
    zmq_setsockopt(dial, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(dial, ZMQ_CURVE_SERVERKEY, there.public, sizeof there.public);
    zmq_setsockopt(dial, ZMQ_CURVE_PUBLICKEY, own.public, sizeof own.public);
    zmq_setsockopt(dial, ZMQ_CURVE_SECRETKEY, own.secret, sizeof own.secret);
    assert_int_equal(zmq_connect(dial, net_endpoint(listener)), 0);
    assert_int_equal(zmq_send(dial, head_of('w'), NET_HEAD, 0), NET_HEAD);
    check_refused(listener, stranger);
    check_served(n, listener);
    zmq_close(dial);
    zmq_ctx_term(context);
    net_close(&listener, 0);
    net_destroy(&n);
}

static void test_a_conversation_said_again(void **state)
{
    (void)state;
    net *n = net_with('k');
    net_socket *listener = listen_on(n, any_port);
    relay r;
    relay_start(&r, net_endpoint(listener));
    net_socket *dial = dial_to(n, r.endpoint);
    span secret = span_for_call("the secret numbers", 18);
    assert_int_equal(net_send(dial, NULL, head_of('o'), &secret, NULL), OK);
    net_message m;
    wait_message(listener, &m);
    assert_memory_equal(span_data(m.payload), secret.data, secret.bytes);
    span_drop(m.payload);
    net_close(&dial, 0);
    relay_wait(&r);
    wait_event(listener, NET_DOWN);
    assert_true(r.n_said > 200);
    assert_null(memmem(r.said, r.n_said, secret.data, secret.bytes));

    relay_replay(&r, net_endpoint(listener), true);
    /* whether it was told by its words or by its end is up to what came first */
    assert_int_equal(next_event(listener).kind, NET_REFUSED);
    relay_replay(&r, net_endpoint(listener), false);
    wait_refused(listener, 2);
    check_served(n, listener);
    relay_fini(&r);
    net_close(&listener, 0);
    net_destroy(&n);
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Half of them say nothing, half claim to say much; each is hung up on and costs next to nothing
 * until then, and whoever has the key is served all the time. */
static void test_many_that_never_finish_the_greeting(void **state)
{
    (void)state;
    enum { STRANGERS = 200, LIMIT_KB = 20 * 1024 };
    static const unsigned char greeting[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,  0,
                                               0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    net *n = net_with('k');
    net_socket *listener = listen_on(n, any_port);
    check_served(n, listener);
    long before = resident_kb();
    int fds[STRANGERS];
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = raw_connect(net_endpoint(listener));
        if (i % 2) {
            raw_write(fds[i], greeting, sizeof greeting);
            zmtp_claim(fds[i], NET_PAYLOAD_MAX);
        }
    }
    check_served(n, listener);
    assert_true(resident_kb() - before < LIMIT_KB);
    for (int i = 0; i < STRANGERS; i++)
        raw_wait_closed(fds[i]);
    net_event event;
    do
        event = next_event(listener);
    while (event.kind == NET_DOWN); /* those who were served */
    assert_string_equal(event.why, broken);
    wait_refused(listener, STRANGERS);
    check_served(n, listener);
    net_close(&listener, 0);
    net_destroy(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_come_as_they_went),
        cmocka_unit_test(test_threads_share_memory_as_ever),
        cmocka_unit_test(test_the_key_of_another_job),
        cmocka_unit_test(test_only_one_end_encrypts),
        cmocka_unit_test(test_a_caller_that_does_not_encrypt),
        cmocka_unit_test(test_a_listener_that_does_not_greet),
        cmocka_unit_test(test_an_unknown_caller),
        cmocka_unit_test(test_a_conversation_said_again),
        cmocka_unit_test(test_many_that_never_finish_the_greeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
