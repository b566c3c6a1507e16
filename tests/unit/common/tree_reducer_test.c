/*
 * Whatever nodes arrive, in whatever order and however often, the root's bits are those of the
 * plain recursion, every block is released once, and none that is not writable is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "common/parts/part_store.h"
#include "common/parts/tree_reducer.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, N = 5, BLOCKS = 128 };

typedef struct tracked {
    span span;
    float data[N], before[N];
    bool taken, released;
} tracked;

/* All spans of one case, handed in or taken from the pool. */
typedef struct ledger {
    tracked blocks[BLOCKS];
    size_t n, from_pool;
    bool pool_is_empty;
} ledger;

static void release(span *b)
{
    tracked *t = b->owner;
    assert_false(t->released);
    t->released = true;
    if (!b->writable)
        assert_memory_equal(t->data, t->before, sizeof t->data);
}

static span *hand(ledger *l, const float *value, bool writable)
{
    assert_true(l->n < BLOCKS);
    tracked *t = &l->blocks[l->n++];
    *t = (tracked){.span = {.data = t->data,
                            .bytes = sizeof t->data,
                            .writable = writable,
                            .refs = 1,
                            .release = release,
                            .owner = t}};
    if (value) {
        memcpy(t->data, value, sizeof t->data);
        memcpy(t->before, value, sizeof t->before);
    }
    return &t->span;
}

static status take(void *owner, size_t n, span **ret, error *err)
{
    ledger *l = owner;
    if (l->pool_is_empty)
        return FAIL(err, E_NOMEM, "pool is empty");
    assert_int_equal(n, N);
    *ret = hand(l, NULL, true);
    l->from_pool++;
    return OK;
}

static void check_all_released(const ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        assert_true(l->blocks[i].released);
}

/* Slot values of all magnitudes, so that another order of additions shows. */
static float slot_value[SLOTS][N];

static void fill_slots(void)
{
    rng r = rng_make(5, RNG_TEST, 0);
    for (uint64_t i = 0; i < SLOTS * N; i++)
        slot_value[i / N][i % N] = rng_normal(&r, i) * (float)(1 << rng_below(&r, 99 + i, 24));
}

/* The definition, as a recursion. */
static void reference(tree_node a, uint32_t n_slots, float *ret)
{
    if (a.level == 0) {
        memcpy(ret, slot_value[a.index], N * sizeof *ret);
        return;
    }
    tree_node left = {(uint8_t)(a.level - 1), a.index * 2}, right = {left.level, left.index + 1};
    reference(left, n_slots, ret);
    if (tree_node_first(right) >= n_slots)
        return;
    float other[N];
    reference(right, n_slots, other);
    for (int i = 0; i < N; i++)
        ret[i] = ret[i] + other[i];
}

static tree_node root_of(uint32_t n_slots)
{
    return (tree_node){tree_root_level(n_slots), 0};
}

static tree_reduced add(tree_reducer *f, ledger *l, tree_node node, uint32_t n_slots, bool writable,
                        tree_node target)
{
    float value[N];
    reference(node, n_slots, value);
    tree_reduced result = TREE_HELD;
    error err = ERROR_INIT;
    tree_reducer_pool pool = {.take = take, .owner = l, .store = part_store_host()};
    if (tree_reducer_add(f, node, hand(l, value, writable), target, &pool, &result, &err) != OK)
        fail_msg("%s", err.text);
    return result;
}

static void take_and_check(tree_reducer *f, tree_node node, uint32_t n_slots)
{
    float want[N];
    reference(node, n_slots, want);
    span *got = tree_reducer_take(f, node);
    assert_non_null(got);
    assert_int_equal(got->bytes, sizeof want);
    assert_memory_equal(got->data, want, sizeof want);
    span_drop(got);
    assert_null(tree_reducer_take(f, node));
}

typedef struct sequence {
    tree_node node[SLOTS];
    size_t n;
    uint32_t n_slots;
    uint64_t orders;
} sequence;

/* One order of nodes which together cover all slots: complete exactly at the last one. */
static void play(tree_reducer *f, const sequence *s, uint64_t writable)
{
    ledger l = {.n = 0};
    tree_reducer_begin(f, s->n_slots);
    uint64_t arrived = 0, got[1];
    for (size_t i = 0; i < s->n; i++) {
        bool last = i + 1 == s->n;
        tree_reduced r = add(f, &l, s->node[i], s->n_slots, writable >> i & 1, root_of(s->n_slots));
        assert_int_equal(r, last ? TREE_COMPLETE : TREE_HELD);
        for (uint32_t slot = tree_node_first(s->node[i]);
             slot < tree_node_end(s->node[i], s->n_slots); slot++)
            arrived |= (uint64_t)1 << slot;
        tree_reducer_arrived(f, got);
        assert_int_equal(got[0], arrived);
        assert_true(tree_reducer_held(f) <= (s->n_slots + 1) / 2);
    }
    assert_int_equal(tree_reducer_held(f), 1);
    take_and_check(f, root_of(s->n_slots), s->n_slots);
    assert_int_equal(tree_reducer_held(f), 0);
    check_all_released(&l);
}

/* All orders of s->node[fixed ..]. */
static void permute(tree_reducer *f, sequence *s, size_t fixed)
{
    if (fixed == s->n) {
        s->orders++;
        play(f, s, 0);
        play(f, s, rng_mix(s->orders, s->n_slots));
        return;
    }
    for (size_t i = fixed; i < s->n; i++) {
        tree_node first = s->node[fixed];
        s->node[fixed] = s->node[i];
        s->node[i] = first;
        permute(f, s, fixed + 1);
        s->node[i] = s->node[fixed];
        s->node[fixed] = first;
    }
}

/* All ways to cover slots [first, n_slots) with nodes, each in all orders. */
static void cover_all_ways(tree_reducer *f, sequence *s, uint32_t first)
{
    if (first == s->n_slots) {
        sequence copy = *s;
        permute(f, &copy, 0);
        s->orders = copy.orders;
        return;
    }
    for (uint8_t level = 0; level <= tree_root_level(s->n_slots); level++) {
        tree_node node = {level, first >> level};
        if (tree_node_first(node) != first)
            break;
        s->node[s->n++] = node;
        cover_all_ways(f, s, tree_node_end(node, s->n_slots));
        s->n--;
    }
}

static void every_order_of_every_cover_gives_the_same_bits(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    for (uint32_t n = 1; n <= SLOTS; n++) {
        sequence s = {.n_slots = n};
        cover_all_ways(f, &s, 0);
        assert_true(s.orders > 0);
    }
    tree_reducer_destroy(&f);
}

static tree_node random_node(const rng *r, uint64_t *at, uint32_t n_slots)
{
    for (;;) {
        tree_node a = {(uint8_t)rng_below(r, (*at)++, tree_root_level(n_slots) + 1u),
                       (uint32_t)rng_below(r, (*at)++, n_slots)};
        if (tree_node_is_valid(a, n_slots))
            return a;
    }
}

/* Any nodes, overlapping and repeated, until the root is there; sometimes given up half way. */
static void random_mixes_give_the_same_bits(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    for (uint64_t number = 0; number < 20000; number++) {
        rng r = rng_make(7, RNG_TEST, number);
        uint64_t at = 0, have = 0;
        uint32_t n_slots = 1 + (uint32_t)rng_below(&r, at++, SLOTS);
        uint64_t all = ((uint64_t)1 << n_slots) - 1;
        bool give_up = rng_below(&r, at++, 8) == 0;
        ledger l = {.n = 0};
        tree_reducer_begin(f, n_slots);
        while (have != all) {
            tree_node a = random_node(&r, &at, n_slots);
            uint64_t slots = 0, held = have;
            for (uint32_t s = tree_node_first(a); s < tree_node_end(a, n_slots); s++)
                slots |= (uint64_t)1 << s;
            tree_reduced got = add(f, &l, a, n_slots, rng_below(&r, at++, 2), root_of(n_slots));
            have |= slots;
            assert_int_equal(got == TREE_COMPLETE, have == all);
            if (got == TREE_COVERED)
                assert_int_equal(held, have);
            if (give_up && rng_below(&r, at++, 4) == 0)
                break;
        }
        if (have == all) {
            assert_int_equal(
                add(f, &l, random_node(&r, &at, n_slots), n_slots, true, root_of(n_slots)),
                TREE_COVERED);
            take_and_check(f, root_of(n_slots), n_slots);
        }
        tree_reducer_begin(f, 1); /* releases what is held */
        check_all_released(&l);
    }
    tree_reducer_destroy(&f);
}

/* A worker sums up to the nodes it owns and no further. */
static void sums_stop_at_the_target(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    ledger l = {.n = 0};
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    tree_reducer_begin(f, 8);
    tree_node low = {1, 0}, high = {1, 1};
    assert_int_equal(add(f, &l, (tree_node){0, 0}, 8, false, low), TREE_HELD);
    assert_int_equal(add(f, &l, (tree_node){0, 2}, 8, false, high), TREE_HELD);
    assert_int_equal(add(f, &l, (tree_node){0, 1}, 8, false, low), TREE_COMPLETE);
    assert_int_equal(add(f, &l, (tree_node){0, 3}, 8, false, high), TREE_COMPLETE);
    assert_int_equal(tree_reducer_held(f), 2);
    assert_int_equal(l.from_pool, 2);
    take_and_check(f, high, 8);
    take_and_check(f, low, 8);
    tree_reducer_destroy(&f);
    tree_reducer_destroy(&f);
    check_all_released(&l);
}

/* With an empty right half a node, its parent and their top are one and the same. */
static void equal_nodes_have_one_place(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    ledger l = {.n = 0};
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    tree_reducer_begin(f, 5);
    assert_int_equal(add(f, &l, (tree_node){0, 4}, 5, true, (tree_node){2, 1}), TREE_COMPLETE);
    assert_int_equal(add(f, &l, (tree_node){2, 1}, 5, true, (tree_node){2, 1}), TREE_COVERED);
    assert_int_equal(add(f, &l, (tree_node){1, 2}, 5, true, (tree_node){3, 0}), TREE_COVERED);
    take_and_check(f, (tree_node){1, 2}, 5);
    assert_null(tree_reducer_take(f, (tree_node){2, 1}));
    tree_reducer_destroy(&f);
    check_all_released(&l);
}

static void writable_blocks_spare_the_pool(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    ledger l = {.n = 0};
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    tree_reducer_begin(f, 4);
    for (uint32_t s = 0; s < 4; s++)
        add(f, &l, (tree_node){0, s}, 4, s % 2 == 0, root_of(4));
    assert_int_equal(l.from_pool, 0);
    take_and_check(f, root_of(4), 4);
    tree_reducer_destroy(&f);
    check_all_released(&l);
}

/* Failing changes nothing, and the block stays the caller's. */
static void failures_change_nothing(void **state)
{
    (void)state;
    tree_reducer *f = NULL;
    ledger l = {.n = 0};
    tree_reducer_pool pool = {.take = take, .owner = &l, .store = part_store_host()};
    tree_reduced result = TREE_COVERED;
    error err = ERROR_INIT;
    assert_int_equal(tree_reducer_create(SLOTS, &f, NULL), OK);
    tree_reducer_begin(f, 5);
    add(f, &l, (tree_node){0, 2}, 5, false, root_of(5));
    add(f, &l, (tree_node){1, 0}, 5, false, root_of(5));

    span *b = hand(&l, slot_value[3], false);
    l.pool_is_empty = true;
    assert_int_equal(tree_reducer_add(f, (tree_node){0, 3}, b, root_of(5), &pool, &result, &err), E_NOMEM);
    assert_string_equal(err.text, "pool is empty");
    error_clear(&err);
    assert_int_equal(tree_reducer_add(f, (tree_node){0, 5}, b, root_of(5), &pool, &result, &err),
                     E_PROTOCOL);
    assert_string_equal(err.text, "no node at level 0, index 5 in a tree of 5 slots");
    error_clear(&err);
    b->bytes = (N - 1) * sizeof(float);
    assert_int_equal(tree_reducer_add(f, (tree_node){0, 3}, b, root_of(5), &pool, &result, &err),
                     E_PROTOCOL);
    assert_string_equal(err.text, "a node of 4 elements among nodes of 5");
    b->bytes = N * sizeof(float);
    assert_int_equal(tree_reducer_held(f), 2);
    assert_int_equal(result, TREE_COVERED);

    l.pool_is_empty = false;
    add(f, &l, (tree_node){0, 4}, 5, false, root_of(5));
    assert_int_equal(tree_reducer_add(f, (tree_node){0, 3}, b, root_of(5), &pool, &result, NULL), OK);
    assert_int_equal(result, TREE_COMPLETE);
    assert_int_equal(l.from_pool, 1);
    take_and_check(f, root_of(5), 5);
    assert_null(tree_reducer_take(f, (tree_node){0, 77}));
    tree_reducer_destroy(&f);
    check_all_released(&l);
}

static int setup(void **state)
{
    (void)state;
    fill_slots();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_every_cover_gives_the_same_bits),
        cmocka_unit_test(random_mixes_give_the_same_bits),
        cmocka_unit_test(sums_stop_at_the_target),
        cmocka_unit_test(equal_nodes_have_one_place),
        cmocka_unit_test(writable_blocks_spare_the_pool),
        cmocka_unit_test(failures_change_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
