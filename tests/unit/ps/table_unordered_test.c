/* Batches in any order, as in the modes ssp and async: each counts once on every part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "unit/ps/support_table.h"

#include <string.h>

enum { TOTAL = 40 };

static shape unordered(void)
{
    shape s = shape_large(1);
    s.schedule = (schedule){.in_order = false, .staleness = -1};
    s.total = TOTAL;
    return s;
}

static push_result push(servers *v, int32_t part, int64_t batch, error *err)
{
    push_result result;
    tree_node leaf = {.level = 0};
    if (table_push(v->tables[v->placement[part]], part, batch, 1, leaf,
                   hand(v->shape, part, batch, leaf, false), &result, err) != OK)
        fail_msg("%s", err->text);
    return result;
}

static void push_all(servers *v, int64_t batch, push_result expected)
{
    error err = ERROR_INIT;
    for (int32_t p = 0; p < v->shape->flat->n_live_parts; p++)
        assert_int_equal(push(v, p, batch, &err), expected);
}

/* Numbers 0 .. n-1 in an order of the seed's. */
static void shuffle(uint64_t seed, int64_t *ret, int64_t n)
{
    rng r = rng_make(seed, RNG_TEST, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)rng_below(&r, (uint64_t)i, (uint64_t)i + 1);
        ret[i] = ret[at];
        ret[at] = i;
    }
}

static void test_any_order_counts_once(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= 3; n++) {
        shape s = unordered();
        whole w = whole_make(&s);
        servers v = servers_make(&s, n, &quiet_hooks, 0, NULL);
        int64_t order[TOTAL];
        shuffle((uint64_t)n, order, TOTAL);
        for (int i = 0; i < TOTAL; i++) {
            push_all(&v, order[i], PUSH_TAKEN);
            push_all(&v, order[i / 2], PUSH_STALE);
            whole_apply(&w, order[i], 1.0f);
        }
        servers_check(&v, &w);
        for (int32_t p = 0; p < s.flat->n_live_parts; p++) {
            const table *t = v.tables[v.placement[p]];
            assert_int_equal(table_version(t, p), TOTAL);
            assert_int_equal(table_batches(t, p), TOTAL);
            assert_int_equal(table_applied(t, p)->floor, TOTAL);
        }
        assert_int_equal(hands_out(), 0);
        servers_fini(&v);
        whole_fini(&w);
        shape_fini(&s);
    }
}

static void test_parts_have_sets_of_their_own(void **state)
{
    (void)state;
    shape s = unordered();
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    error err = ERROR_INIT;
    char missing[32];
    push_all(&v, 0, PUSH_TAKEN);
    push_all(&v, 2, PUSH_TAKEN);
    assert_int_equal(push(&v, 1, 1, &err), PUSH_TAKEN);
    assert_int_equal(push(&v, 0, 3, &err), PUSH_TAKEN);
    assert_int_equal(table_applied(v.tables[0], 0)->floor, 1);
    assert_int_equal(table_applied(v.tables[0], 1)->floor, 3);
    assert_int_equal(table_version(v.tables[0], 0), 3);
    table_missing(v.tables[0], 0, missing, sizeof missing);
    assert_string_equal(missing, "1");
    batch_set all = BATCH_SET_INIT;
    table_applied_by_all(v.tables[0], &all);
    assert_int_equal(all.floor, 1);
    assert_true(batch_set_has(&all, 2));
    assert_int_equal(batch_set_count(&all), 2);
    batch_set_fini(&all);
    servers_fini(&v);
    shape_fini(&s);
}

static void wrong(servers *v, int32_t part, int64_t batch, size_t n, const char *text)
{
    error err = ERROR_INIT;
    push_result result;
    assert_int_equal(table_push(v->tables[0], part, batch, 1, (tree_node){.level = 0},
                                hand_zeros(n), &result, &err),
                     OK);
    assert_int_equal(result, PUSH_WRONG);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    shape s = unordered();
    s.total = INT64_MAX / 4;
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    size_t n = (size_t)flat_part_elements(s.flat, 0);
    wrong(&v, 0, BATCH_SPAN, n, "was pushed when all below 0 are in");
    wrong(&v, 0, s.total, n, "was pushed when all below 0 are in");
    wrong(&v, 0, 4, n - 1, "elements were pushed");
    wrong(&v, s.flat->n_live_parts, 4, n, "not trained");
    wrong(&v, s.flat->n_parts, 4, n, "not trained");
    assert_int_equal(table_newest(v.tables[0]), 0);
    servers_fini(&v);
    shape_fini(&s);
}

/* Vector by vector, the sets among them, as a server without the job dir restores. */
static void test_load(void **state)
{
    (void)state;
    shape s = unordered();
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    push_all(&v, 3, PUSH_TAKEN);
    push_all(&v, 1, PUSH_TAKEN);
    const part_hold parts[] = {PART_HELD, PART_HELD, PART_HELD, PART_HELD, PART_HELD};
    assert_int_equal(s.flat->n_parts, COUNT_OF(parts));
    table_options options = {.flat = s.flat,
                             .parts = parts,
                             .steps = s.steps,
                             .groups = &(optim_group){.optim = s.optim, .rates = s.rates, .share = 1.0},
                             .n_groups = 1,
                             .schedule = {.in_order = false},
                             .total = TOTAL,
                             .step = 2,
                             .loads = true};
    table *copy = NULL;
    error err = ERROR_INIT;
    assert_int_equal(table_create(&options, &quiet_hooks, &copy, &err), OK);
    for (int32_t p = 0; p < s.flat->n_parts; p++) {
        span *weights, *slots[OPTIM_SLOTS];
        assert_int_equal(table_freeze(v.tables[0], p, &weights, slots, NULL), OK);
        buf packed = BUF_INIT;
        batch_set_pack(table_applied(v.tables[0], p), &packed);
        size_t bytes = weights->bytes, rows = table_rows(copy, p);
        assert_int_equal(rows, s.flat->parts[p].frozen ? 1 : 2 + optim_slots(&s.optim));
        assert_int_equal(table_load(copy, p, 0, weights->data, bytes, &err), OK);
        for (size_t k = 1; k + 1 < rows; k++)
            assert_int_equal(table_load(copy, p, k, slots[k - 1]->data, bytes, &err), OK);
        if (rows > 1)
            assert_int_equal(table_load(copy, p, rows - 1, packed.data, packed.size, &err), OK);
        assert_int_equal(table_load(copy, p, rows, weights->data, bytes, &err), E_PROTOCOL);
        error_clear(&err);
        buf_fini(&packed);
        span_drop(weights);
        for (size_t k = 0; k < OPTIM_SLOTS; k++)
            span_drop(slots[k]);
    }
    table_destroy(&v.tables[0]);
    v.tables[0] = copy;
    push_all(&v, 1, PUSH_STALE);
    push_all(&v, 0, PUSH_TAKEN);
    whole w = whole_make(&s);
    whole_apply(&w, 3, 1.0f);
    whole_apply(&w, 1, 1.0f);
    whole_apply(&w, 0, 1.0f);
    servers_check(&v, &w);
    whole_fini(&w);
    servers_fini(&v);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_counts_once),
        cmocka_unit_test(test_parts_have_sets_of_their_own),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
