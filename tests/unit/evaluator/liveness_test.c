/* What an evaluator takes for signs of life, and from when on it counts the silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "evaluator/liveness.h"
#include "unit/evaluator/support_job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { START_S = 60 };

static const int64_t second_us = 1000000;

/* The master shows that it lives, so many seconds ago. */
static void show_life(const job *j, int seconds_ago)
{
    char *path = jobdir_file(j->dir, JOBDIR_LOCK);
    assert_int_equal(fs_write_atomic(path, "", 0, NULL), OK);
    struct timespec then[2];
    clock_gettime(CLOCK_REALTIME, &then[0]);
    then[0].tv_sec -= seconds_ago;
    then[1] = then[0];
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    free(path);
}

/* How long the master has been silent, by who has not looked for `away_us`. */
static int64_t silence_us(liveness *s, int64_t away_us)
{
    s->looked_us -= away_us;
    assert_int_equal(liveness_check(s, NULL), OK);
    return clock_us() - s->alive_us;
}

static void a_change_counts_from_when_it_was_made(void **state)
{
    (void)state;
    job j = job_make("");
    show_life(&j, 100);
    liveness s = liveness_begin(j.dir, j.config, START_S);
    assert_false(s.has_lived);
    show_life(&j, 20);
    int64_t silence = silence_us(&s, 60 * second_us);
    assert_true(s.has_lived);
    assert_in_range(silence, 20 * second_us - second_us / 10, 60 * second_us);
    assert_true(silence_us(&s, 0) >= silence); /* and nothing new has been heard */
    job_fini(&j);
}

/* One made before we last looked cannot be: clocks differ. */
static void a_change_counts_from_now_when_it_looks_older_than_it_can_be(void **state)
{
    (void)state;
    job j = job_make("");
    show_life(&j, 100);
    liveness s = liveness_begin(j.dir, j.config, START_S);
    show_life(&j, 90);
    assert_true(silence_us(&s, 60 * second_us) < 30 * second_us);
    job_fini(&j);
}

static void who_looks_often_counts_from_the_look(void **state)
{
    (void)state;
    job j = job_make("");
    show_life(&j, 100);
    liveness s = liveness_begin(j.dir, j.config, START_S);
    show_life(&j, 50);
    assert_true(silence_us(&s, 0) < 40 * second_us);
    job_fini(&j);
}

/* A summary, as a job that is done has it. */
static void finish(const job *j)
{
    char *path = jobdir_file(j->dir, "summary.json");
    assert_int_equal(fs_write_atomic(path, "{}", 2, NULL), OK);
    free(path);
}

/* Of who may come before the master that lets the job go on. */
static void a_job_whose_end_we_move_is_not_done(void **state)
{
    (void)state;
    job j = job_make("trainer: {num_epochs: 2}"), longer = job_make("trainer: {num_epochs: 3}"),
        shorter = job_make("trainer: {num_epochs: 1}"), other = job_make("random_seed: 7");
    jobdir *d = NULL;
    bool was_done;
    assert_int_equal(jobdir_prepare(&(jobdir_request){.path = jobdir_path(j.dir),
                                                      .rule = JOBDIR_ESTIMATOR,
                                                      .config = j.config},
                                    &d, &was_done, NULL),
                     OK);
    assert_int_equal(jobdir_set_batches_per_step(d, 1, NULL), OK);
    assert_int_equal(jobdir_keep_examples(d, JOB_EXAMPLES, NULL), OK);
    job_commit(&j, (job_save){.step = 6, .epochs_done = 2, .final = true});
    finish(&j);
    liveness same = liveness_begin(d, j.config, START_S), moves = liveness_begin(d, longer.config, START_S),
          late = liveness_begin(d, shorter.config, START_S),
          stranger = liveness_begin(d, other.config, START_S);
    assert_true(liveness_done(&same));
    assert_false(liveness_done(&moves));
    assert_true(liveness_done(&late)); /* no master can do that */
    assert_true(liveness_done(&stranger));
    finish(&j); /* anew */
    assert_true(liveness_done(&moves));
    jobdir_close(&d);
    job_fini(&j);
    job_fini(&longer);
    job_fini(&shorter);
    job_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_counts_from_when_it_was_made),
        cmocka_unit_test(a_change_counts_from_now_when_it_looks_older_than_it_can_be),
        cmocka_unit_test(who_looks_often_counts_from_the_look),
        cmocka_unit_test(a_job_whose_end_we_move_is_not_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
