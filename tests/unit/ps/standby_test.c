/*
 * A server and its standby: no version is answered that the standby does not hold, what was not
 * acknowledged is said again, a standby that comes late gets a copy, and when the one who acts is
 * gone the other one has every version that was ever answered, bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "unit/ps/support_server.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES = 4 };

static const tree_node root = {2, 0};

/* --- a standby played by hand --- */

typedef struct fake {
    net *net;
    net_socket *socket;
    char endpoint[64];
    net_peer from; /* who spoke last */
    wire_head head;
    float *floats;
    size_t n;
} fake;

static void fake_listen(fake *f, const char *endpoint)
{
    int64_t until = clock_us() + 20000000;
    /* the transport lets go of a port a while after its socket is closed */
    while (net_listen(f->net, &endpoint, 1, -1, &f->socket, NULL) != OK) {
        assert_true(clock_us() < until);
        assert_int_equal(net_poll(NULL, 0, NULL, 10, NULL), OK);
    }
    snprintf(f->endpoint, sizeof f->endpoint, "%s", net_endpoint(f->socket));
}

static fake fake_make(server *s)
{
    fake f = {.net = s->net};
    fake_listen(&f, "tcp://127.0.0.1:0");
    return f;
}

static void fake_fini(fake *f)
{
    free(f->floats);
    net_close(&f->socket, 0);
}

static bool fake_receive(fake *f, int ms)
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
    size_t bytes = net_payload_bytes(&m.payload);
    assert_int_equal(wire_head_decode(m.head, bytes, &f->head, NULL), OK);
    assert_true(wire_may_say(f->head.type, ROLE_PS, ROLE_PS));
    f->from = m.from;
    f->n = bytes / sizeof(float);
    f->floats = xrealloc(f->floats, bytes + 1);
    if (bytes)
        memcpy(f->floats, net_payload_data(&m.payload), bytes);
    net_payload_close(&m.payload);
    return true;
}

static void fake_hear(fake *f, wire_type type)
{
    if (!fake_receive(f, 20000))
        fail_msg("the standby never heard %s", wire_type_name(type));
    if (f->head.type != type)
        fail_msg("the standby heard %s, not %s", wire_type_name(f->head.type),
                 wire_type_name(type));
}

static void fake_say(fake *f, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    unsigned char head[NET_HEAD];
    if (m)
        wire_pack(m, &packed);
    h.bytes = packed.size;
    wire_head_encode(&h, head);
    net_buffer payload = {.data = packed.data, .bytes = packed.size};
    assert_int_equal(net_send(f->socket, &f->from, head, &payload, NULL), OK);
    buf_fini(&packed);
}

static void fake_welcome(fake *f, uint32_t era)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.life = 1;
    m.era = era;
    fake_say(f, (wire_head){.type = WIRE_WELCOME}, &m.base);
}

/* Hellos come until it is in the era of the server. */
static void fake_open(fake *f)
{
    fake_hear(f, WIRE_HELLO);
    fake_welcome(f, era_said);
}

/* Hellos that are still on their way do not count, nor rows said again on a busy machine. */
static void fake_hear_beside_hellos(fake *f, wire_type type)
{
    do
        if (!fake_receive(f, 20000))
            fail_msg("the standby never heard %s", wire_type_name(type));
    while (f->head.type == WIRE_HELLO || (f->head.type == WIRE_STATE && type == WIRE_PUSH));
    if (f->head.type != type)
        fail_msg("the standby heard %s, not %s", wire_type_name(f->head.type),
                 wire_type_name(type));
}

static void fake_acknowledge(fake *f)
{
    wire_head h = f->head;
    uint64_t tag = h.type == WIRE_STATE ? h.tag + 1 : 0;
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

static void check_sum(const fake *f, const shape *s, int64_t step)
{
    float *sum = xcalloc(f->n, sizeof *sum);
    assert_int_equal(f->n, flat_part_elements(s->flat, 0));
    shape_node(s, 0, step, root, sum);
    assert_memory_equal(f->floats, sum, f->n * sizeof *sum);
    assert_int_equal(f->head.step, step);
    assert_int_equal(f->head.slots, LEAVES);
    assert_int_equal(f->head.node.level, root.level);
    assert_int_equal(f->head.node.index, 0);
    assert_int_equal(f->head.era, era_said);
    free(sum);
}

/* --- scenes --- */

static assignment dealt(const char *first, const char *second)
{
    return (assignment){.era = ERA,
                        .lineage = ERA,
                        .shards = {{0, 1, true}, {1, 0, true}},
                        .addresses = {first, second}};
}

static void meet(server *s, const assignment *a, peer *ret_master, peer *ret_worker)
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

static void push_leaves(peer *worker, int64_t step)
{
    for (uint32_t i = 0; i < LEAVES; i++) {
        push(worker, step, (tree_node){0, i});
        hear_pushed(worker, step, (tree_node){0, i});
    }
}

/* --- acting --- */

/* Version 1 is there, and nobody hears it before the standby holds the sum. */
static void test_nothing_is_answered_alone(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    check_weights(&worker, &w);
    for (int64_t step = 0; step < 5; step++) {
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        push_leaves(&worker, step);
        fake_hear_beside_hellos(&f, WIRE_PUSH);
        check_sum(&f, &s->shape, step);
        hear_nothing(&worker);
        check_weights(&worker, &w); /* the one before is */
        fold_block *early = hand(&s->shape, 0, step + 1, (tree_node){0, 0}, false);
        wire_head h = head_of(WIRE_PUSH, 0, step + 1);
        h.slots = LEAVES;
        check_refused(&worker, h, early->data, early->n * sizeof(float), E_PROTOCOL,
                      "nobody can have computed that step");
        early->release(early);
        fake_acknowledge(&f);
        whole_step(&w, 1);
        hear_weights(&worker, &w);
    }
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* The connection is lost before the acknowledgement: the sum comes again. Then the master says that
 * there is no standby any more, and the version is answered. */
static void test_a_lost_standby(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    char endpoint[64];
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    memcpy(endpoint, f.endpoint, sizeof endpoint);
    net_close(&f.socket, 0);
    fake_listen(&f, endpoint);
    fake_open(&f);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    check_sum(&f, &s->shape, 0);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_nothing(&worker);
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){0, HOLDER_NONE, false};
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    say_assignment(&master, &a); /* shard 1 has no parts: nothing is missing */
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->newest, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    push_leaves(&worker, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* A silent standby is asked again; one of another era hears nothing but hellos. */
static void test_said_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    push_leaves(&worker, 0);
    fake_hear(&f, WIRE_HELLO);
    fake_welcome(&f, ERA - 1);
    fake_hear(&f, WIRE_HELLO);
    fake_welcome(&f, 0);
    fake_open(&f);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    fake_hear_beside_hellos(&f, WIRE_PUSH); /* after a second */
    check_sum(&f, &s->shape, 0);
    fake_acknowledge(&f);
    whole w = whole_make(&s->shape);
    whole_step(&w, 1);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* A standby that holds nothing is sent all vectors; from then on versions wait for it, and the
 * master hears when it holds all. */
static void test_a_copy_is_sent(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    a.shards[0].is_backed = false;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0); /* nobody waits yet */
    whole_step(&w, 1);
    check_weights(&worker, &w);
    fake_open(&f);
    bool seen[4] = {false};
    for (int i = 0; i < 4; i++) {
        fake_hear_beside_hellos(&f, WIRE_STATE);
        assert_int_equal(f.head.step, 1);
        assert_int_equal(f.head.slots, 4); /* weights, two of Adam's, the weights before */
        assert_true(f.head.tag < 4);
        if (seen[f.head.tag]) { /* said again */
            i--;
            continue;
        }
        seen[f.head.tag] = true;
        const float *wanted = f.head.tag == 0   ? w.weights
                              : f.head.tag == 3 ? NULL
                                                : w.slots[f.head.tag - 1];
        if (wanted)
            assert_memory_equal(f.floats, wanted, f.n * sizeof(float));
        if (i < 3)
            fake_acknowledge(&f);
    }
    wire_head last = f.head;
    push_leaves(&worker, 1);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    check_weights(&worker, &w);
    hear_nothing(&worker);
    hear_nothing(&master);
    wire_head sum = f.head;
    f.head = last;
    fake_acknowledge(&f);
    hear(&master, WIRE_BACKED);
    assert_int_equal(master.head.tag, 0);
    hear_nothing(&worker);
    f.head = sum;
    fake_acknowledge(&f);
    whole_step(&w, 1);
    hear_weights(&worker, &w);
    say_hello(&master, ROLE_MASTER, s->config, "master:1"); /* it may not have heard */
    hear(&master, WIRE_WELCOME);
    hear(&master, WIRE_BACKED);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

static bool fake_hears_hello(fake *f, int ms)
{
    bool hears = fake_receive(f, ms);
    assert_true(!hears || f->head.type == WIRE_HELLO);
    return hears;
}

/* The standby does not answer, and the master hears of it, again and again. It says that the copy
 * there counts no more: then nobody waits for it. After a pause it is greeted, and sent a copy. */
static void test_a_standby_out_of_reach(void **state)
{
    (void)state;
    server *s = server_start("distributed.heartbeat_timeout=1");
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    whole w = whole_make(&s->shape);
    push_leaves(&worker, 0);
    fake_hear_beside_hellos(&f, WIRE_PUSH);
    for (int i = 0; i < 2; i++) {
        hear(&master, WIRE_BACKED);
        assert_int_equal(master.head.tag, 0);
        assert_int_equal(master.head.step, 1);
    }
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){0, 1, false};
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    push_leaves(&worker, 1);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    while (fake_receive(&f, 100)) /* what was said before that era */
        assert_int_not_equal(f.head.type, WIRE_STATE);
    while (!fake_hears_hello(&f, 100))
        ;
    fake_welcome(&f, ERA + 1);
    for (int i = 0; i < 4; i++) {
        fake_hear_beside_hellos(&f, WIRE_STATE);
        assert_int_equal(f.head.step, 2);
        fake_acknowledge(&f);
    }
    hear(&master, WIRE_BACKED);
    assert_int_equal(master.head.step, 0);
    whole_fini(&w);
    fake_fini(&f);
    end_well(s, &master, &worker);
}

/* --- standing by --- */

static void push_sum(peer *p, const shape *s, int64_t step)
{
    fold_block *b = hand(s, 0, step, root, false);
    wire_head h = head_of(WIRE_PUSH, 0, step);
    h.slots = LEAVES;
    h.node = root;
    say(p, h, b->data, b->n * sizeof(float));
    hear_pushed(p, step, root);
    b->release(b);
}

/* It takes whole sums from servers, nothing from workers, and answers once it acts. */
static void test_standing_by(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, acting = peer_dial(s, s->tcp);
    assignment a = dealt("tcp://127.0.0.1:9", s->tcp); /* whom it stands by for is never dialled */
    a.place = 1;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    assert_int_equal(welcome_of(&acting)->era, ERA);
    assert_int_equal(welcome_of(&acting)->n_shards, 1);
    assert_int_equal(welcome_of(&acting)->shards[0], 0);
    assert_int_equal(welcome_of(&acting)->n_assignment, 2); /* for the next master */
    assert_int_equal(welcome_of(&acting)->assignment[0]->standby, 1);
    assert_true(welcome_of(&acting)->assignment[0]->is_backed);
    assert_false(welcome_of(&acting)->assignment[1]->has_standby);
    whole w = whole_make(&s->shape), before = whole_make(&s->shape);
    fold_block *leaf = hand(&s->shape, 0, 0, (tree_node){0, 0}, false);
    wire_head h = head_of(WIRE_PUSH, 0, 0);
    h.slots = LEAVES;
    check_refused(&worker, h, leaf->data, leaf->n * sizeof(float), E_PROTOCOL,
                  "another server acts for that part");
    check_refused(&acting, h, leaf->data, leaf->n * sizeof(float), E_PROTOCOL,
                  "a standby takes whole sums");
    check_refused(&worker, head_of(WIRE_PULL, 0, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    leaf->release(leaf);
    for (int64_t step = 0; step < 5; step++) {
        push_sum(&acting, &s->shape, step);
        push_sum(&acting, &s->shape, step); /* again: taken once */
        whole_step(&w, 1);
        if (step)
            whole_step(&before, 1);
    }
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){1, HOLDER_NONE, false};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->step, 5);
    check_weights(&worker, &w);
    check_weights(&worker, &before);
    push_leaves(&worker, 5);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    whole_fini(&w);
    whole_fini(&before);
    peer_close(&acting);
    end_well(s, &master, &worker);
}

/* It comes to act while a sum waits for the verdict. Who acted before holds that sum too, and
 * stands by now: nothing has to be sent to it before the version is answered. */
static void test_acting_again_during_a_vote(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1.0");
    fake f = fake_make(s);
    peer master, worker, acting = peer_dial(s, s->tcp);
    assignment a = dealt(f.endpoint, s->tcp);
    a.place = 1;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    meet(s, &a, &master, &worker);
    say_hello(&acting, ROLE_PS, s->config, NULL);
    hear(&acting, WIRE_WELCOME);
    push_sum(&acting, &s->shape, 0);
    hear_nothing(&master); /* who acts votes */
    a.era = era_said = ERA + 1;
    a.keep = true;
    a.shards[0] = (holders){1, 0, true};
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_int_equal(((Wire__Ready *)master.message)->newest, 0);
    hear(&master, WIRE_NORM);
    Wire__Verdict v = WIRE__VERDICT__INIT;
    v.scale = 0.25f;
    say_proto(&master, head_of(WIRE_VERDICT, 0, 0), &v.base);
    whole w = whole_make(&s->shape);
    whole_step(&w, 0.25f);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    fake_fini(&f);
    peer_close(&acting);
    say_stop(&master, OK, "");
    assert_int_equal(server_end(s), OK);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

/* A vote is not said before the standby has the sum: else others would be two versions ahead of it. */
static void test_a_vote_waits_for_the_standby(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1.0");
    fake f = fake_make(s);
    peer master, worker;
    assignment a = dealt(s->tcp, f.endpoint);
    meet(s, &a, &master, &worker);
    fake_open(&f);
    for (int64_t step = 0; step < 3; step++) {
        push_leaves(&worker, step);
        fake_hear_beside_hellos(&f, WIRE_PUSH);
        hear_nothing(&master);
        fake_acknowledge(&f);
        hear(&master, WIRE_NORM);
        assert_int_equal(master.head.step, step);
        Wire__Verdict v = WIRE__VERDICT__INIT;
        v.scale = 0.5f;
        say_proto(&master, head_of(WIRE_VERDICT, 0, step), &v.base);
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        hear(&worker, WIRE_PART);
    }
    fake_fini(&f);
    say_stop(&master, OK, "");
    assert_int_equal(server_end(s), OK);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

/* To go on with what was never here is refused, with a word. */
static void test_nothing_to_go_on_with(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    assignment a = dealt(s->tcp, "tcp://127.0.0.1:9");
    a.place = 1;
    a.shards[0].is_backed = false;
    a.shards[1] = (holders){0, HOLDER_NONE, false};
    a.keep = true; /* it awaits all */
    meet(s, &a, &master, &worker);
    a.era = era_said = ERA + 1;
    a.shards[0] = (holders){1, HOLDER_NONE, false}; /* and cannot act */
    say_assignment(&master, &a);
    hear(&master, WIRE_READY);
    assert_true(((Wire__Ready *)master.message)->lost);
    end_well(s, &master, &worker);
}

/* --- two real servers --- */

typedef struct village {
    server *servers[2];
    peer masters[2], workers[2];
    char endpoints[2][64]; /* where they listen, or did */
    int64_t answered;      /* the highest version of part 0 */
} village;

static void village_turn(village *v, assignment *a, uint32_t era)
{
    a->era = era_said = era;
    for (int i = 0; i < 2; i++) {
        if (!v->servers[i])
            continue;
        a->place = i;
        say_assignment(&v->masters[i], a);
        hear(&v->masters[i], WIRE_READY);
        assert_false(((Wire__Ready *)v->masters[i].message)->lost);
    }
}

static void village_start(village *v, int i)
{
    v->servers[i] = server_start(NULL);
    memcpy(v->endpoints[i], v->servers[i]->tcp, sizeof v->endpoints[i]);
}

static void village_make(village *v, assignment *a)
{
    memset(v, 0, sizeof *v);
    for (int i = 0; i < 2; i++)
        village_start(v, i);
    *a = dealt(v->endpoints[0], v->endpoints[1]);
    for (int i = 0; i < 2; i++) {
        a->place = i;
        meet(v->servers[i], a, &v->masters[i], &v->workers[i]);
    }
}

/* One step of part 0 on server `i`. The answer to the pull is awaited where `pulls`. */
static void village_step(village *v, int i, whole *w, bool pulls)
{
    peer *worker = &v->workers[i];
    if (pulls)
        say(worker, head_of(WIRE_PULL, 0, w->version + 1), NULL, 0);
    push(worker, w->version, root);
    whole_step(w, 1);
    bool pushed = false, answered = !pulls;
    while (!pushed || !answered) {
        net_message m;
        if (!net_receive(worker->socket, &m)) {
            assert_int_equal(net_poll(&worker->socket, 1, NULL, 20, NULL), OK);
            continue;
        }
        wire_head h;
        assert_int_equal(wire_head_decode(m.head, net_payload_bytes(&m.payload), &h, NULL), OK);
        pushed |= h.type == WIRE_PUSHED;
        if (h.type == WIRE_PART) {
            answered = true;
            assert_memory_equal(net_payload_data(&m.payload), w->weights,
                                net_payload_bytes(&m.payload));
            v->answered = h.step > v->answered ? h.step : v->answered;
        }
        net_payload_close(&m.payload);
    }
}

static void village_kill(village *v, int i)
{
    atomic_store(&v->servers[i]->abort, true);
    assert_int_equal(server_end(v->servers[i]), E_ABORTED);
    peer_close(&v->masters[i]);
    peer_close(&v->workers[i]);
    server_fini(v->servers[i]);
    v->servers[i] = NULL;
}

/* The server that acts is gone after any number of steps: the other one is at the version answered
 * last, and goes on from there. Then a new one comes, is sent everything, and takes over in turn.
 */
static void test_promotion(void **state)
{
    (void)state;
    for (int n_steps = 1; n_steps < 4; n_steps++) {
        village v;
        assignment a;
        village_make(&v, &a);
        shape s = shape_small(LEAVES);
        s.optim = v.servers[0]->shape.optim;
        s.schedule = v.servers[0]->shape.schedule;
        whole w = whole_make(&s);
        for (int step = 0; step < n_steps; step++)
            village_step(&v, 0, &w, true);
        assert_int_equal(v.answered, n_steps);
        village_kill(&v, 0);
        a.keep = true;
        a.shards[0] = a.shards[1] = (holders){1, HOLDER_NONE, false};
        village_turn(&v, &a, ERA + 1);
        assert_int_equal(((Wire__Ready *)v.masters[1].message)->newest, v.answered);
        check_weights(&v.workers[1], &w);
        village_step(&v, 1, &w, true);

        village_start(&v, 0);
        a.shards[0] = a.shards[1] = (holders){1, 0, false};
        a.era = ERA + 2;
        a.place = 0;
        meet(v.servers[0], &a, &v.masters[0], &v.workers[0]);
        era_said = ERA + 2;
        a.place = 1;
        say_assignment(&v.masters[1], &a);
        hear(&v.masters[1], WIRE_BACKED); /* shard 1, which has no parts */
        hear(&v.masters[1], WIRE_READY);
        hear(&v.masters[1], WIRE_BACKED);
        village_step(&v, 1, &w, true);
        village_step(&v, 1, &w, true);
        village_kill(&v, 1);
        a.shards[0] = a.shards[1] = (holders){0, HOLDER_NONE, false};
        village_turn(&v, &a, ERA + 3);
        assert_int_equal(((Wire__Ready *)v.masters[0].message)->newest, v.answered);
        check_weights(&v.workers[0], &w);
        village_step(&v, 0, &w, true);
        whole_fini(&w);
        shape_fini(&s);
        end_well(v.servers[0], &v.masters[0], &v.workers[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_answered_alone),
        cmocka_unit_test(test_a_lost_standby),
        cmocka_unit_test(test_said_again),
        cmocka_unit_test(test_a_copy_is_sent),
        cmocka_unit_test(test_a_standby_out_of_reach),
        cmocka_unit_test(test_standing_by),
        cmocka_unit_test(test_nothing_to_go_on_with),
        cmocka_unit_test(test_promotion),
        cmocka_unit_test(test_acting_again_during_a_vote),
        cmocka_unit_test(test_a_vote_waits_for_the_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
