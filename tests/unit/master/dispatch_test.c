/* Who is not known, or knows us no more, hears so, and all is well after one more hello. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "master/state.h"
#include "unit/master/support_accounts.h"

/* A master of one server, which is played by hand like the worker. */
typedef struct stage {
    net *net;
    net_socket *worker, *server; /* the worker's dial, the server's listener */
    net_peer master;             /* as the server knows it */
    master_options options;
    server servers[1];
    master m;
    wire_head head; /* heard last */
} stage;

static net_socket *listen_on(net *n, const char *endpoint)
{
    error err = ERROR_INIT;
    net_socket *s = NULL;
    must(net_listen(n, &endpoint, 1, -1, &s, &err), &err);
    return s;
}

static void stage_make(stage *s)
{
    error err = ERROR_INIT;
    *s = (stage){.options = {.n_servers = 1}};
    must(net_create(&s->net, &err), &err);
    s->options.net = s->net;
    s->server = listen_on(s->net, "inproc://server");
    s->m = (master){.o = &s->options,
                    .phase = RUN,
                    .views = {.id = 3},
                    .listener = listen_on(s->net, "inproc://master"),
                    .servers = s->servers};
    must(net_dial(s->net, "inproc://master", &s->worker, &err), &err);
    must(net_dial(s->net, "inproc://server", &s->servers[0].socket, &err), &err);
    s->servers[0].welcomed = true;
}

static void stage_leave(stage *s)
{
    net_close(&s->worker, 0);
    net_close(&s->server, 0);
    net_close(&s->servers[0].socket, 0);
    net_close(&s->m.listener, 0);
    net_destroy(&s->net);
}

static void say(net_socket *s, const net_peer *to, wire_head h)
{
    error err = ERROR_INIT;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    must(net_send(s, to, head, &(span){.data = NULL}, &err), &err);
}

/* The master goes on until `at` hears something. */
static void hear(stage *s, net_socket *at, wire_type type)
{
    error err = ERROR_INIT;
    net_message message;
    int64_t until = clock_us() + 20000000;
    while (!net_receive(at, &message)) {
        net_event event;
        while (net_next_event(at, &event))
            ;
        net_socket *all[] = {s->m.listener, s->servers[0].socket, at};
        assert_true(clock_us() < until);
        must(net_poll(all, 3, NULL, 20, &err), &err);
        must(master_serve_servers(&s->m, &err), &err);
        must(master_serve_workers(&s->m, &err), &err);
    }
    must(wire_head_decode(message.head, span_bytes(message.payload), &s->head, &err), &err);
    s->master = message.from;
    span_drop(message.payload);
    assert_int_equal(s->head.type, type);
}

static void a_worker_that_is_not_known_is_asked_for_its_hello(void **state)
{
    (void)state;
    stage s;
    stage_make(&s);
    say(s.worker, NULL, (wire_head){.type = WIRE_HEARTBEAT});
    hear(&s, s.worker, WIRE_ALIVE);
    assert_true(s.head.tag == WIRE_NO_VIEW);
    stage_leave(&s);
}

static void a_server_that_knows_another_is_greeted_again(void **state)
{
    (void)state;
    stage s;
    stage_make(&s);
    hear(&s, s.server, WIRE_HELLO);
    say(s.server, &s.master, (wire_head){.type = WIRE_ALIVE, .tag = WIRE_NO_VIEW});
    hear(&s, s.server, WIRE_HELLO);
    stage_leave(&s);
}

static void say_all(const stage *s, wire_type type, const ProtobufCMessage *message)
{
    error err = ERROR_INIT;
    unsigned char head[NET_HEAD];
    buf packed = BUF_INIT;
    wire_pack(message, &packed);
    wire_head h = {.type = type, .step = 4, .bytes = (uint32_t)packed.size};
    wire_head_encode(&h, head);
    span payload = span_for_call(packed.data, packed.size);
    must(net_send(s->server, &s->master, head, &payload, &err), &err);
    buf_fini(&packed);
}

/* A server that kept its parts goes on writing a cut while others are not ready: there are no accounts yet. */
static void what_is_said_of_cuts_before_the_run_is_dropped(void **state)
{
    (void)state;
    stage s;
    stage_make(&s);
    s.m.phase = SETUP;
    hear(&s, s.server, WIRE_HELLO);
    Wire__CutDone done = WIRE__CUT_DONE__INIT;
    Wire__CutLate late = WIRE__CUT_LATE__INIT;
    Wire__Shard shard = WIRE__SHARD__INIT;
    Wire__Histogram histogram = WIRE__HISTOGRAM__INIT;
    say_all(&s, WIRE_CUT_DONE, &done.base);
    say_all(&s, WIRE_CUT_LATE, &late.base);
    say_all(&s, WIRE_SHARD, &shard.base);
    say_all(&s, WIRE_HISTOGRAM, &histogram.base);
    say(s.server, &s.master, (wire_head){.type = WIRE_ALIVE, .tag = WIRE_NO_VIEW});
    hear(&s, s.server, WIRE_HELLO); /* all before that was heard */
    stage_leave(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_is_not_known_is_asked_for_its_hello),
        cmocka_unit_test(a_server_that_knows_another_is_greeted_again),
        cmocka_unit_test(what_is_said_of_cuts_before_the_run_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
