/*
 * The transport over real ZeroMQ: what is sent arrives whole and its memory comes back exactly
 * once; connections come and go with a word.
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
#include "common/base/thread.h"
#include "common/net/net.h"
#include "unit/common/support_net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Memory that is lent: how often it came back. */
typedef struct loan {
    span span;
    atomic_int n_back;
    float data[100000];
} loan;

static void give_back(span *s)
{
    loan *l = s->owner;
    if (s->data != l->data)
        abort();
    atomic_fetch_add(&l->n_back, 1);
}

static loan *loan_make(void)
{
    loan *l = xcalloc(1, sizeof *l);
    for (size_t i = 0; i < COUNT_OF(l->data); i++)
        l->data[i] = (float)i;
    return l;
}

static span *lend(loan *l, size_t n)
{
    l->span = (span){
        .data = l->data, .bytes = n * sizeof(float), .refs = 1, .release = give_back, .owner = l};
    return &l->span;
}

static void wait_back(loan *l)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (!atomic_load(&l->n_back)) {
        assert_true(clock_us() < until);
        sched_yield();
    }
    assert_int_equal(atomic_load(&l->n_back), 1);
}

/* --- messages --- */

static void check_there_and_back(const char *endpoint, bool is_local)
{
    pair p = pair_make(endpoint);
    assert_int_equal(net_is_local(p.dial), is_local);
    wait_event(p.dial, NET_UP);
    span text = span_for_call("five", 5);
    assert_int_equal(net_send(p.dial, NULL, head_of('a'), &text, NULL), OK);
    assert_int_equal(net_send(p.dial, NULL, head_of('b'), NULL, NULL), OK);
    net_message m;
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of('a'), NET_HEAD);
    assert_int_equal(span_bytes(m.payload), 5);
    assert_string_equal(span_data(m.payload), "five");
    net_peer peer = m.from;
    span *kept = span_move(&m.payload);
    assert_int_equal(span_bytes(m.payload), 0);
    span_drop(m.payload);
    assert_string_equal(span_data(kept), "five");
    span_drop(kept);
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of('b'), NET_HEAD);
    assert_int_equal(span_bytes(m.payload), 0);
    assert_true(net_peer_equal(&peer, &m.from));
    span_drop(m.payload);

    text = (span){.data = "answer", .bytes = 7};
    assert_int_equal(net_send(p.listener, &peer, head_of('c'), &text, NULL), OK);
    wait_message(p.dial, &m);
    assert_memory_equal(m.head, head_of('c'), NET_HEAD);
    assert_string_equal(span_data(m.payload), "answer");
    span_drop(m.payload);
    assert_false(net_receive(p.dial, &m));
    assert_false(net_receive(p.listener, &m));
    assert_int_equal(net_dropped(p.dial) + net_dropped(p.listener), 0);
    pair_fini(&p);
}

static void test_messages(void **state)
{
    (void)state;
    check_there_and_back("tcp://127.0.0.1:0", false);
    check_there_and_back("inproc://test", true);
}

/* Said before anybody listens: kept until somebody does. */
static void test_dialled_before_there_is_a_listener(void **state)
{
    (void)state;
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    net_socket *dial = dial_to(n, "inproc://later");
    assert_int_equal(net_send(dial, NULL, head_of('x'), NULL, NULL), OK);
    net_socket *listener = listen_on(n, "inproc://later");
    net_message m;
    wait_message(listener, &m);
    assert_memory_equal(m.head, head_of('x'), NET_HEAD);
    span_drop(m.payload);
    net_close(&dial, 0);
    net_close(&listener, 0);
    net_destroy(&n);
}

/* A name that has addresses of both kinds, and a listener on one of them. */
static void test_names(void **state)
{
    (void)state;
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    net_socket *listener = listen_on(n, "tcp://127.0.0.1:0");
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp4://localhost%s", strrchr(net_endpoint(listener), ':'));
    net_socket *dial = dial_to(n, endpoint);
    wait_event(dial, NET_UP);
    net_close(&dial, 0);
    net_close(&listener, 0);
    net_destroy(&n);
}

/* Floats are read in place, whatever their number: they lie where floats may lie. */
static void test_payloads_are_aligned(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    loan *l = loan_make();
    for (size_t n = 1; n < 3000; n += 1 + n / 4) {
        span text = span_for_call("12345", n % 5);
        span floats = span_for_call(l->data, n * sizeof(float));
        assert_int_equal(net_send(p.dial, NULL, head_of(1), &text, NULL), OK);
        assert_int_equal(net_send(p.dial, NULL, head_of(2), &floats, NULL), OK);
        for (int i = 0; i < 2; i++) {
            net_message m;
            wait_message(p.listener, &m);
            if (i && n)
                assert_memory_equal(span_data(m.payload), l->data, n * sizeof(float));
            if (i)
                assert_int_equal((uintptr_t)span_data(m.payload) % sizeof(float), 0);
            span_drop(m.payload);
        }
    }
    free(l);
    pair_fini(&p);
}

static void check_lending(const char *endpoint)
{
    pair p = pair_make(endpoint);
    loan *large = loan_make(), *small = loan_make(), *nothing = loan_make();
    span *loans[] = {lend(large, 100000), lend(small, 1), lend(nothing, 0)};
    for (size_t i = 0; i < COUNT_OF(loans); i++)
        assert_int_equal(net_send(p.dial, NULL, head_of((int)i), loans[i], NULL), OK);
    for (size_t i = 0; i < COUNT_OF(loans); i++) {
        net_message m;
        wait_message(p.listener, &m);
        assert_int_equal(span_bytes(m.payload), loans[i]->bytes);
        assert_memory_equal(span_data(m.payload), loans[i]->data, loans[i]->bytes);
        if (net_is_local(p.dial) && i == 0) { /* read where it lies */
            assert_ptr_equal(span_data(m.payload), large->data);
            assert_int_equal(atomic_load(&large->n_back), 0);
        }
        span_drop(m.payload);
    }
    wait_back(large);
    wait_back(small);
    wait_back(nothing);
    pair_fini(&p);
    assert_int_equal(atomic_load(&large->n_back) + atomic_load(&small->n_back) +
                         atomic_load(&nothing->n_back),
                     3);
    free(large);
    free(small);
    free(nothing);
}

static void test_lent_memory_comes_back(void **state)
{
    (void)state;
    check_lending("tcp://127.0.0.1:0");
    check_lending("inproc://lend");
}

/* Nobody ever took it: closing gives it back. */
static void test_unsent_memory_comes_back(void **state)
{
    (void)state;
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    net_socket *dial = dial_to(n, "inproc://nobody");
    loan *l = loan_make();
    span *b = lend(l, 1000);
    assert_int_equal(net_send(dial, NULL, head_of(1), b, NULL), OK);
    net_close(&dial, 0);
    net_destroy(&n);
    wait_back(l);
    free(l);
}

/* --- connections --- */

static void test_a_vanished_peer(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    assert_int_equal(net_send(p.dial, NULL, head_of(1), NULL, NULL), OK);
    net_message m;
    wait_message(p.listener, &m);
    span_drop(m.payload);
    net_close(&p.dial, 0);
    assert_int_equal(wait_event(p.listener, NET_DOWN).connection, m.connection);

    loan *l = loan_make();
    span *b = lend(l, 1000);
    error err = ERROR_INIT;
    int64_t until = clock_us() + LIMIT_MS * 1000;
    /* the word that it is gone and its going are two things; who reads meets with both */
    while (strcmp(err.text, "the peer is gone") != 0) {
        net_message none;
        assert_false(net_receive(p.listener, &none));
        error_clear(&err);
        assert_true(net_send(p.listener, &m.from, head_of(1), NULL, &err) == OK || err.text[0]);
        assert_true(clock_us() < until);
    }
    assert_int_equal(net_send(p.listener, &m.from, head_of(1), b, &err), E_LOST);
    wait_back(l);
    free(l);

    /* the listener is well, and others are served */
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    assert_int_equal(net_send(p.dial, NULL, head_of(3), NULL, NULL), OK);
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of(3), NET_HEAD);
    span_drop(m.payload);
    pair_fini(&p);
}

static void test_a_vanished_listener(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%s", net_endpoint(p.listener));
    wait_event(p.dial, NET_UP);
    net_close(&p.listener, 0);
    wait_event(p.dial, NET_DOWN);
    loan *l = loan_make();
    span *b = lend(l, 100000);
    assert_int_equal(net_send(p.dial, NULL, head_of(1), b, NULL), OK);
    net_close(&p.dial, 0);
    wait_back(l);
    free(l);

    /* dialled anew before anybody is there again */
    p.dial = dial_to(p.net, endpoint);
    p.listener = listen_on(p.net, endpoint);
    wait_event(p.dial, NET_UP);
    pair_fini(&p);
}

static void check_listen_fails(net *n, const char *endpoint, const char *text)
{
    net_socket *s = NULL;
    error err = ERROR_INIT;
    assert_int_equal(net_listen(n, &endpoint, 1, -1, &s, &err), E_CONFIG);
    assert_null(s);
    assert_non_null(strstr(err.text, endpoint));
    if (!strstr(err.text, text))
        fail_msg("'%s' says nothing of '%s'", err.text, text);
}

static void test_where_nobody_can_listen(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    const char *taken = net_endpoint(p.listener);
    char text[64];
    snprintf(text, sizeof text, "port %s is in use by another program", strrchr(taken, ':') + 1);
    check_listen_fails(p.net, taken, text);
    check_listen_fails(p.net, "tcp://192.0.2.1:0", "not an address of this host");
    check_listen_fails(p.net, "carrier-pigeon", "listen on");
    check_listen_fails(p.net, "tcp://127.0.0.1:http", "listen on");
    net_socket *s = NULL;
    error err = ERROR_INIT;
    assert_int_equal(net_dial(p.net, "smoke://hill", &s, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "connect to 'smoke://hill': "));
    assert_null(s);
    pair_fini(&p);
}

static void test_several_endpoints(void **state)
{
    (void)state;
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    const char *endpoints[] = {"inproc://both", "tcp://127.0.0.1:0"};
    net_socket *s = NULL;
    assert_int_equal(net_listen(n, endpoints, 2, -1, &s, NULL), OK);
    net_socket *dials[] = {dial_to(n, endpoints[0]), dial_to(n, net_endpoint(s))};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(net_send(dials[i], NULL, head_of(i), NULL, NULL), OK);
        net_message m;
        wait_message(s, &m);
        assert_memory_equal(m.head, head_of(i), NET_HEAD);
        span_drop(m.payload);
        net_close(&dials[i], 0);
    }
    net_close(&s, 0);
    net_destroy(&n);
}

/* A launcher's listening socket: the port is held from before the process that serves it. */
static void test_a_socket_handed_over(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", ntohs(at.sin_port));

    pair p = {.net = NULL};
    assert_int_equal(net_create(&p.net, NULL), OK);
    p.dial = dial_to(p.net, endpoint); /* before it is served */
    const char *endpoints[] = {"inproc://first", endpoint};
    error err = ERROR_INIT;
    if (net_listen(p.net, endpoints, 2, fd, &p.listener, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(net_send(p.dial, NULL, head_of(7), NULL, NULL), OK);
    net_message m;
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of(7), NET_HEAD);
    span_drop(m.payload);
    pair_fini(&p);
}

/* --- waiting --- */

static void *wake_it(void *arg)
{
    net_waker_wake(arg);
    return NULL;
}

static void test_the_waker(void **state)
{
    (void)state;
    net_waker *w = NULL;
    assert_int_equal(net_waker_create(&w, NULL), OK);
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "waker", wake_it, w, NULL), OK);
    int64_t before = clock_us();
    net_socket *none[] = {NULL, NULL};
    assert_int_equal(net_poll(none, 2, w, LIMIT_MS, NULL), OK);
    assert_true(clock_us() - before < LIMIT_MS * 1000 / 2);
    pthread_join(thread, NULL);

    /* woken many times is woken once, and then no more */
    for (int i = 0; i < 1000; i++)
        net_waker_wake(w);
    assert_int_equal(net_poll(NULL, 0, w, LIMIT_MS, NULL), OK);
    before = clock_us();
    assert_int_equal(net_poll(NULL, 0, w, 20, NULL), OK);
    assert_true(clock_us() - before >= 15000);
    net_waker_destroy(&w);
    assert_null(w);
    net_waker_destroy(&w);
}

static void test_closing_what_is_not_there(void **state)
{
    (void)state;
    net_socket *s = NULL;
    net_close(&s, 0);
    net_close(NULL, 0);
    net *n = NULL;
    net_destroy(&n);
    char version[32];
    assert_int_equal(net_library_version(version, sizeof version)[0], '4');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_dialled_before_there_is_a_listener),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_payloads_are_aligned),
        cmocka_unit_test(test_lent_memory_comes_back),
        cmocka_unit_test(test_unsent_memory_comes_back),
        cmocka_unit_test(test_a_vanished_peer),
        cmocka_unit_test(test_a_vanished_listener),
        cmocka_unit_test(test_where_nobody_can_listen),
        cmocka_unit_test(test_several_endpoints),
        cmocka_unit_test(test_a_socket_handed_over),
        cmocka_unit_test(test_the_waker),
        cmocka_unit_test(test_closing_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
