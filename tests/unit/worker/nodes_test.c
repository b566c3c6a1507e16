/* Which nodes lanes make alone and together: every deal of few slots against all nodes of the
 * tree. */
#include "worker/nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SLOTS = 7, LANES = 3 };

/* -1: not ours. */
typedef struct deal {
    int32_t lane[SLOTS];
    uint32_t slots[SLOTS], n, n_slots;
} deal;

static deal deal_number(uint32_t number, uint32_t n_slots)
{
    deal d = {.n_slots = n_slots};
    for (uint32_t s = 0; s < n_slots; s++, number /= LANES + 1) {
        d.lane[s] = (int32_t)(number % (LANES + 1)) - 1;
        if (d.lane[s] >= 0)
            d.slots[d.n++] = s;
    }
    return d;
}

/* Whether the slots of `lane` in first .. end are one node, and none of its slots comes behind. */
static bool brings_one(const deal *d, int32_t lane, uint32_t first, uint32_t end)
{
    uint32_t low = SLOTS, high = 0;
    for (uint32_t s = first; s < d->n_slots; s++) {
        if (d->lane[s] != lane)
            continue;
        if (s >= end)
            return false;
        low = s < low ? s : low;
        high = s + 1;
    }
    for (uint32_t s = low; s < high; s++)
        if (d->lane[s] != lane)
            return false;
    tree_node cover[64];
    return tree_cover(low, high, d->n_slots, cover) == 1;
}

/* The same said of all: the node `a` can be made together. */
static bool is_group(const deal *d, tree_node a)
{
    uint32_t first = tree_node_first(a), end = tree_node_end(a, d->n_slots);
    int32_t one = d->lane[first];
    bool several = false;
    for (uint32_t s = first; s < end; s++) {
        if (d->lane[s] < 0 || !brings_one(d, d->lane[s], first, end))
            return false;
        several |= d->lane[s] != one;
    }
    return several;
}

/* The highest such node with slot s; false: none. */
static bool find_group(const deal *d, uint32_t s, tree_node *ret)
{
    bool found = false;
    for (uint8_t level = 0; level <= tree_root_level(d->n_slots); level++) {
        tree_node a = {level, s >> level};
        if (is_group(d, a)) {
            *ret = tree_node_top(a, d->n_slots);
            found = true;
        }
    }
    return found;
}

static void check(const deal *d)
{
    nodes_given g = {.lane_of_slot = d->lane, .slots = d->slots, .n = d->n, .n_slots = d->n_slots};
    nodes_group found[LANES];
    size_t n = nodes_groups(&g, found), in_groups = 0;
    assert_true(n <= LANES / 2);
    for (size_t k = 0; k < n; k++) {
        tree_node want;
        assert_true(find_group(d, d->slots[found[k].first], &want));
        assert_int_equal(found[k].sum.level, want.level);
        assert_int_equal(found[k].sum.index, want.index);
        assert_int_equal(d->slots[found[k].first], tree_node_first(want));
        assert_int_equal(d->slots[found[k].end - 1] + 1, tree_node_end(want, d->n_slots));
        for (uint32_t i = found[k].first; i < found[k].end; i = nodes_behind(&g, i))
            assert_true(nodes_is_last(&g, nodes_behind(&g, i) - 1));
        in_groups += found[k].end - found[k].first;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        tree_node unused;
        in_groups -= find_group(d, d->slots[i], &unused);
    }
    assert_int_equal(in_groups, 0);
}

static void test_every_deal(void **state)
{
    (void)state;
    for (uint32_t n_slots = 1, deals = LANES + 1; n_slots <= SLOTS; n_slots++, deals *= LANES + 1)
        for (uint32_t number = 0; number < deals; number++) {
            deal d = deal_number(number, n_slots);
            check(&d);
        }
}

static void test_four_lanes_of_a_host_make_one_node(void **state)
{
    (void)state;
    static const int32_t lanes[] = {-1, -1, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, -1, -1};
    static const uint32_t slots[] = {4, 5, 6, 7, 8, 9, 10, 11};
    nodes_given g = {.lane_of_slot = lanes, .slots = slots, .n = 8, .n_slots = 14};
    nodes_group found[2];
    assert_int_equal(nodes_groups(&g, found), 2);
    assert_int_equal(found[0].sum.level, 2);
    assert_int_equal(found[0].sum.index, 1);
    assert_int_equal(found[1].sum.index, 2);
    assert_int_equal(found[1].first, 4);
    tree_node own = nodes_of_lane(&g, 3);
    assert_int_equal(own.level, 1);
    assert_int_equal(own.index, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_deal),
        cmocka_unit_test(test_four_lanes_of_a_host_make_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
