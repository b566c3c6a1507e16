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
#include "common/parts/placement.h"
#include "unit/kv/support_scene.h"

#include <stdlib.h>
#include <string.h>

static void check_push(const char *endpoint, bool lent)
{
    scene *s = scene_make(endpoint, 1 << 30);
    greet(s);
    int64_t began_us = clock_us();
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
    assert_int_equal(s->answer.n_taken, PARTS);
    assert_int_equal(s->answer.taking.server_us, SERVER_US);
    assert_in_range(s->answer.taking.took_us, 1, clock_us() - began_us);
    scene_fini(s);
}

static void test_pushes(void **state)
{
    (void)state;
    check_push("tcp://127.0.0.1:0", false);
    check_push("inproc://kv-", true);
}

/* In a new era another server acts for the parts of the first, and has the first one's place. */
static void test_another_server_acts(void **state)
{
    (void)state;
    static const uint32_t acting[SERVERS] = {1, 1};
    scene *s = scene_make("tcp://127.0.0.1:0", 1 << 30);
    greet(s);
    s->acting = acting;
    begin(s, era + 1, s->flat);
    for (int32_t p = 0; p < PARTS; p++) {
        assert_int_equal(kv_server_of(s->kv, p), 1);
        do_push(s, p, 5);
        assert_int_equal(kv_pull(s->kv, p, 6, NULL), OK);
    }
    for (int k = 0; k < 2 * PARTS; k++) {
        wire_head h;
        assert_true(hear(s, 1, LIMIT_US / 1000, &h, NULL));
        assert_true(h.type == WIRE_PUSH || h.type == WIRE_PULL);
        if (h.type == WIRE_PUSH)
            pushed(s, 1, h);
        else
            say_part(s, 1, (wire_head){.type = WIRE_PART, .job_id = job_id, .era = era + 1,
                                       .part = h.part, .step = 6}, 1);
    }
    SERVE_UNTIL(s, !kv_unacknowledged(s->kv, 1) && s->answer.n_parts == PARTS);
    expect_nothing(s, 0);
    scene_fini(s);
}

/* Credit for one part at a time: the next goes when the one before is acknowledged, and of those
 * that wait the highest. */
static void test_credits_and_order(void **state)
{
    (void)state;
    int32_t of[PARTS];
    scene *s = scene_greeted(1, of);
    do_push(s, of[0], 5);
    wire_head first = expect(s, 0, WIRE_PUSH);
    assert_int_equal(first.part, of[0]);
    /* the lower part once more, for a later step, and then the higher one */
    push extra = {.data = s->pushes[of[0]].data};
    assert_int_equal(kv_push(s->kv, of[0], 6, 4, (tree_node){0, 0}, lend(&extra), NULL), OK);
    do_push(s, of[1], 5);
    expect_nothing(s, 0);
    assert_int_equal(kv_unacknowledged(s->kv, 0), 3);
    kv_link link;
    kv_describe(s->kv, 0, &link);
    assert_true(link.is_up && link.index == 0);
    assert_int_equal(link.in_flight, PART_N * sizeof(float));
    assert_int_equal(link.credit, 1);
    assert_int_equal(link.pushes, 3);
    assert_int_equal(link.pulls, 0);

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
    int32_t of[PARTS], other[PARTS];
    scene *s = scene_greeted(1, of);
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
    kv_link link;
    kv_describe(s->kv, 1, &link);
    assert_true(link.pulls == 1 && link.index == 1 && link.pushes == 0);
    wire_head h = expect(s, 1, WIRE_PULL);
    assert_int_equal(h.part, of[0]);
    assert_int_equal(h.step, 5);
    assert_int_equal(h.incarnation, incarnation);
    /* another version, era, job, part, scale, size: not what was asked for */
    say_part(s, 1, head_of(WIRE_PART, of[0], 4), 1);
    say_part(s, 1, head_of(WIRE_PART, of[1], 5), 2);
    say_part(s, 1, head_of(WIRE_PART, PARTS, 5), 3);
    wire_head wrong = head_of(WIRE_PART, of[0], 5);
    wrong.era--;
    say_part(s, 1, wrong, 4);
    wrong.era++;
    wrong.job_id++;
    say_part(s, 1, wrong, 5);
    wrong = head_of(WIRE_PART, of[0], 5);
    wrong.tag = LOSS_SCALE_MOST + 1;
    say_part(s, 1, wrong, 6);
    say(s, 1, head_of(WIRE_PART, of[0], 5), "four", 4);
    say(s, 1, head_of(WIRE_GONE, of[1], 9), NULL, 0); /* nobody asked for that one */
    const loss_scale scale = {.exponent = 16, .good = 3, .skipped = 1};
    wire_head right = head_of(WIRE_PART, of[0], 5);
    right.tag = loss_scale_pack(scale);
    say_part(s, 1, right, 7);
    say_part(s, 1, right, 8); /* answered already */
    say(s, 1, head_of(WIRE_GONE, of[0], 9), NULL, 0);
    SERVE_UNTIL(s, s->answer.n_parts);
    expect_nothing(s, 1);
    assert_int_equal(s->answer.n_parts, 1);
    assert_int_equal(s->answer.n_gone, 0);
    assert_int_equal(s->answer.part, of[0]);
    assert_int_equal(s->answer.version, 5);
    assert_true(s->answer.first == 7);
    assert_true(loss_scale_equal(s->answer.scale, scale));

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
/* The newest is whatever version comes for the batch that was named last. */
static void test_pulls_of_the_newest(void **state)
{
    (void)state;
    scene *s = scene_make("tcp://127.0.0.1:0", 1);
    int32_t of[PARTS];
    greet(s);
    parts_of(s, 1, of);
    assert_int_equal(kv_pull_newest(s->kv, of[0], 9, 4, NULL), OK);
    wire_head h = expect(s, 1, WIRE_PULL);
    assert_int_equal(h.part, of[0]);
    assert_int_equal(h.step, 9);
    assert_int_equal(h.tag, 4);
    assert_int_equal(kv_pull_newest(s->kv, of[0], 7, 4, NULL), OK);
    assert_int_equal(expect(s, 1, WIRE_PULL).step, 7);
    wire_head part = head_of(WIRE_PART, of[0], 20);
    part.tag = 9;
    say_part(s, 1, part, 1); /* of the one given up */
    wire_head gone = head_of(WIRE_GONE, of[0], 8);
    gone.tag = 7;
    say(s, 1, gone, NULL, 0); /* the newest never is */
    part.tag = 7;
    part.step = 21;
    say_part(s, 1, part, 2);
    SERVE_UNTIL(s, s->answer.n_parts);
    assert_int_equal(s->answer.n_gone, 0);
    assert_int_equal(s->answer.version, 7);
    assert_true(s->answer.first == 2);
    scene_fini(s);
}

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

/* The server goes and comes back at the same address: one hello, however often one was due meanwhile, then all
 * it still owes. */
static void test_a_lost_connection(void **state)
{
    (void)state;
    int32_t of[PARTS];
    scene *s = scene_greeted(1 << 30, of);
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
        for (int tick = 0; tick < 3; tick++)
            assert_int_equal(kv_tick(s->kv, NULL), OK);
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
    span_drop(m.payload);
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
        cmocka_unit_test(test_another_server_acts),
        cmocka_unit_test(test_credits_and_order),
        cmocka_unit_test(test_foreign_acknowledgements),
        cmocka_unit_test(test_pulls),
        cmocka_unit_test(test_pulls_of_the_newest),
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
