/*
 * What a peer may hold of a server's memory: a limit, a waking word when there is room again, and
 * blocks that come back whenever the transport lets go of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/parts/block.h"
#include "ps/outbox.h"

enum { FLOATS = 100, BYTES = 400, LIMIT = 1000 };

static const net_peer anna = {.size = 5, .id = "anna"}, bert = {.size = 5, .id = "bert"};

typedef struct scene {
    block_pool pool;
    net_waker *waker;
    outbox *outbox;
    int32_t part; /* of the next parcel */
} scene;

static scene scene_make(void)
{
    scene s = {.waker = NULL};
    block_pool_init(&s.pool, FLOATS, part_store_host());
    assert_int_equal(net_waker_create(&s.waker, NULL), OK);
    s.outbox = outbox_create(LIMIT, s.waker);
    return s;
}

static void scene_fini(scene *s)
{
    outbox_close(&s->outbox);
    net_waker_destroy(&s->waker);
    block_pool_fini(&s->pool);
}

static span *ship(scene *s, const net_peer *to)
{
    span *b = NULL;
    assert_int_equal(block_pool_take(&s->pool, &b, NULL), OK);
    span *sent = outbox_add(s->outbox, to, (outbox_label){s->part++, 7}, b);
    assert_ptr_equal(sent->data, b->data);
    assert_int_equal(sent->bytes, BYTES);
    return sent;
}

static void test_a_limit_for_each_peer(void **state)
{
    (void)state;
    scene s = scene_make();
    assert_true(outbox_has_room(s.outbox, &anna, 10 * LIMIT)); /* nothing could ever leave else */
    span *first = ship(&s, &anna);
    assert_true(outbox_has_room(s.outbox, &anna, LIMIT - BYTES));
    assert_false(outbox_has_room(s.outbox, &anna, LIMIT - BYTES + 1));
    assert_true(outbox_has_room(s.outbox, &bert, LIMIT));
    span *second = ship(&s, &bert);
    span_drop(first);
    assert_true(outbox_has_room(s.outbox, &anna, 10 * LIMIT));
    span_drop(second);
    assert_int_equal(s.pool.n_blocks, 2);
    span *again[] = {ship(&s, &anna), ship(&s, &anna)}; /* the blocks are free again */
    assert_int_equal(s.pool.n_blocks, 2);
    span_drop(again[0]);
    span_drop(again[1]);
    scene_fini(&s);
}

static void test_who_was_told_no_hears_of_room(void **state)
{
    (void)state;
    scene s = scene_make();
    span *annas[] = {ship(&s, &anna), ship(&s, &anna)};
    span *berts[] = {ship(&s, &bert), ship(&s, &bert)};
    assert_false(outbox_has_room(s.outbox, &anna, BYTES));
    span_drop(berts[0]);
    span_drop(berts[1]);
    assert_false(outbox_has_news(s.outbox)); /* he never asked */
    span_drop(annas[0]);
    assert_true(outbox_has_news(s.outbox));
    assert_false(outbox_has_news(s.outbox));
    span_drop(annas[1]);
    assert_false(outbox_has_news(s.outbox));
    scene_fini(&s);
}

static void test_parcels_outlive_the_outbox(void **state)
{
    (void)state;
    scene s = scene_make();
    span *annas[] = {ship(&s, &anna), ship(&s, &anna)};
    assert_false(outbox_has_room(s.outbox, &anna, BYTES));
    scene_fini(&s); /* with the waker and the pool */
    span_drop(annas[0]);
    span_drop(annas[1]);
}

static void test_what_is_on_its_way_is_known(void **state)
{
    (void)state;
    scene s = scene_make();
    span *annas[] = {ship(&s, &anna), ship(&s, &anna)};
    assert_true(outbox_has(s.outbox, &anna, (outbox_label){0, 7}));
    assert_true(outbox_has(s.outbox, &anna, (outbox_label){1, 7}));
    assert_false(outbox_has(s.outbox, &anna, (outbox_label){1, 8}));
    assert_false(outbox_has(s.outbox, &bert, (outbox_label){1, 7}));
    span_drop(annas[0]);
    assert_false(outbox_has(s.outbox, &anna, (outbox_label){0, 7}));
    assert_true(outbox_has(s.outbox, &anna, (outbox_label){1, 7}));
    span_drop(annas[1]);
    assert_false(outbox_has(s.outbox, &anna, (outbox_label){1, 7}));
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_limit_for_each_peer),
        cmocka_unit_test(test_who_was_told_no_hears_of_room),
        cmocka_unit_test(test_parcels_outlive_the_outbox),
        cmocka_unit_test(test_what_is_on_its_way_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
