#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "common/parts/tree.h"

#include <string.h>

enum { SLOTS = 16 };

static void root_covers_all_slots(void **state)
{
    (void)state;
    const struct {
        uint32_t n;
        uint8_t level;
    } cases[] = {{1, 0}, {2, 1}, {3, 2},         {4, 2},          {5, 3},
                 {8, 3}, {9, 4}, {1u << 31, 31}, {UINT32_MAX, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree_node root = {cases[i].level, 0};
        assert_int_equal(tree_root_level(cases[i].n), cases[i].level);
        assert_true(tree_node_is_valid(root, cases[i].n));
        assert_false(tree_node_is_valid(tree_node_parent(root), cases[i].n));
        assert_int_equal(tree_node_first(root), 0);
        assert_int_equal(tree_node_end(root, cases[i].n), cases[i].n);
    }
    assert_false(tree_node_is_valid((tree_node){0, 0}, 0));
    assert_false(tree_node_is_valid((tree_node){255, 0}, 7));
    assert_false(tree_node_is_valid((tree_node){0, 7}, 7));
}

/* The slots of a node as bits, counted one by one. */
static uint32_t slots_of(tree_node a, uint32_t n)
{
    uint32_t bits = 0;
    for (uint32_t s = 0; s < n; s++)
        if (s >> a.level == a.index)
            bits |= 1u << s;
    return bits;
}

static void nodes_agree_with_their_slots(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= SLOTS; n++)
        for (uint8_t level = 0; level <= tree_root_level(n); level++)
            for (uint32_t index = 0; index < 2 * SLOTS; index++) {
                tree_node a = {level, index};
                uint32_t slots = slots_of(a, n);
                assert_int_equal(tree_node_is_valid(a, n), slots != 0);
                if (!slots)
                    continue;
                assert_int_equal(tree_node_first(a), __builtin_ctz(slots));
                assert_int_equal(tree_node_end(a, n), 32 - __builtin_clz(slots));
                tree_node sibling = tree_node_sibling(a), parent = tree_node_parent(a);
                assert_int_equal(slots_of(parent, n), slots | slots_of(sibling, n));
                assert_true(tree_node_covers(parent, a) && !tree_node_covers(a, parent));
                assert_true(tree_node_covers(a, a) && !tree_node_covers(a, sibling));
            }
    assert_false(tree_node_covers((tree_node){40, 1}, (tree_node){0, UINT32_MAX}));
    assert_true(tree_node_covers((tree_node){40, 0}, (tree_node){0, UINT32_MAX}));
}

/* The top is the highest of all nodes with the same slots. */
static void top_is_the_highest_equal_node(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= SLOTS; n++)
        for (uint8_t level = 0; level <= tree_root_level(n); level++)
            for (uint32_t index = 0; index < n; index++) {
                tree_node a = {level, index}, want = a;
                if (!tree_node_is_valid(a, n))
                    continue;
                for (uint8_t l = level; l <= tree_root_level(n); l++)
                    if (slots_of((tree_node){l, index >> (l - level)}, n) == slots_of(a, n))
                        want = (tree_node){l, index >> (l - level)};
                tree_node top = tree_node_top(a, n);
                assert_int_equal(top.level, want.level);
                assert_int_equal(top.index, want.index);
            }
    tree_node top = tree_node_top((tree_node){0, 2}, 3);
    assert_int_equal(top.level, 1);
    assert_int_equal(top.index, 1);
}

/* Fewest nodes that cover [first, end) exactly, by dynamic programming over the end. */
static size_t fewest(uint32_t first, uint32_t end, uint32_t n)
{
    size_t best[SLOTS + 1];
    best[first] = 0;
    for (uint32_t e = first + 1; e <= end; e++) {
        best[e] = SIZE_MAX;
        for (uint8_t level = 0; level <= tree_root_level(n); level++)
            for (uint32_t index = 0; index < n; index++) {
                tree_node a = {level, index};
                if (!tree_node_is_valid(a, n) || tree_node_first(a) < first ||
                    tree_node_end(a, n) != e)
                    continue;
                size_t with = best[tree_node_first(a)] + 1;
                best[e] = with < best[e] ? with : best[e];
            }
    }
    return best[end];
}

static void cover_is_exact_and_minimal(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= SLOTS; n++)
        for (uint32_t first = 0; first <= n; first++)
            for (uint32_t end = first; end <= n; end++) {
                tree_node cover[64];
                size_t got = tree_cover(first, end, n, cover);
                assert_int_equal(got, fewest(first, end, n));
                uint32_t at = first;
                for (size_t i = 0; i < got; i++) {
                    assert_true(tree_node_is_valid(cover[i], n));
                    assert_int_equal(tree_node_first(cover[i]), at);
                    tree_node top = tree_node_top(cover[i], n);
                    assert_int_equal(cover[i].level, top.level);
                    assert_int_equal(cover[i].index, top.index);
                    at = tree_node_end(cover[i], n);
                }
                assert_int_equal(at, end);
            }
    tree_node cover[64];
    assert_int_equal(tree_cover(1, UINT32_MAX - 1, UINT32_MAX, cover), 61);
}

/* The wide kernel gives plain additions, wherever a span is cut and whatever is the target. */
static void sum_is_plain_addition(void **state)
{
    (void)state;
    enum { N = 200 };
    float a[N], b[N], want[N], got[N];
    rng r = rng_make(3, RNG_TEST, 0);
    for (uint64_t i = 0; i < N; i++) {
        a[i] = rng_normal(&r, i) * (float)(1 << i % 20);
        b[i] = rng_normal(&r, N + i) * (float)(1 << i % 13);
        volatile float sum = a[i] + b[i];
        want[i] = sum;
    }
    for (size_t first = 0; first < 20; first++)
        for (size_t n = 0; first + n <= N; n++) {
            size_t bytes = n * sizeof *a;
            tree_sum(got, a + first, b + first, n);
            assert_memory_equal(got, want + first, bytes);
            memcpy(got, a + first, bytes);
            tree_sum(got, got, b + first, n);
            assert_memory_equal(got, want + first, bytes);
            memcpy(got, b + first, bytes);
            tree_sum(got, a + first, got, n);
            assert_memory_equal(got, want + first, bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_covers_all_slots),
        cmocka_unit_test(nodes_agree_with_their_slots),
        cmocka_unit_test(top_is_the_highest_equal_node),
        cmocka_unit_test(cover_is_exact_and_minimal),
        cmocka_unit_test(sum_is_plain_addition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
