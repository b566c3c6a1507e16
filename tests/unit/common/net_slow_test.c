/*
 * Peers that do not read, or say more than is read: what waits for them is bounded, and who takes
 * nothing is cut with all that waits. Who takes little is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "unit/common/support_net.h"
#include "unit/common/support_zmtp.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, BLOCK = 4 << 20, BLOCKS = 16 };

typedef struct scene {
    net *net;
    net_socket *listener;
    int fd; /* a stranger's, greeted */
    net_peer peer;
    char *block;
    atomic_int released;
} scene;

static void scene_make(scene *s)
{
    *s = (scene){.block = xcalloc(1, BLOCK)};
    assert_int_equal(net_create(&s->net, NULL), OK);
    net_set_send_timeout(s->net, PATIENCE_MS);
    s->listener = listen_on(s->net, "tcp://127.0.0.1:0");
    s->fd = raw_connect(net_endpoint(s->listener));
    zmtp_greet(s->fd, NULL);
    zmtp_frame(s->fd, NET_HEAD, 'w', 0);
    net_message m;
    wait_message(s->listener, &m);
    s->peer = m.from;
    span_drop(m.payload);
}

static void scene_fini(scene *s)
{
    close(s->fd);
    net_close(&s->listener, 0);
    net_destroy(&s->net);
    free(s->block);
}

static void one_released(span *s)
{
    atomic_int *n = s->owner;
    free(s);
    atomic_fetch_add(n, 1);
}

static status send_block(scene *s)
{
    span *b = xmalloc(sizeof *b);
    *b = (span){.data = s->block,
                .bytes = BLOCK,
                .refs = 1,
                .release = one_released,
                .owner = &s->released};
    return net_send(s->listener, &s->peer, head_of('p'), b, NULL);
}

static void test_who_takes_nothing_is_cut(void **state)
{
    (void)state;
    scene s;
    scene_make(&s);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(send_block(&s), OK);
    assert_true(atomic_load(&s.released) < BLOCKS);
    wait_event(s.listener, NET_DOWN);
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (atomic_load(&s.released) < BLOCKS && clock_us() < until)
        assert_int_equal(net_poll(&s.listener, 1, NULL, 10, NULL), OK);
    assert_int_equal(atomic_load(&s.released), BLOCKS);
    assert_int_equal(send_block(&s), E_LOST);
    assert_int_equal(atomic_load(&s.released), BLOCKS + 1);
    scene_fini(&s);
}

/* A window of a few kilobytes, opened a little now and then, for longer than the patience. */
static void test_who_takes_little_is_not_cut(void **state)
{
    (void)state;
    scene s;
    scene_make(&s);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(send_block(&s), OK);
    char *waste = xmalloc(256 << 10);
    int64_t until = clock_us() + 2 * PATIENCE_MS * 1000;
    while (clock_us() < until) {
        assert_true(recv(s.fd, waste, 256 << 10, 0) > 0);
        assert_int_equal(net_poll(&s.listener, 1, NULL, 50, NULL), OK);
        net_event event;
        assert_false(net_next_event(s.listener, &event));
    }
    free(waste);
    scene_fini(&s);
}

/* Answers to a peer that asks and asks and never reads: a queue's length, then no more. */
static void test_answers_nobody_reads(void **state)
{
    (void)state;
    scene s;
    scene_make(&s);
    assert_int_equal(send_block(&s), OK); /* fills what the kernel takes */
    for (int i = 0; i < 4; i++)
        assert_int_equal(send_block(&s), OK);
    error err = ERROR_INIT;
    int sent = 0;
    while (sent <= 2 * NET_QUEUE && net_send(s.listener, &s.peer, head_of('a'), NULL, &err) == OK)
        sent++;
    assert_true(sent <= NET_QUEUE);
    assert_string_equal(err.text, "the peer does not read: 1024 messages wait for it");
    /* others are answered */
    net_socket *dial = dial_to(s.net, net_endpoint(s.listener));
    assert_int_equal(net_send(dial, NULL, head_of('g'), NULL, NULL), OK);
    net_message m;
    wait_message(s.listener, &m);
    assert_int_equal(net_send(s.listener, &m.from, head_of('a'), NULL, NULL), OK);
    span_drop(m.payload);
    wait_message(dial, &m);
    span_drop(m.payload);
    net_close(&dial, 0);
    scene_fini(&s);
}

/* What is not read stays with the sender; read, all of it comes. */
static void test_more_than_is_read(void **state)
{
    (void)state;
    scene s;
    scene_make(&s);
    char frame[2 + NET_HEAD] = {0, NET_HEAD};
    memset(frame + 2, 'f', NET_HEAD);
    size_t said = 0, most = (size_t)64 << 20;
    struct pollfd out = {.fd = s.fd, .events = POLLOUT};
    while (said < most && poll(&out, 1, PATIENCE_MS / 4) == 1) {
        ssize_t n = send(s.fd, frame + said % sizeof frame, sizeof frame - said % sizeof frame,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(n > 0);
        said += (size_t)n;
    }
    assert_true(said < most);
    net_message m;
    for (size_t i = 0; i < said / sizeof frame; i++) {
        wait_message(s.listener, &m);
        assert_memory_equal(m.head, head_of('f'), NET_HEAD);
        span_drop(m.payload);
    }
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_takes_nothing_is_cut),
        cmocka_unit_test(test_who_takes_little_is_not_cut),
        cmocka_unit_test(test_answers_nobody_reads),
        cmocka_unit_test(test_more_than_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
