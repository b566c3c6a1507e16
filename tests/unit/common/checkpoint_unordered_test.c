/* Checkpoints of the modes ssp and async: every live part says which batches it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/common/support_checkpoint.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 7, PARTS = 16 };

static jobdir *dir;
static trained state_of_job;
static batch_set sets[PARTS];

static int set_up(void **state)
{
    folder_set_up(state);
    char *path = folder_file("job");
    assert_int_equal(jobdir_open(path, &dir, NULL), OK);
    free(path);
    state_of_job = trained_make(PART_MIN * 3, 1);
    assert_true(state_of_job.flat->n_live_parts > 2 && state_of_job.flat->n_parts <= PARTS);
    for (int p = 0; p < PARTS; p++) {
        batch_set_fill(&sets[p], STEP - 2); /* 0 .. 4 and two more, not the same everywhere */
        batch_set_add(&sets[p], STEP + 1);
        batch_set_add(&sets[p], p ? STEP + 3 : STEP + 4);
    }
    state_of_job.applied = sets;
    return 0;
}

static int tear_down(void **state)
{
    for (int p = 0; p < PARTS; p++)
        batch_set_fini(&sets[p]);
    trained_fini(&state_of_job);
    jobdir_close(&dir);
    return folder_tear_down(state);
}

static status open_it(checkpoint **ret, error *err)
{
    char *path = jobdir_file(dir, "checkpoints/step-%09d", STEP);
    status st = checkpoint_open(path, true, ret, err);
    free(path);
    return st;
}

static void test_sets_come_back(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    checkpoint *c = NULL;
    batch_set read = BATCH_SET_INIT;
    assert_int_equal(trained_commit(&state_of_job, dir, (trained_save){STEP, 1, 2, 2}, &err), OK);
    if (open_it(&c, &err) != OK)
        fail_msg("%s", err.text);
    const flat *f = state_of_job.flat;
    assert_true(checkpoint_manifest(c)->lists_units);
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        assert_int_equal(checkpoint_read_applied(c, p, &read, &err), OK);
        assert_int_equal(read.floor, STEP - 2);
        assert_int_equal(batch_set_count(&read), STEP);
        assert_true(batch_set_has(&read, STEP + 1));
        assert_int_equal(batch_set_has(&read, STEP + 3), p != 0);
    }
    assert_int_equal(checkpoint_read_applied(c, f->n_live_parts, &read, &err), E_DATA);
    error_clear(&err);
    assert_int_equal(checkpoint_read_applied_by_all(c, &read, &err), OK);
    assert_int_equal(batch_set_count(&read), STEP - 1);
    float *weights = xcalloc((size_t)f->n_elements, sizeof *weights);
    assert_int_equal(checkpoint_read_flat(c, weights, &err), OK);
    assert_memory_equal(weights, state_of_job.weights, (size_t)f->n_elements * sizeof *weights);
    free(weights);
    batch_set_fini(&read);
    checkpoint_close(&c);
}

static void test_a_set_of_another_size_is_refused(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    checkpoint *c = NULL;
    batch_set_add(&sets[1], STEP + 9);
    assert_int_equal(trained_commit(&state_of_job, dir, (trained_save){STEP, 1, 2, 2}, &err), OK);
    assert_int_equal(open_it(&c, &err), E_DATA);
    assert_non_null(strstr(err.text, "'part.000001.applied' is of 8 batches"));
}

/* A checkpoint of mode sync has no sets, and says so when asked. */
static void test_sync(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    checkpoint *c = NULL;
    batch_set read = BATCH_SET_INIT;
    state_of_job.applied = NULL;
    assert_int_equal(trained_commit(&state_of_job, dir, (trained_save){STEP, 1, 2, 2}, &err), OK);
    assert_int_equal(open_it(&c, &err), OK);
    assert_false(checkpoint_manifest(c)->lists_units);
    assert_int_equal(checkpoint_read_applied_by_all(c, &read, &err), E_DATA);
    batch_set_fini(&read);
    checkpoint_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sets_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_set_of_another_size_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sync, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
