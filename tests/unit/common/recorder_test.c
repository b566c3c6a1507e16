/* CTest labels: tsan smoke */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/live/recorder.h"
#include "common/wire/wire.h"

#include <pthread.h>
#include <string.h>

static int begin(void **state)
{
    (void)state;
    atomic_store(&recorder_is_on, true);
    return 0;
}

static recorder_event newest(void)
{
    recorder_event e;
    uint32_t number;
    uint64_t last = atomic_load(&recorder_next) - 1;
    assert_true(recorder_load(&recorder_ring[last % RECORDER_EVENTS], &e, &number));
    assert_int_equal(number, (uint32_t)last);
    return e;
}

static void test_what_is_noted_is_there(void **state)
{
    (void)state;
    RECORDER_NOTE(.kind = EVENT_UPDATE, .lane = -1, .step = INT64_C(1) << 40, .a = -7, .b = 9, .c = -3, .at_us = 12,
                  .took_us = 5);
    recorder_event e = newest();
    assert_int_equal(e.kind, EVENT_UPDATE);
    assert_int_equal(e.lane, -1);
    assert_int_equal(e.step, INT64_C(1) << 40);
    assert_int_equal(e.a, -7);
    assert_int_equal(e.b, 9);
    assert_int_equal(e.c, -3);
    assert_int_equal(e.at_us, 12);
    assert_int_equal(e.took_us, 5);
}

static void test_off_nothing_is_noted(void **state)
{
    (void)state;
    uint64_t before = atomic_load(&recorder_next);
    atomic_store(&recorder_is_on, false);
    RECORDER_NOTE(.kind = EVENT_UPDATE, .lane = -1);
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = 1);
    recorder_end(1, EVENT_SLOT, 0, 10);
    atomic_store(&recorder_is_on, true);
    assert_int_equal(atomic_load(&recorder_next), before);
}

static int in_progress(recorder_event *ret)
{
    int n = 0;
    recorder_event e;
    for (int i = 0; i < RECORDER_ROWS; i++)
        if (recorder_in_progress(i, &e)) {
            *ret = e;
            n++;
        }
    return n;
}

static void test_what_lasts_is_known_while_it_does(void **state)
{
    (void)state;
    recorder_event e;
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = 3, .step = 41, .a = 2, .at_us = 100);
    assert_int_equal(in_progress(&e), 1);
    assert_int_equal(e.kind, EVENT_SLOT);
    assert_int_equal(e.at_us, 100);
    assert_int_equal(e.took_us, -1);
    RECORDER_BEGIN(1, .kind = EVENT_WAIT_PART, .lane = 3, .step = 41, .a = 6, .at_us = 110);
    RECORDER_BEGIN(0, .kind = EVENT_EVALUATE, .lane = -1, .step = 40, .at_us = 111);
    assert_int_equal(in_progress(&e), 3);
    recorder_end(3, EVENT_WAIT_PART, 1, 150);
    e = newest();
    assert_int_equal(e.kind, EVENT_WAIT_PART);
    assert_int_equal(e.at_us, 150);
    assert_int_equal(e.took_us, 40);
    uint64_t before = atomic_load(&recorder_next);
    recorder_end(3, EVENT_WAIT_PART, 1, 160);   /* over already */
    recorder_end(3, EVENT_IDLE, 0, 160);        /* another thing is in progress */
    recorder_drop(-1, EVENT_EVALUATE, 0);
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = RECORDER_LANES);
    assert_int_equal(atomic_load(&recorder_next), before);
    assert_int_equal(in_progress(&e), 1);
    recorder_end(3, EVENT_SLOT, 0, 170);
    assert_int_equal(newest().took_us, 70);
    assert_int_equal(in_progress(&e), 0);
}

static void test_a_message_is_noted_by_its_head(void **state)
{
    (void)state;
    unsigned char head[NET_HEAD];
    wire_head h = {.type = WIRE_PUSH, .part = 17, .slots = 6, .step = 1234567890123, .node = {2, 1}, .bytes = 4096};
    wire_head_encode(&h, head);
    recorder_message(EVENT_SENT, head, 4096, 0x80000001);
    recorder_event e = newest();
    recorder_passing p = recorder_unpack_passing(&e);
    assert_int_equal(e.kind, EVENT_SENT);
    assert_int_equal(e.a, WIRE_PUSH);
    assert_int_equal((uint32_t)e.b, 0x80000001);
    assert_int_equal(e.lane, 17);
    assert_int_equal(e.step, 1234567890123);
    assert_int_equal(p.bytes, 4096);
    assert_int_equal(p.slots, 6);
    assert_int_equal(p.node.level, 2);
    assert_int_equal(p.node.index, 1);
    assert_true(e.at_us > 0);
}

static void test_a_pull_is_noted_with_its_floor(void **state)
{
    (void)state;
    unsigned char head[NET_HEAD];
    wire_head h = {.type = WIRE_PULL, .part = 3};
    wire_set_pull_unit(&h, 400);
    wire_set_pull_floor(&h, INT64_C(1) << 40);
    wire_head_encode(&h, head);
    recorder_message(EVENT_RECEIVED, head, 0, 1);
    recorder_event e = newest();
    recorder_passing p = recorder_unpack_passing(&e);
    assert_int_equal(e.a, WIRE_PULL);
    assert_int_equal(e.lane, 3);
    assert_int_equal(e.step, 400);
    assert_int_equal(p.floor, INT64_C(1) << 40);
    assert_int_equal(p.bytes, 0);
    assert_int_equal(p.slots, 0);
}

static void test_peers_are_known_by_their_numbers(void **state)
{
    (void)state;
    uint32_t peer;
    task who;
    assert_false(recorder_peer_at(0, &peer, &who));
    for (uint32_t i = 0; i < RECORDER_PEERS + 1; i++)
        recorder_peer(i, (task){ROLE_PS, (int32_t)i});
    assert_true(recorder_peer_at(0, &peer, &who));
    assert_int_equal(peer, 1);                  /* the newest took the oldest one's place */
    assert_true(recorder_peer_at(RECORDER_PEERS - 1, &peer, &who));
    assert_int_equal(peer, RECORDER_PEERS);
    assert_int_equal(who.role, ROLE_PS);
    assert_int_equal(who.index, RECORDER_PEERS);
}

/* Threads note faster than anybody reads: what is read is always whole. */
enum { THREADS = 3, ROUNDS = 60000 };

static void *note_many(void *arg)
{
    int32_t me = *(const int32_t *)arg;
    for (int32_t i = 0; i < ROUNDS; i++)
        RECORDER_NOTE(.kind = EVENT_SLOT, .lane = me, .step = i, .a = i, .b = me, .c = i, .at_us = i, .took_us = i);
    return NULL;
}

static int64_t read_all(void)
{
    int64_t n = 0;
    for (int i = 0; i < RECORDER_EVENTS; i++) {
        recorder_event e;
        uint32_t number;
        if (!recorder_load(&recorder_ring[i], &e, &number) || e.kind != EVENT_SLOT)
            continue;
        assert_int_equal(number % RECORDER_EVENTS, i);
        assert_int_equal(e.b, e.lane);
        assert_true(e.a == e.step && e.c == e.step && e.at_us == e.step && e.took_us == e.step);
        n++;
    }
    return n;
}

static void test_what_is_read_while_others_write_is_whole(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int32_t names[THREADS];
    uint64_t before = atomic_load(&recorder_next);
    memset(recorder_ring, 0, sizeof recorder_ring);
    for (int i = 0; i < THREADS; i++) {
        names[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, note_many, &names[i]), 0);
    }
    while (atomic_load(&recorder_next) < before + THREADS * ROUNDS)
        (void)read_all();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(read_all(), RECORDER_EVENTS - THREADS, RECORDER_EVENTS);
}

static void test_it_takes_less_than_a_megabyte(void **state)
{
    (void)state;
    assert_true(sizeof recorder_ring + RECORDER_ROWS * sizeof(recorder_cell) + RECORDER_PEERS * sizeof(uint64_t) <
                1 << 20);
    for (int i = 0; i < EVENT_COUNT; i++)
        assert_true(recorder_rows[i].name[0] && recorder_rows[i].words[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_noted_is_there),
        cmocka_unit_test(test_off_nothing_is_noted),
        cmocka_unit_test(test_what_lasts_is_known_while_it_does),
        cmocka_unit_test(test_a_message_is_noted_by_its_head),
        cmocka_unit_test(test_a_pull_is_noted_with_its_floor),
        cmocka_unit_test(test_peers_are_known_by_their_numbers),
        cmocka_unit_test(test_what_is_read_while_others_write_is_whole),
        cmocka_unit_test(test_it_takes_less_than_a_megabyte),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
