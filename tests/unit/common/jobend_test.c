/* What tasks conclude from a job dir when they find no master. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/jobend.h"
#include "common/store/jobstate.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <stdlib.h>
#include <string.h>

typedef struct scene {
    char *path;
    config *c, *longer, *other;
    uint64_t job_id;
} scene;

static scene begin(const char *name)
{
    scene s = {.path = jobdir_place(name),
               .c = jobdir_config(NULL),
               .longer = jobdir_config("{\"trainer.num_epochs\": 2}"),
               .other = jobdir_config("{\"random_seed\": 7}")};
    jobdir *d = jobdir_start((jobdir_request){.path = s.path, .config = s.c, .recover = true});
    int64_t restarts = -1;
    assert_int_equal(jobdir_begin(d, NULL), OK);
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    assert_int_equal(restarts, 0);
    assert_int_equal(jobstate_begin(d, NULL), OK);
    s.job_id = jobdir_job_id(d);
    jobdir_close(&d);
    return s;
}

static void end(scene *s)
{
    config_destroy(&s->c);
    config_destroy(&s->longer);
    config_destroy(&s->other);
    free(s->path);
}

static status look(const scene *s, const config *c, uint64_t job_id, int64_t start, bool *ret_over, error *err)
{
    return jobend_look(
        &(jobend_seeker){.job_dir = s->path, .config = c, .job_id = job_id, .start = start}, ret_over, err);
}

static bool is_over(const scene *s, const config *c, uint64_t job_id)
{
    bool over;
    assert_int_equal(look(s, c, job_id, 1, &over, NULL), OK);
    return over;
}

static void what_goes_on_is_not_over(void **state)
{
    (void)state;
    scene s = begin("running");
    assert_false(is_over(&s, s.c, s.job_id));
    assert_false(is_over(&s, s.c, 0));
    end(&s);
}

static void nothing_is_made_where_no_job_is(void **state)
{
    (void)state;
    scene s = {.path = jobdir_place("nowhere"), .c = jobdir_config(NULL)};
    assert_false(is_over(&s, s.c, 0));
    assert_false(is_over(&s, s.c, 12));
    assert_false(fs_exists(s.path));
    end(&s);
}

static void who_has_the_configuration_learns_that_it_is_done(void **state)
{
    (void)state;
    scene s = begin("done");
    jobdir_put(s.path, "summary.json", "{\"steps\": 5}");
    char *checkpoint = xasprintf("%s/checkpoints/step-000000005", s.path);
    jobdir_put(checkpoint, "manifest.json", "{}");
    free(checkpoint);
    assert_true(is_over(&s, s.c, s.job_id));
    assert_true(is_over(&s, s.c, 0));
    assert_false(is_over(&s, s.c, s.job_id + 1)); /* of a job that is there no more */
    assert_false(is_over(&s, s.other, 0));
    assert_false(is_over(&s, s.longer, 0)); /* a master that starts with it moves the end */
    end(&s);
}

static void how_a_start_ended_counts_for_who_was_of_it(void **state)
{
    (void)state;
    scene s = begin("failed");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = s.path, .config = c, .recover = true});
    assert_int_equal(jobstate_end(d, E_PREEMPTED, "a checkpoint is there", NULL), OK);
    jobdir_close(&d);
    bool over = false;
    error err = ERROR_INIT;
    assert_int_equal(look(&s, s.c, s.job_id, 1, &over, &err), E_PREEMPTED);
    assert_true(over);
    assert_string_equal(err.text, "the job has ended: a checkpoint is there");
    assert_int_equal(look(&s, s.c, s.job_id, 2, &over, NULL), OK); /* of a later start's master */
    assert_false(over);
    assert_int_equal(look(&s, s.c, 0, 0, &over, NULL), OK); /* another start may follow */
    assert_false(over);
    config_destroy(&c);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_on_is_not_over),
        cmocka_unit_test(nothing_is_made_where_no_job_is),
        cmocka_unit_test(who_has_the_configuration_learns_that_it_is_done),
        cmocka_unit_test(how_a_start_ended_counts_for_who_was_of_it),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
