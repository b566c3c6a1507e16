#include "unit/ps/support_standby.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tree_node standby_root = {2, 0};

void fake_listen(fake *f, const char *endpoint)
{
    int64_t until = clock_us() + 20000000;
    /* the transport lets go of a port a while after its socket is closed */
    while (net_listen(f->net, &endpoint, 1, -1, &f->socket, NULL) != OK) {
        assert_true(clock_us() < until);
        assert_int_equal(net_poll(NULL, 0, NULL, 10, NULL), OK);
    }
    snprintf(f->endpoint, sizeof f->endpoint, "%s", net_endpoint(f->socket));
}

fake fake_make(server *s)
{
    fake f = {.net = s->net};
    fake_listen(&f, "tcp://127.0.0.1:0");
    return f;
}

void fake_fini(fake *f)
{
    free(f->floats);
    net_close(&f->socket, 0);
}

/* Reports are counted: they come in front of the sum they belong to. */
static bool is_counted(fake *f)
{
    if (f->head.type == WIRE_PUSH)
        assert_int_equal(f->n_reports, f->head.slots);
    f->n_reports = f->head.type == WIRE_REPORT ? f->n_reports + 1 : 0;
    return f->head.type == WIRE_REPORT;
}

bool fake_receive(fake *f, int ms)
{
    net_message m;
    int64_t until = clock_us() + ms * 1000;
    while (!net_receive(f->socket, &m)) {
        net_event event;
        while (net_next_event(f->socket, &event))
            ;
        if (clock_us() > until)
            return false;
        assert_int_equal(net_poll(&f->socket, 1, NULL, 20, NULL), OK);
    }
    size_t bytes = span_bytes(m.payload);
    assert_int_equal(wire_head_decode(m.head, bytes, &f->head, NULL), OK);
    assert_true(wire_may_say(f->head.type, ROLE_PS, ROLE_PS));
    f->from = m.from;
    f->n = bytes / sizeof(float);
    f->floats = xrealloc(f->floats, bytes + 1);
    if (bytes)
        memcpy(f->floats, span_data(m.payload), bytes);
    span_drop(m.payload);
    return is_counted(f) ? fake_receive(f, ms) : true;
}

void fake_hear(fake *f, wire_type type)
{
    if (!fake_receive(f, 20000))
        fail_msg("the standby never heard %s", wire_type_name(type));
    if (f->head.type != type)
        fail_msg("the standby heard %s, not %s", wire_type_name(f->head.type),
                 wire_type_name(type));
}

void fake_say(fake *f, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    unsigned char head[NET_HEAD];
    if (m)
        wire_pack(m, &packed);
    h.bytes = packed.size;
    wire_head_encode(&h, head);
    span payload = span_for_call(packed.data, packed.size);
    assert_int_equal(net_send(f->socket, &f->from, head, &payload, NULL), OK);
    buf_fini(&packed);
}

void fake_welcome(fake *f, uint32_t era)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.life = 1;
    m.era = era;
    fake_say(f, (wire_head){.type = WIRE_WELCOME}, &m.base);
}

void fake_open(fake *f)
{
    fake_hear(f, WIRE_HELLO);
    fake_welcome(f, era_said);
}

void fake_hear_beside_hellos(fake *f, wire_type type)
{
    do
        if (!fake_receive(f, 20000))
            fail_msg("the standby never heard %s", wire_type_name(type));
    while (f->head.type == WIRE_HELLO || (f->head.type == WIRE_STATE && type == WIRE_PUSH));
    if (f->head.type != type)
        fail_msg("the standby heard %s, not %s", wire_type_name(f->head.type),
                 wire_type_name(type));
}

bool fake_hears_hello(fake *f, int ms)
{
    bool hears = fake_receive(f, ms);
    assert_true(!hears || f->head.type == WIRE_HELLO);
    return hears;
}

void fake_acknowledge(fake *f)
{
    wire_head h = f->head;
    uint64_t tag = h.type == WIRE_STATE ? (uint64_t)h.node.index + 1 : 0;
    fake_say(f,
             (wire_head){.type = WIRE_PUSHED,
                         .job_id = h.job_id,
                         .era = h.era,
                         .part = h.part,
                         .step = h.step,
                         .node = h.node,
                         .tag = tag},
             NULL);
}

void check_sum(const fake *f, const shape *s, int64_t step)
{
    float *sum = xcalloc(f->n, sizeof *sum);
    assert_int_equal(f->n, flat_part_elements(s->flat, 0));
    shape_node(s, 0, step, standby_root, sum);
    assert_memory_equal(f->floats, sum, f->n * sizeof *sum);
    assert_int_equal(f->head.step, step);
    assert_int_equal(f->head.slots, LEAVES);
    assert_int_equal(f->head.node.level, standby_root.level);
    assert_int_equal(f->head.node.index, 0);
    assert_int_equal(f->head.era, era_said);
    free(sum);
}

assignment dealt(const char *first, const char *second)
{
    return (assignment){.era = ERA,
                        .lineage = ERA,
                        .shards = {{0, 1, true}, {1, 0, true}},
                        .addresses = {first, second}};
}

void meet(server *s, const assignment *a, peer *ret_master, peer *ret_worker)
{
    *ret_master = peer_dial(s, s->tcp);
    *ret_worker = peer_dial(s, s->tcp);
    say_hello(ret_master, ROLE_MASTER, s->config, "master:1");
    hear(ret_master, WIRE_WELCOME);
    say_assignment(ret_master, a);
    hear(ret_master, WIRE_READY);
    say_hello(ret_worker, ROLE_WORKER, s->config, NULL);
    hear(ret_worker, WIRE_WELCOME);
}

void push_leaves(peer *worker, int64_t step)
{
    for (uint32_t i = 0; i < LEAVES; i++) {
        push(worker, step, (tree_node){0, i});
        hear_pushed(worker, step, (tree_node){0, i});
    }
}

void push_sum(peer *p, const shape *s, int64_t step)
{
    span *b = hand(s, 0, step, standby_root, false);
    wire_head h = head_of(WIRE_PUSH, 0, step);
    h.slots = LEAVES;
    h.node = standby_root;
    say_measured(p, step, standby_root);
    say(p, h, b->data, b->bytes);
    hear_pushed(p, step, standby_root);
    span_drop(b);
}
