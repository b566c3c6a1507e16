/*
 * A kv and servers played by hand, on one thread over real sockets: credits hold, the highest part
 * goes first, what a lost connection swallowed is said again, foreign answers are ignored, and the
 * memory of every push comes back exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/parts/placement.h"
#include "kv/kv.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS = 2, PARTS = 4, PART_N = PART_MIN, LIMIT_US = 20000000 };

static const uint64_t job_id = 77;
static const uint32_t era = 3, incarnation = 9;

typedef struct push {
    atomic_int n_back;
    float *data;
} push;

typedef struct answer {
    int n_parts, n_gone, n_refused, n_welcomes;
    int32_t part;
    int64_t version;
    float first;
} answer;

typedef struct scene {
    net *net;
    net_socket *listener[SERVERS];
    char endpoint[SERVERS][64];
    net_peer peer[SERVERS]; /* the kv, as each server last heard it */
    flat *flat;
    int32_t placement[PARTS];
    buf hello;
    kv *kv;
    answer answer;
    push pushes[PARTS];
} scene;

/* --- what the kv tells --- */

static void on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    answer *a = user;
    assert_in_range(server, 0, SERVERS - 1);
    assert_string_equal(m->master_address, "here:1");
    a->n_welcomes++;
}

static void on_part(void *user, int32_t part, int64_t version, const float *data, size_t n)
{
    answer *a = user;
    assert_int_equal(n, PART_N);
    a->n_parts++;
    a->part = part;
    a->version = version;
    a->first = data[0];
}

static void on_gone(void *user, int32_t part, int64_t newest)
{
    answer *a = user;
    a->n_gone++;
    a->part = part;
    a->version = newest;
}

static void on_refused(void *user, int32_t server, const wire_head *head, const Wire__Refused *m)
{
    answer *a = user;
    (void)server;
    assert_string_equal(m->text, "no");
    a->n_refused++;
    a->part = head->part;
}

/* --- the scene --- */

static void listen_at(scene *s, int i, const char *endpoint)
{
    error err = ERROR_INIT;
    if (net_listen(s->net, &endpoint, 1, -1, &s->listener[i], &err) != OK)
        fail_msg("%s", err.text);
    snprintf(s->endpoint[i], sizeof s->endpoint[i], "%s", net_endpoint(s->listener[i]));
}

static flat *flat_of_parts(void)
{
    tensor_decl d = {.name = "w", .rank = 2, .dim = {PARTS, PART_N}};
    flat *f = NULL;
    assert_int_equal(flat_create(&d, 1, &f, NULL), OK);
    assert_int_equal(f->n_parts, PARTS);
    return f;
}

static scene *scene_make(const char *endpoint, size_t credit_bytes)
{
    scene *s = xcalloc(1, sizeof *s);
    assert_int_equal(net_create(&s->net, NULL), OK);
    const char *endpoints[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d", endpoint, i);
        listen_at(s, i, endpoint[0] == 't' ? endpoint : name);
        endpoints[i] = s->endpoint[i];
    }
    s->flat = flat_of_parts();
    placement_deal(s->flat, SERVERS, s->placement);
    buf_adds(&s->hello, "good day");
    kv_options options = {
        .net = s->net,
        .servers = endpoints,
        .n_servers = SERVERS,
        .credit_bytes = credit_bytes,
        .hello = &s->hello,
        .hooks = {on_welcome, on_part, on_gone, on_refused, &s->answer},
    };
    assert_int_equal(kv_create(&options, &s->kv, NULL), OK);
    for (int p = 0; p < PARTS; p++)
        s->pushes[p].data = xcalloc(PART_N, sizeof(float));
    return s;
}

static void give_back(void *data, void *hint)
{
    push *p = hint;
    if (data != p->data)
        abort();
    atomic_fetch_add(&p->n_back, 1);
}

static void wait_back(const push *p)
{
    int64_t until = clock_us() + LIMIT_US;
    while (!atomic_load(&p->n_back)) {
        assert_true(clock_us() < until);
        sched_yield();
    }
    assert_int_equal(atomic_load(&p->n_back), 1);
}

static void scene_fini(scene *s)
{
    kv_destroy(&s->kv);
    assert_null(s->kv);
    for (int i = 0; i < SERVERS; i++)
        net_close(&s->listener[i], 0);
    net_destroy(&s->net);
    for (int p = 0; p < PARTS; p++)
        free(s->pushes[p].data);
    flat_destroy(&s->flat);
    buf_fini(&s->hello);
    free(s);
}

/* --- the servers' side --- */

static void say(scene *s, int i, wire_head h, const void *data, size_t bytes)
{
    unsigned char head[NET_HEAD];
    h.bytes = bytes;
    wire_head_encode(&h, head);
    net_buffer payload = {.data = data, .bytes = bytes};
    assert_int_equal(net_send(s->listener[i], &s->peer[i], head, &payload, NULL), OK);
}

static void say_proto(scene *s, int i, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    say(s, i, h, packed.data, packed.size);
    buf_fini(&packed);
}

static wire_head head_of(wire_type type, int32_t part, int64_t step)
{
    return (wire_head){.type = type, .job_id = job_id, .era = era, .part = part, .step = step};
}

static void say_part(scene *s, int i, wire_head h, float first)
{
    float *data = xcalloc(PART_N, sizeof *data);
    data[0] = first;
    say(s, i, h, data, PART_N * sizeof *data);
    free(data);
}

static void welcome(scene *s, int i, bool ready)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.ready = ready;
    m.master_address = (char *)(uintptr_t) "here:1";
    say_proto(s, i, (wire_head){.type = WIRE_WELCOME}, &m.base);
}

static void serve(scene *s)
{
    error err = ERROR_INIT;
    if (kv_serve(s->kv, &err) != OK)
        fail_msg("%s", err.text);
}

/* What server `i` hears next; false when there is nothing for a while. */
static bool hear(scene *s, int i, int ms, wire_head *ret, float *ret_first)
{
    int64_t until = clock_us() + ms * 1000;
    do {
        serve(s);
        net_message m;
        if (net_receive(s->listener[i], &m)) {
            size_t bytes = net_payload_bytes(&m.payload);
            assert_int_equal(wire_head_decode(m.head, bytes, ret, NULL), OK);
            assert_true(wire_may_say(ret->type, ROLE_WORKER, ROLE_PS));
            if (ret->type == WIRE_HELLO)
                assert_memory_equal(net_payload_data(&m.payload), "good day", 8);
            if (ret->type == WIRE_PUSH && ret_first)
                *ret_first = *(const float *)net_payload_data(&m.payload);
            s->peer[i] = m.from;
            net_payload_close(&m.payload);
            return true;
        }
        net_event event;
        while (net_next_event(s->listener[i], &event))
            ;
        net_socket *const *dials = kv_sockets(s->kv);
        net_socket *all[] = {dials[0], dials[1], s->listener[0], s->listener[1]};
        assert_int_equal(net_poll(all, 4, NULL, 5, NULL), OK);
    } while (clock_us() < until);
    return false;
}

static wire_head expect(scene *s, int i, wire_type type)
{
    wire_head h = {.type = WIRE_TYPE_END};
    if (!hear(s, i, LIMIT_US / 1000, &h, NULL) || h.type != type)
        fail_msg("server %d heard %s, wanted %s", i, wire_type_name(h.type), wire_type_name(type));
    return h;
}

/* Everything said up to here has been taken: a heartbeat comes back behind it. */
static void expect_nothing(scene *s, int i)
{
    assert_int_equal(kv_tick(s->kv, NULL), OK);
    wire_head h = expect(s, i, kv_server_is_up(s->kv, i) ? WIRE_HEARTBEAT : WIRE_HELLO);
    (void)h;
    wire_head other;
    for (int k = 0; k < SERVERS; k++) /* the other's too */
        while (k != i && hear(s, k, 1, &other, NULL))
            assert_true(other.type == WIRE_HEARTBEAT || other.type == WIRE_HELLO);
}

/* Serves until what the kv heard satisfies. */
#define SERVE_UNTIL(s, condition)                                                                  \
    do {                                                                                           \
        int64_t until_ = clock_us() + LIMIT_US;                                                    \
        while (!(condition)) {                                                                     \
            serve(s);                                                                              \
            assert_int_equal(net_poll(kv_sockets((s)->kv), SERVERS, NULL, 5, NULL), OK);           \
            assert_true(clock_us() < until_);                                                      \
        }                                                                                          \
    } while (0)

static void begin(scene *s, uint32_t in_era, const flat *f)
{
    assert_int_equal(kv_begin(s->kv, job_id, in_era, incarnation, f, NULL), OK);
}

static void greet(scene *s)
{
    for (int i = 0; i < SERVERS; i++) {
        expect(s, i, WIRE_HELLO);
        welcome(s, i, true);
    }
    SERVE_UNTIL(s, kv_server_is_up(s->kv, 0) && kv_server_is_up(s->kv, 1));
    begin(s, era, s->flat);
}

static void do_push(scene *s, int32_t part, int64_t step)
{
    s->pushes[part].data[0] = (float)part;
    net_buffer b = {s->pushes[part].data, PART_N * sizeof(float), give_back, &s->pushes[part]};
    assert_int_equal(kv_push(s->kv, part, step, 4, (tree_node){1, 1}, &b, NULL), OK);
}

static void pushed(scene *s, int i, wire_head h)
{
    h.type = WIRE_PUSHED;
    h.flags = 0;
    say(s, i, h, NULL, 0);
}

/* Parts of one server, in order. */
static void parts_of(const scene *s, int i, int32_t ret[PARTS])
{
    int n = 0;
    for (int32_t p = 0; p < PARTS; p++)
        if (s->placement[p] == i)
            ret[n++] = p;
    assert_int_equal(n, PARTS / SERVERS);
}

/* --- tests --- */

static void check_push(const char *endpoint, bool lent)
{
    scene *s = scene_make(endpoint, 1 << 30);
    greet(s);
    for (int32_t p = 0; p < PARTS; p++)
        do_push(s, p, 5);
    assert_int_equal(kv_unacknowledged(s->kv, 0), PARTS / SERVERS);
    for (int i = 0; i < SERVERS; i++)
        for (int k = 0; k < PARTS / SERVERS; k++) {
            wire_head h;
            float first;
            assert_true(hear(s, i, LIMIT_US / 1000, &h, &first));
            assert_int_equal(h.type, WIRE_PUSH);
            assert_int_equal(s->placement[h.part], i);
            assert_int_equal(kv_server_of(s->kv, h.part), i);
            assert_true(first == (float)h.part);
            assert_int_equal(h.flags, lent ? WIRE_LENT : 0);
            assert_int_equal(h.job_id, job_id);
            assert_int_equal(h.era, era);
            assert_int_equal(h.incarnation, incarnation);
            assert_int_equal(h.step, 5);
            assert_int_equal(h.slots, 4);
            assert_int_equal(h.node.level, 1);
            assert_int_equal(h.node.index, 1);
            assert_int_equal(h.bytes, PART_N * sizeof(float));
            assert_int_equal(atomic_load(&s->pushes[h.part].n_back), 0);
            pushed(s, i, h);
        }
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0) && !kv_unacknowledged(s->kv, 1));
    for (int32_t p = 0; p < PARTS; p++)
        wait_back(&s->pushes[p]);
    scene_fini(s);
}

static void test_pushes(void **state)
{
    (void)state;
    check_push("tcp://127.0.0.1:0", false);
    check_push("inproc://kv-", true);
}

/* Credit for one part at a time: the next goes when the one before is acknowledged, and of those
 * that wait the highest. */
static void test_credits_and_order(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 0, of);
    do_push(s, of[0], 5);
    wire_head first = expect(s, 0, WIRE_PUSH);
    assert_int_equal(first.part, of[0]);
    /* the lower part once more, for a later step, and then the higher one */
    push extra = {.data = s->pushes[of[0]].data};
    net_buffer b = {extra.data, PART_N * sizeof(float), give_back, &extra};
    assert_int_equal(kv_push(s->kv, of[0], 6, 4, (tree_node){0, 0}, &b, NULL), OK);
    do_push(s, of[1], 5);
    expect_nothing(s, 0);
    assert_int_equal(kv_unacknowledged(s->kv, 0), 3);

    pushed(s, 0, first);
    wire_head second = expect(s, 0, WIRE_PUSH);
    assert_int_equal(second.part, of[1]);
    expect_nothing(s, 0);
    pushed(s, 0, second);
    wire_head third = expect(s, 0, WIRE_PUSH);
    assert_int_equal(third.part, of[0]);
    assert_int_equal(third.step, 6);
    pushed(s, 0, third);
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    wait_back(&extra);
    wait_back(&s->pushes[of[0]]);
    wait_back(&s->pushes[of[1]]);
    scene_fini(s);
}

/* Acknowledgements of something else give no credit. */
static void test_foreign_acknowledgements(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1);
    int32_t of[PARTS], other[PARTS];
    greet(s);
    parts_of(s, 0, of);
    parts_of(s, 1, other);
    do_push(s, of[0], 5);
    wire_head h = expect(s, 0, WIRE_PUSH), wrong;
    do_push(s, of[1], 5);
    pushed(s, 0, (wrong = h, wrong.step = 4, wrong));
    pushed(s, 0, (wrong = h, wrong.part = of[1], wrong));
    pushed(s, 0, (wrong = h, wrong.node.index = 0, wrong));
    pushed(s, 0, (wrong = h, wrong.node.level = 0, wrong));
    pushed(s, 0, (wrong = h, wrong.era = era - 1, wrong));
    pushed(s, 0, (wrong = h, wrong.job_id = 1, wrong));
    pushed(s, 0, (wrong = h, wrong.part = PARTS, wrong));
    expect_nothing(s, 1);
    pushed(s, 1, h); /* from a server that does not hold it */
    assert_int_equal(kv_pull(s->kv, of[0], 5, NULL), OK);
    expect(s, 0, WIRE_PULL);
    say_part(s, 0, head_of(WIRE_PART, of[0], 5), 1);
    SERVE_UNTIL(s, s->answer.n_parts); /* all of the above is behind us */
    expect_nothing(s, 0);
    assert_int_equal(kv_unacknowledged(s->kv, 0), 2);
    pushed(s, 0, h);
    h = expect(s, 0, WIRE_PUSH);
    assert_int_equal(h.part, of[1]);
    pushed(s, 0, h);
    pushed(s, 0, h); /* twice is once */
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    scene_fini(s);
}

static void test_pulls(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 1, of);
    assert_int_equal(kv_pull(s->kv, of[0], 5, NULL), OK);
    wire_head h = expect(s, 1, WIRE_PULL);
    assert_int_equal(h.part, of[0]);
    assert_int_equal(h.step, 5);
    assert_int_equal(h.incarnation, incarnation);
    /* another version, era, job, part, size: not what was asked for */
    say_part(s, 1, head_of(WIRE_PART, of[0], 4), 1);
    say_part(s, 1, head_of(WIRE_PART, of[1], 5), 2);
    say_part(s, 1, head_of(WIRE_PART, PARTS, 5), 3);
    wire_head wrong = head_of(WIRE_PART, of[0], 5);
    wrong.era--;
    say_part(s, 1, wrong, 4);
    wrong.era++;
    wrong.job_id++;
    say_part(s, 1, wrong, 5);
    say(s, 1, head_of(WIRE_PART, of[0], 5), "four", 4);
    say(s, 1, head_of(WIRE_GONE, of[1], 9), NULL, 0); /* nobody asked for that one */
    say_part(s, 1, head_of(WIRE_PART, of[0], 5), 6);
    say_part(s, 1, head_of(WIRE_PART, of[0], 5), 7); /* answered already */
    say(s, 1, head_of(WIRE_GONE, of[0], 9), NULL, 0);
    SERVE_UNTIL(s, s->answer.n_parts);
    expect_nothing(s, 1);
    assert_int_equal(s->answer.n_parts, 1);
    assert_int_equal(s->answer.n_gone, 0);
    assert_int_equal(s->answer.part, of[0]);
    assert_int_equal(s->answer.version, 5);
    assert_true(s->answer.first == 6);

    assert_int_equal(kv_pull(s->kv, of[1], 2, NULL), OK);
    expect(s, 1, WIRE_PULL);
    say(s, 1, head_of(WIRE_GONE, of[1], 7), NULL, 0); /* an earlier request's */
    wire_head gone = head_of(WIRE_GONE, of[1], 8);
    gone.tag = 2;
    say(s, 1, gone, NULL, 0);
    SERVE_UNTIL(s, s->answer.n_gone);
    assert_int_equal(s->answer.part, of[1]);
    assert_int_equal(s->answer.version, 8);
    scene_fini(s);
}

/* What no server may say, and noise: ignored, never fatal. */
static void test_what_a_server_may_not_say(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1);
    greet(s);
    say(s, 0, head_of(WIRE_PULL, 0, 0), NULL, 0);
    say(s, 0, head_of(WIRE_WELCOME, 0, 0), "\x12\x7f", 2);
    say(s, 0, head_of(WIRE_REFUSED, 0, 0), "\x12\x7f", 2);
    unsigned char noise[NET_HEAD];
    memset(noise, 0xa5, sizeof noise);
    assert_int_equal(net_send(s->listener[0], &s->peer[0], noise, NULL, NULL), OK);
    Wire__Refused m = WIRE__REFUSED__INIT;
    m.text = (char *)(uintptr_t) "no";
    say_proto(s, 0, head_of(WIRE_REFUSED, 3, 0), &m.base);
    SERVE_UNTIL(s, s->answer.n_refused);
    assert_int_equal(s->answer.part, 3);
    assert_int_equal(s->answer.n_refused, 1);
    assert_int_equal(s->answer.n_welcomes, 2);
    scene_fini(s);
}

/* Nothing is pushed or pulled before the server is ready; then all of it. */
static void test_a_server_that_is_not_ready(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1 << 30);
    int32_t of[PARTS];
    expect(s, 0, WIRE_HELLO);
    expect(s, 1, WIRE_HELLO);
    begin(s, era, s->flat);
    expect(s, 0, WIRE_HELLO); /* asked again at once */
    parts_of(s, 0, of);
    do_push(s, of[0], 5);
    assert_int_equal(kv_pull(s->kv, of[1], 6, NULL), OK);
    welcome(s, 0, false);
    SERVE_UNTIL(s, s->answer.n_welcomes);
    assert_false(kv_server_is_up(s->kv, 0));
    assert_string_equal(kv_server_name(s->kv, 0), s->endpoint[0]);
    expect_nothing(s, 0);
    welcome(s, 0, true);
    assert_int_equal(expect(s, 0, WIRE_PULL).part, of[1]);
    wire_head h = expect(s, 0, WIRE_PUSH);
    assert_int_equal(h.part, of[0]);
    welcome(s, 0, true); /* once more changes nothing */
    pushed(s, 0, h);
    SERVE_UNTIL(s, s->answer.n_welcomes == 3);
    expect_nothing(s, 0);
    wait_back(&s->pushes[of[0]]);
    scene_fini(s);
}

/* The server goes and comes back at the same address: hello, then all it still owes. */
static void test_a_lost_connection(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1 << 30);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 0, of);
    do_push(s, of[0], 5);
    do_push(s, of[1], 5);
    assert_int_equal(kv_pull(s->kv, of[0], 6, NULL), OK);
    wire_head h = expect(s, 0, WIRE_PUSH);
    pushed(s, 0, h);
    SERVE_UNTIL(s, kv_unacknowledged(s->kv, 0) == 1);
    int32_t owed = h.part == of[0] ? of[1] : of[0];
    for (int round = 0; round < 3; round++) {
        net_close(&s->listener[0], 0);
        SERVE_UNTIL(s, !kv_server_is_up(s->kv, 0));
        assert_int_equal(atomic_load(&s->pushes[owed].n_back), 0);
        listen_at(s, 0, s->endpoint[0]);
        expect(s, 0, WIRE_HELLO);
        welcome(s, 0, true);
        wire_head pull = expect(s, 0, WIRE_PULL);
        assert_int_equal(pull.part, of[0]);
        assert_int_equal(pull.step, 6);
        h = expect(s, 0, WIRE_PUSH);
        assert_int_equal(h.part, owed);
    }
    pushed(s, 0, h);
    say_part(s, 0, head_of(WIRE_PART, of[0], 6), 1);
    SERVE_UNTIL(s, s->answer.n_parts && !kv_unacknowledged(s->kv, 0));
    wait_back(&s->pushes[of[0]]);
    wait_back(&s->pushes[of[1]]);
    assert_true(kv_server_is_up(s->kv, 1));
    scene_fini(s);
}

/* A new era: what is queued and what is on its way is dropped, its memory comes back, and answers
 * to it are nobody's. */
static void check_begin_drops(const char *endpoint)
{
    scene *s = scene_make(endpoint, 1);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 0, of);
    do_push(s, of[0], 5);
    wire_head h = expect(s, 0, WIRE_PUSH);
    do_push(s, of[1], 5); /* waits for credit */
    assert_int_equal(kv_pull(s->kv, of[0], 6, NULL), OK);
    expect(s, 0, WIRE_PULL);
    begin(s, era + 1, s->flat);
    assert_int_equal(kv_unacknowledged(s->kv, 0), 0);
    wait_back(&s->pushes[of[0]]);
    wait_back(&s->pushes[of[1]]);
    pushed(s, 0, h);
    say_part(s, 0, head_of(WIRE_PART, of[0], 6), 1);
    wire_head late = head_of(WIRE_PART, of[0], 6);
    late.era = era + 1;
    say_part(s, 0, late, 1); /* the era is right, but nobody asked */
    expect_nothing(s, 0);

    /* credit is whole again */
    atomic_store(&s->pushes[of[1]].n_back, 0);
    do_push(s, of[1], 0);
    h = expect(s, 0, WIRE_PUSH);
    assert_int_equal(h.era, era + 1);
    assert_int_equal(h.part, of[1]);
    pushed(s, 0, h);
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 0));
    wait_back(&s->pushes[of[1]]);
    assert_int_equal(s->answer.n_parts, 0);
    scene_fini(s);
}

static void test_a_new_era_drops_all(void **state)
{
    (void)state;
    check_begin_drops("tcp://127.0.0.1:0");
    check_begin_drops("inproc://era-");
}

/* Another declaration may lie where the last one lay: parts are dealt anew in any case. */
static void test_another_flat(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1 << 30);
    greet(s);
    for (int64_t parts = 1; parts <= 40; parts += 13) {
        tensor_decl d = {.name = "w", .rank = 2, .dim = {parts, PART_N}};
        flat *f = NULL;
        assert_int_equal(flat_create(&d, 1, &f, NULL), OK);
        begin(s, era, f);
        int32_t *placement = xcalloc((size_t)f->n_parts, sizeof *placement);
        placement_deal(f, SERVERS, placement);
        for (int32_t p = 0; p < f->n_parts; p++)
            assert_int_equal(kv_server_of(s->kv, p), placement[p]);
        free(placement);
        flat_destroy(&f);
    }
    scene_fini(s);
}

/* Destroyed with pushes queued, sent and held by a server of the same process. */
static void check_destroy(const char *endpoint)
{
    scene *s = scene_make(endpoint, 1);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 0, of);
    do_push(s, of[0], 5);
    do_push(s, of[1], 5);
    net_message m;
    while (!net_receive(s->listener[0], &m))
        serve(s);
    kv_destroy(&s->kv);
    wait_back(&s->pushes[of[1]]);
    if (endpoint[0] == 'i')
        assert_int_equal(atomic_load(&s->pushes[of[0]].n_back), 0);
    net_payload_close(&m.payload);
    wait_back(&s->pushes[of[0]]);
    scene_fini(s);
}

static void test_destroyed_under_way(void **state)
{
    (void)state;
    check_destroy("tcp://127.0.0.1:0");
    check_destroy("inproc://end-");
}

static void test_an_endpoint_that_is_none(void **state)
{
    (void)state;
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    const char *servers[] = {"tcp://127.0.0.1:1", "smoke://hill"};
    buf hello = BUF_INIT;
    kv_options options = {.net = n, .servers = servers, .n_servers = 2, .hello = &hello};
    kv *k = NULL;
    error err = ERROR_INIT;
    assert_int_equal(kv_create(&options, &k, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "smoke://hill"));
    assert_null(k);
    kv_destroy(&k);
    kv_destroy(NULL);
    net_destroy(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pushes),
        cmocka_unit_test(test_credits_and_order),
        cmocka_unit_test(test_foreign_acknowledgements),
        cmocka_unit_test(test_pulls),
        cmocka_unit_test(test_what_a_server_may_not_say),
        cmocka_unit_test(test_a_server_that_is_not_ready),
        cmocka_unit_test(test_a_lost_connection),
        cmocka_unit_test(test_a_new_era_drops_all),
        cmocka_unit_test(test_another_flat),
        cmocka_unit_test(test_destroyed_under_way),
        cmocka_unit_test(test_an_endpoint_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
