/* A job goes back to a checkpoint that is chosen: what is refused, what is set aside, and that it is done once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"
#include "unit/common/support_checkpoint.h"
#include "unit/common/support_jobdir.h"

#include <stdlib.h>

static config *settings;
static trained state_of_job;

static int set_up(void **state)
{
    if (folder_set_up(state) != 0)
        return -1;
    settings = jobdir_config("{}");
    state_of_job = trained_make(20, 1);
    return 0;
}

static int tear_down(void **state)
{
    trained_fini(&state_of_job);
    config_destroy(&settings);
    return folder_tear_down(state);
}

static void commit(const jobdir *d, int64_t step)
{
    error err = ERROR_INIT;
    if (trained_commit(&state_of_job, d, (trained_save){step, 1, 1, 0}, &err) != OK)
        fail_msg("%s", err.text);
}

static jobdir_request request(const char *path, int64_t step)
{
    return (jobdir_request){
        .path = path, .config = settings, .recover = true, .chooses = step >= 0, .step = step};
}

/* A job that has begun, with checkpoints of steps 5, 10 and 15. */
static char *job_of(const char *name)
{
    char *path = jobdir_place(name);
    jobdir *d = jobdir_start(request(path, -1));
    assert_int_equal(jobdir_begin(d, NULL), OK);
    for (int64_t step = 5; step <= 15; step += 5)
        commit(d, step);
    jobdir_close(&d);
    return path;
}

static void expect_newest(const jobdir *d, int64_t step)
{
    int64_t newest = -1;
    assert_int_equal(checkpoint_newest(d, &newest, NULL), OK);
    assert_int_equal(newest, step);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    char *path = job_of("refused"), *fresh = jobdir_place("fresh");
    jobdir_refused(request(path, 7), E_CONFIG, "it keeps step-5, step-10, step-15");
    jobdir_refused(request(fresh, 5), E_CONFIG, "holds no job that has made a step");
    assert_false(fs_exists(fresh));
    char *shard = xasprintf("%s/checkpoints/step-000000005/manifest.json", path);
    assert_int_equal(fs_write_atomic(shard, "{", 1, NULL), OK);
    jobdir_refused(request(path, 5), E_DATA, "--recover=step-5");
    jobdir *d = jobdir_start(request(path, -1));
    expect_newest(d, 15);
    assert_false(jobdir_goes_back(d));
    jobdir_close(&d);
    free(shard);
    free(fresh);
    free(path);
}

static void it_goes_back_once(void **state)
{
    (void)state;
    char *path = job_of("once");
    jobdir *d = jobdir_start(request(path, 10));
    expect_newest(d, 10);
    assert_true(jobdir_goes_back(d));
    char *undone = jobdir_file(d, "checkpoints/step-000000015.undone.0/manifest.json");
    assert_true(fs_exists(undone));
    free(undone);
    jobdir_close(&d);

    d = jobdir_start(request(path, -1)); /* killed before its first step: what servers hold still does not count */
    assert_true(jobdir_goes_back(d));
    assert_int_equal(jobdir_begin(d, NULL), OK);
    assert_false(jobdir_goes_back(d));
    commit(d, 15);
    jobdir_close(&d);

    d = jobdir_start(request(path, 10)); /* started again, with the same arguments */
    expect_newest(d, 15);
    assert_false(jobdir_goes_back(d));
    jobdir_close(&d);
    d = jobdir_start(request(path, 5));
    expect_newest(d, 5);
    assert_int_equal(jobdir_begin(d, NULL), OK);
    jobdir_close(&d);
    free(path);
}

static void a_job_that_is_done_goes_back_again(void **state)
{
    (void)state;
    char *path = job_of("done");
    for (int round = 0; round < 2; round++) {
        jobdir_put(path, "summary.json", "{\"steps\": 15}");
        jobdir *d = jobdir_start(request(path, 10));
        bool done = true;
        assert_int_equal(jobdir_is_done(d, &done, NULL), OK);
        assert_false(done);
        expect_newest(d, 10);
        assert_int_equal(jobdir_begin(d, NULL), OK);
        commit(d, 15);
        jobdir_close(&d);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(it_goes_back_once),
        cmocka_unit_test(a_job_that_is_done_goes_back_again),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
