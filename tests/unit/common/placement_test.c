#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/parts/placement.h"
#include "unit/common/support_flats.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 400, SERVERS = 16 };

typedef struct load {
    int64_t largest, total, largest_part;
    int32_t used;
} load;

/* What the servers hold of the live parts, or of all of them. */
static load measure(const flat *f, const int32_t *server, int32_t n_servers, bool live_only)
{
    int64_t held[SERVERS] = {0};
    load l = {0};
    for (int32_t p = 0; p < f->n_parts; p++) {
        if (live_only && f->parts[p].frozen)
            continue;
        int64_t n = flat_part_elements(f, p);
        held[server[p]] += n;
        l.total += n;
        l.largest_part = n > l.largest_part ? n : l.largest_part;
    }
    for (int32_t s = 0; s < n_servers; s++) {
        l.largest = held[s] > l.largest ? held[s] : l.largest;
        l.used += held[s] > 0;
    }
    return l;
}

static void check_case(const flat *f)
{
    int32_t *server = malloc(((size_t)f->n_parts + 1) * sizeof *server);
    int32_t *again = malloc(((size_t)f->n_parts + 1) * sizeof *again);
    for (int32_t n = 1; n <= SERVERS; n++) {
        placement_deal(f, n, server);
        placement_deal(f, n, again);
        assert_memory_equal(server, again, (size_t)f->n_parts * sizeof *server);
        for (int32_t p = 0; p < f->n_parts; p++)
            assert_in_range(server[p], 0, n - 1);
        for (int live_only = 0; live_only < 2; live_only++) {
            load l = measure(f, server, n, live_only);
            int32_t parts = live_only ? f->n_live_parts : f->n_parts;
            double bound = 1.05 * (double)l.total / n + (double)l.largest_part;
            assert_true((double)l.largest <= bound);
            assert_int_equal(l.used, parts < n ? parts : n);
        }
    }
    free(server);
    free(again);
}

static void servers_hold_about_the_same(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < CASES; number++) {
        flats_case c;
        flats_random(number, INT64_C(1) << 24, &c);
        flat *f = NULL;
        assert_int_equal(flat_create(c.tensors, c.n, &f, NULL), OK);
        check_case(f);
        flat_destroy(&f);
    }
}

/* A large frozen part does not drive all live parts on to the other server. */
static void live_parts_are_balanced_by_themselves(void **state)
{
    (void)state;
    tensor_decl t[] = {
        flats_vector("frozen", PART_MAX, TENSOR_FROZEN),
        flats_vector("live", 2 * PART_MIN, TENSOR_TRAINABLE),
    };
    flat *f = NULL;
    assert_int_equal(flat_create(t, 2, &f, NULL), OK);
    assert_int_equal(f->n_live_parts, 2);
    int32_t server[64];
    placement_deal(f, 2, server);
    assert_int_equal(server[0], 0);
    assert_int_equal(server[1], 1);
    flat_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_hold_about_the_same),
        cmocka_unit_test(live_parts_are_balanced_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
