/* A start that came to nothing: what is removed, what stays, and that it is in no later start's way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/jobstate.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names in the folder, with a space after each; "-" if it is not there. */
static char *names_in(const char *path)
{
    char **names = NULL;
    size_t n = 0;
    buf text = BUF_INIT;
    if (!fs_exists(path))
        return xstrdup("-");
    assert_int_equal(fs_list(path, &names, &n, NULL), OK);
    buf_adds(&text, "");
    for (size_t i = 0; i < n; i++)
        buf_addf(&text, "%s ", names[i]);
    fs_list_free(names, n);
    return buf_detach(&text);
}

static void assert_holds(const char *path, const char *expected)
{
    char *names = names_in(path);
    assert_string_equal(names, expected);
    free(names);
}

/* As far as a master comes before its first step. */
static jobdir *started(jobdir_request request)
{
    int64_t restarts;
    jobdir *d = jobdir_start(request);
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    char *log = xasprintf("%s/log", request.path), *saved = jobdir_file(d, "checkpoints/step-000000000");
    jobdir_put(log, "master.0.log", "no data");
    jobdir_put(saved, "manifest.json", "{}");
    jobdir_put(request.path, "journal", "");
    jobdir_put(request.path, "job.json.tmp.00", "{");
    assert_int_equal(jobstate_end(d, E_DATA, "no data", NULL), OK);
    free(saved);
    free(log);
    return d;
}

static void test_all_of_it_goes(void **state)
{
    (void)state;
    char *above = jobdir_place("above"), *path = xasprintf("%s/two/levels/", above);
    config *c = jobdir_config(NULL);
    jobdir_put(above, "mine", "x");
    jobdir *d = started((jobdir_request){.path = path, .config = c});
    jobdir_undo_start(d, true);
    assert_holds(above, "mine ");
    jobdir_undo_start(d, true);
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
    free(above);
}

static void test_what_was_there_stays(void **state)
{
    (void)state;
    char *path = jobdir_place("not-ours"), *log = xasprintf("%s/log", path);
    config *c = jobdir_config(NULL);
    jobdir_put(log, "old.log", "x");
    jobdir_put(path, "key", "secret");
    jobdir_put(path, "journal.txt", "of a traveller");
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c};
    jobdir *d = started(request);
    jobdir_put(path, "written-meanwhile", "x");
    jobdir_undo_start(d, true);
    jobdir_close(&d);
    assert_holds(path, "journal.txt key log written-meanwhile ");
    assert_holds(log, "master.0.log old.log ");
    config_destroy(&c);
    free(log);
    free(path);
}

/* Tasks of a cluster read how their job ended; the next start is not held up by that. */
static void test_others_may_read_on(void **state)
{
    (void)state;
    char *path = jobdir_place("read-on");
    config *c = jobdir_config(NULL);
    jobdir *d = started((jobdir_request){.path = path, .config = c});
    jobstate s;
    jobdir_undo_start(d, false);
    assert_int_equal(jobstate_read(d, &s, NULL), OK);
    assert_int_equal(s.kind, JOBSTATE_FAILED);
    jobstate_fini(&s);
    jobdir_close(&d);
    assert_holds(path, "job.lock log state.json ");
    d = jobdir_start((jobdir_request){.path = path, .config = c});
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void test_what_began_stays(void **state)
{
    (void)state;
    char *path = jobdir_place("began");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .config = c, .recover = true};
    jobdir *d = started(request);
    assert_int_equal(jobdir_begin(d, NULL), OK);
    jobdir_undo_start(d, true);
    jobdir_close(&d);
    d = jobdir_start(request); /* a later start of it, which fails before it goes on */
    jobdir_undo_start(d, true);
    jobdir_close(&d);
    char *file = xasprintf("%s/job.json", path);
    assert_true(fs_exists(file));
    config_destroy(&c);
    free(file);
    free(path);
}

/* The launcher let its lock go for its master, and cleans up after it; not after somebody else. */
static void test_after_another_process(void **state)
{
    (void)state;
    char *path = jobdir_place("launched");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .config = c}, join = request, anew = request;
    join.rule = JOBDIR_ESTIMATOR;
    anew.force = true;
    jobdir *launcher = jobdir_start(request), *master = NULL;
    jobdir_let_go(launcher);
    master = started(join);
    assert_true(jobdir_job_id(master) == jobdir_job_id(launcher));
    jobdir_undo_start(launcher, true); /* it lives */
    jobdir_undo_start(master, true);   /* it made nothing */
    char *file = xasprintf("%s/job.json", path);
    assert_true(fs_exists(file));
    jobdir_close(&master);
    jobdir_undo_start(launcher, true);
    jobdir_close(&launcher);
    assert_holds(path, "-");

    launcher = jobdir_start(request);
    jobdir_let_go(launcher);
    master = started(anew); /* another job */
    jobdir_close(&master);
    jobdir_undo_start(launcher, true);
    jobdir_close(&launcher);
    assert_true(fs_exists(file));
    config_destroy(&c);
    free(file);
    free(path);
}

/* Killed before it could take anything back: by every rule the next start, of another configuration,
 * takes its place; of the same one it is what was begun. */
static void test_a_killed_start_blocks_nobody(void **state)
{
    (void)state;
    config *c = jobdir_config(NULL), *other = jobdir_config("{random_seed: 7}");
    jobdir_request ways[] = {{.config = other},
                             {.config = other, .rule = JOBDIR_ESTIMATOR},
                             {.config = other, .recover = true},
                             {.config = c}};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char *path = folder_file("killed-%zu", i), *saved = xasprintf("%s/checkpoints", path);
        jobdir_put(path, "notes", "mine");
        jobdir *d = started(
            (jobdir_request){.path = path, .rule = JOBDIR_ESTIMATOR, .config = c});
        uint64_t id = jobdir_job_id(d);
        jobdir_close(&d);
        ways[i].path = path;
        d = jobdir_start(ways[i]);
        assert_true(jobdir_job_id(d) != id);
        assert_holds(saved, "");
        jobdir_undo_start(d, true);
        jobdir_close(&d);
        char *notes = xasprintf("%s/notes", path), *job = xasprintf("%s/job.json", path);
        assert_true(fs_exists(notes));
        assert_false(fs_exists(job));
        free(job);
        free(notes);
        free(saved);
        free(path);
    }
    config_destroy(&c);
    config_destroy(&other);
}

static void test_a_start_that_cannot_be_made(void **state)
{
    (void)state;
    char *path = jobdir_place("cannot");
    config *c = jobdir_config(NULL);
    jobdir_put(path, "log", "a file, where a folder is to be");
    jobdir_refused((jobdir_request){.path = path, .config = c}, E_IO, "log");
    assert_holds(path, "log ");
    config_destroy(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_goes),
        cmocka_unit_test(test_what_was_there_stays),
        cmocka_unit_test(test_others_may_read_on),
        cmocka_unit_test(test_what_began_stays),
        cmocka_unit_test(test_after_another_process),
        cmocka_unit_test(test_a_killed_start_blocks_nobody),
        cmocka_unit_test(test_a_start_that_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
