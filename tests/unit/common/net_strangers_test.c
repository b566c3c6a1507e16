/*
 * What has another shape than a message is dropped and counted, whoever sends it, and those who
 * speak well are served on.
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
#include "unit/common/support_net.h"
#include "unit/common/support_zmtp.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A good message from a dial of ours arrives, and nothing before it. */
static void check_still_served(pair *p, uint64_t dropped)
{
    assert_int_equal(net_send(p->dial, NULL, head_of('g'), NULL, NULL), OK);
    net_message m;
    wait_message(p->listener, &m);
    assert_memory_equal(m.head, head_of('g'), NET_HEAD);
    span_drop(m.payload);
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (net_dropped(p->listener) < dropped && clock_us() < until) {
        assert_false(net_receive(p->listener, &m));
        assert_int_equal(net_poll(&p->listener, 1, NULL, 100, NULL), OK);
    }
    assert_int_equal(net_dropped(p->listener), dropped);
}

static void test_messages_of_another_shape(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    int fd = raw_connect(net_endpoint(p.listener));
    zmtp_greet(fd, NULL);
    static const size_t shapes[][5] = {
        {1}, {63}, {65}, {200}, {64, 8, 8}, {64, 8, 8, 8}, {10, 64}, {1, 1, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int k = 0; k < 5 && shapes[i][k]; k++)
            zmtp_frame(fd, shapes[i][k], 'z', k < 4 && shapes[i][k + 1]);
    zmtp_frame(fd, 0, 0, 0);
    zmtp_frame(fd, 0, 0, 1);
    zmtp_frame(fd, 0, 0, 0);
    check_still_served(&p, COUNT_OF(shapes) + 2);

    /* the stranger may still say something well-formed, and is answered */
    zmtp_frame(fd, NET_HEAD, 'w', 1);
    zmtp_frame(fd, 3, 'p', 0);
    net_message m;
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of('w'), NET_HEAD);
    assert_int_equal(span_bytes(m.payload), 3);
    span_drop(m.payload);
    assert_int_equal(net_send(p.listener, &m.from, head_of('a'), NULL, NULL), OK);
    close(fd);
    pair_fini(&p);
}

static void test_a_name_that_is_too_long(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    int fd = raw_connect(net_endpoint(p.listener));
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    zmtp_greet(fd, name);
    zmtp_frame(fd, NET_HEAD, 'w', 0);
    zmtp_frame(fd, NET_HEAD, 'w', 1);
    zmtp_frame(fd, 3, 'p', 0);
    check_still_served(&p, 2);
    close(fd);
    pair_fini(&p);
}

/* Never trusted with a length: the connection is closed, not the memory filled. */
static void test_a_frame_that_claims_too_much(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    static const uint64_t claims[] = {NET_PAYLOAD_MAX + 1, (uint64_t)1 << 40, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(claims); i++) {
        int fd = raw_connect(net_endpoint(p.listener));
        zmtp_greet(fd, NULL);
        zmtp_claim(fd, claims[i]);
        raw_wait_closed(fd);
        check_still_served(&p, 0);
    }
    pair_fini(&p);
}

static void test_noise(void **state)
{
    (void)state;
    pair p = pair_make("tcp://127.0.0.1:0");
    static const char *const noises[] = {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\xff",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "",
        "\x16\x03\x01\x02",
    };
    for (size_t i = 0; i < COUNT_OF(noises); i++) {
        int fd = raw_connect(net_endpoint(p.listener));
        raw_write(fd, noises[i], strlen(noises[i]));
        shutdown(fd, SHUT_WR);
        raw_wait_closed(fd);
    }
    int half = raw_connect(net_endpoint(p.listener)); /* leaves in the midst of a message */
    zmtp_greet(half, NULL);
    zmtp_frame(half, NET_HEAD, 'h', 1);
    close(half);
    check_still_served(&p, 0);
    pair_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_of_another_shape),
        cmocka_unit_test(test_a_name_that_is_too_long),
        cmocka_unit_test(test_a_frame_that_claims_too_much),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
