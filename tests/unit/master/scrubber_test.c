/*
 * The scrubber: what it finds in checkpoints, and that it is left at once, wherever it is.
 *
 * CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "master/cuts/scrubber.h"
#include "unit/master/support_accounts.h"

#include <sched.h>
#include <string.h>

/* What it says of the step's checkpoint. */
static status found(scrubber *s, const accounts *b, int64_t step, error *why)
{
    int64_t said = -1;
    status st = OK;
    assert_true(scrubber_is_free(s));
    scrubber_begin(s, b->dir, step);
    while (!scrubber_is_free(s))
        if (!scrubber_take(s, &said, &st, why))
            sched_yield();
    assert_int_equal(said, step);
    return st;
}

static void damage_is_found(void **state)
{
    (void)state;
    accounts b = accounts_make();
    error why = ERROR_INIT;
    scrubber *s = scrubber_create();
    accounts_commit(&b, 3, 1.0f);
    accounts_commit(&b, 4, 2.0f);
    assert_int_equal(found(s, &b, 3, &why), OK);
    accounts_write(&b, "checkpoints/step-000000003/manifest.json", "{");
    assert_int_equal(found(s, &b, 3, &why), E_DATA);
    assert_non_null(strstr(why.text, "step-000000003/manifest.json"));
    error_clear(&why);
    assert_int_equal(found(s, &b, 4, &why), OK);
    assert_int_equal(found(s, &b, 5, &why), E_DATA); /* not there */
    scrubber_destroy(&s);
    accounts_fini(&b);
}

static void it_is_left_at_any_moment(void **state)
{
    (void)state;
    accounts b = accounts_make();
    accounts_commit(&b, 3, 1.0f);
    for (int i = 0; i < 50; i++) {
        scrubber *s = scrubber_create();
        scrubber_begin(s, b.dir, 3);
        for (int k = 0; k < i; k++)
            sched_yield();
        scrubber_destroy(&s);
        assert_null(s);
    }
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(it_is_left_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
