/* Budgets: the largest batch that fits, found from what batches need, and the refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "exec/budget.h"

#include <stdlib.h>
#include <string.h>

/* fixed + each * batch, rounded up to steps; of batches below `broken` it cannot be told. */
typedef struct law {
    size_t fixed, each, step;
    int64_t broken;
    int asked;
} law;

static status law_need(void *user, int64_t batch, size_t *ret, error *err)
{
    law *l = user;
    l->asked++;
    if (batch < l->broken)
        return FAIL(err, E_CONFIG, "no batch of %lld", (long long)batch);
    *ret = (l->fixed + l->each * (size_t)batch + l->step - 1) / l->step * l->step;
    return OK;
}

static int64_t largest(law *l, int64_t batch, size_t left)
{
    size_t need = 0;
    budget b = {.batch = batch, .need = law_need, .user = l};
    assert_int_equal(law_need(l, batch, &need, NULL), OK);
    assert_true(need > left);
    l->asked = 0;
    return budget_largest(&b, need, left);
}

static void test_the_largest_that_fits(void **state)
{
    (void)state;
    static const size_t lefts[] = {1000, 1100, 5000, 123456, 99999999};
    for (size_t i = 0; i < COUNT_OF(lefts); i++)
        for (size_t step = 1; step <= 4096; step *= 64) {
            law l = {.fixed = 900, .each = 100, .step = step};
            int64_t fits = largest(&l, 1000000, lefts[i]);
            size_t need = 0, more = 0;
            if (fits)
                assert_int_equal(law_need(&l, fits, &need, NULL), OK);
            assert_int_equal(law_need(&l, fits + fits / 64 + 1, &more, NULL), OK);
            assert_true(need <= lefts[i]);
            assert_true(more > lefts[i]);
            assert_true(l.asked < 30);
        }
}

static void test_nothing_fits(void **state)
{
    (void)state;
    law l = {.fixed = 900, .each = 100, .step = 1};
    assert_int_equal(largest(&l, 1000, 999), 0);
    assert_int_equal(largest(&l, 1000, 1000), 1);
    assert_int_equal(largest(&l, 1, 999), 0);
    l.broken = 10;
    assert_int_equal(largest(&l, 1000, 5000), 0);
}

static void test_refusal(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    law l = {.fixed = 1, .each = (size_t)1 << 20, .step = 1};
    budget b = {.what = "a test", .key = "a key", .batch = 1 << 20, .need = law_need, .user = &l};
    assert_int_equal(setenv("TEQUIO_MEMORY", "64G", 1), 0);
    assert_int_equal(budget_check(&b, &err), E_NOMEM);
    assert_non_null(strstr(err.text, "a test needs 1048577 MiB of memory with batches of 1048576 "
                                     "examples, and "));
    assert_non_null(strstr(err.text, " (TEQUIO_MEMORY); a key: "));
    assert_non_null(strstr(err.text, " would fit; TEQUIO_MEMORY=unlimited goes on all the same"));
    b.batch = 1;
    assert_int_equal(budget_check(&b, NULL), OK);
    b.batch = 1 << 20;
    assert_int_equal(setenv("TEQUIO_MEMORY", "unlimited", 1), 0);
    assert_int_equal(budget_check(&b, NULL), OK);
    assert_int_equal(setenv("TEQUIO_MEMORY", "much", 1), 0);
    assert_int_equal(budget_check(&b, NULL), E_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_that_fits),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
