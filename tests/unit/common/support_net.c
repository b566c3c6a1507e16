#include "unit/common/support_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"

#include <string.h>

net_socket *listen_on(net *n, const char *endpoint)
{
    net_socket *s = NULL;
    error err = ERROR_INIT;
    if (net_listen(n, &endpoint, 1, -1, &s, &err) != OK)
        fail_msg("%s", err.text);
    return s;
}

net_socket *dial_to(net *n, const char *endpoint)
{
    net_socket *s = NULL;
    error err = ERROR_INIT;
    if (net_dial(n, endpoint, &s, &err) != OK)
        fail_msg("%s", err.text);
    return s;
}

pair pair_make(const char *endpoint)
{
    pair p = {.net = NULL};
    assert_int_equal(net_create(&p.net, NULL), OK);
    p.listener = listen_on(p.net, endpoint);
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    return p;
}

void pair_fini(pair *p)
{
    net_close(&p->dial, 0);
    net_close(&p->listener, 0);
    net_destroy(&p->net);
    assert_null(p->net);
}

net_event next_event(net_socket *s)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    net_event event;
    while (!net_next_event(s, &event)) {
        assert_int_equal(net_poll(&s, 1, NULL, 1000, NULL), OK);
        assert_true(clock_us() < until);
    }
    return event;
}

net_event wait_event(net_socket *s, net_event_kind kind)
{
    net_event event = next_event(s);
    assert_int_equal(event.kind, kind);
    return event;
}

void wait_message(net_socket *s, net_message *ret)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (!net_receive(s, ret)) {
        net_event event;
        while (net_next_event(s, &event))
            ;
        assert_int_equal(net_poll(&s, 1, NULL, 1000, NULL), OK);
        assert_true(clock_us() < until);
    }
}

const unsigned char *head_of(int fill)
{
    static unsigned char head[NET_HEAD];
    memset(head, fill, sizeof head);
    return head;
}
