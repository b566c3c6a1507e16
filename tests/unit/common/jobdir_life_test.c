/* Whose a job dir is while masters come, freeze and go, and what it says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint.h"
#include "common/store/jobstate.h"
#include "common/store/lockfile.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Another process that holds the folder and does what `act` does; it writes a byte once it holds.
 */
typedef char holder_act(jobdir *d, int asked);

static pid_t hold(jobdir_request request, holder_act *act, int *ret_ready, int *ret_ask)
{
    int ready[2], ask[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(ask), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        jobdir *d = NULL;
        bool done;
        char ok = jobdir_prepare(&request, &d, &done, NULL) == OK;
        close(ask[1]);
        if (write(ready[1], &ok, 1) != 1 || !ok)
            _exit(1);
        ok = act(d, ask[0]);
        _exit(write(ready[1], &ok, 1) != 1);
    }
    close(ready[1]);
    close(ask[0]);
    char ok = 0;
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 1);
    *ret_ready = ready[0];
    *ret_ask = ask[1];
    return child;
}

/* Shows no sign of life; once it is asked, it must find that it may do nothing any more. */
static char froze(jobdir *d, int asked)
{
    char byte;
    error err = ERROR_INIT;
    int64_t restarts;
    if (read(asked, &byte, 1) != 0)
        return 0;
    manifest m = {.step = 1};
    return !jobdir_is_ours(d) && jobdir_touch(d, &err) == E_LOST &&
           strcmp(err.text, "another master (start 1) has taken over the job") == 0 &&
           jobdir_count_start(d, &restarts, NULL) == E_LOST &&
           jobdir_set_batches_per_step(d, 3, NULL) == E_LOST &&
           jobstate_end(d, OK, "", NULL) == E_LOST && checkpoint_commit(d, 1, &m, NULL) == E_LOST &&
           checkpoint_prune(d, &(checkpoint_pruning){.keep = 1, .era = 1}, NULL) == E_LOST;
}

static char lives(jobdir *d, int asked)
{
    struct pollfd p = {.fd = asked, .events = POLLIN};
    bool is_ours = true;
    do
        is_ours = jobdir_touch(d, NULL) == OK && is_ours;
    while (poll(&p, 1, 100) == 0);
    return is_ours && jobdir_is_ours(d);
}

static void end_holder(pid_t child, int ready, int ask)
{
    char ok = 0;
    close(ask);
    assert_int_equal(read(ready, &ok, 1), 1);
    assert_int_equal(ok, 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready);
}

static char *watched;

static void note_watched(const char *holder)
{
    free(watched);
    watched = xstrdup(holder);
}

static void test_a_frozen_master_is_followed(void **state)
{
    (void)state;
    char *path = jobdir_place("frozen");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path,
                              .rule = JOBDIR_ESTIMATOR,
                              .config = c,
                              .frozen_s = 0.1,
                              .watching = note_watched};
    int ready, ask;
    pid_t child = hold(request, froze, &ready, &ask);
    jobdir *d = jobdir_start(request);
    assert_int_equal(strtol(watched, NULL, 10), child);
    free(watched);
    int64_t restarts = -1;
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    end_holder(child, ready, ask);
    assert_true(jobdir_is_ours(d));
    assert_int_equal(jobdir_touch(d, NULL), OK);
    jobstate s;
    assert_int_equal(jobstate_read(d, &s, NULL), OK);
    assert_int_equal(s.kind, JOBSTATE_RUNNING);
    jobstate_fini(&s);
    jobdir_close(&d);
    char **names = NULL;
    size_t n = 0, locks = 0;
    assert_int_equal(fs_list(path, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++)
        locks += strncmp(names[i], "job.lock", 8) == 0;
    assert_int_equal(locks, 1);
    fs_list_free(names, n);
    d = jobdir_start(request); /* as ever */
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void test_a_living_master_is_not(void **state)
{
    (void)state;
    char *path = jobdir_place("alive");
    config *c = jobdir_config(NULL);
    jobdir_request request = {
        .path = path, .rule = JOBDIR_ESTIMATOR, .config = c, .frozen_s = 3600};
    int ready, ask;
    pid_t child = hold(request, lives, &ready, &ask);
    char *expected = xasprintf("in use by process %ld on ", (long)child);
    jobdir_refused(request, E_BUSY, expected);
    free(expected);
    end_holder(child, ready, ask);
    config_destroy(&c);
    free(path);
}

/* Of two that watch the same holder one follows it. */
static void test_one_follower(void **state)
{
    (void)state;
    char *path = jobdir_place("followers");
    config *c = jobdir_config(NULL);
    jobdir_request request = {.path = path, .rule = JOBDIR_ESTIMATOR, .config = c, .frozen_s = 0.1};
    int ready, ask;
    pid_t child = hold(request, lives, &ready, &ask);
    kill(child, SIGSTOP);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) {
        if (fork() != 0)
            continue;
        jobdir *d = NULL;
        bool done;
        status st = jobdir_prepare(&request, &d, &done, NULL);
        char code = (char)('0' + st);
        close(ends[0]);
        if (write(ends[1], &code, 1) != 1)
            _exit(1);
        while (st == OK && jobdir_touch(d, NULL) == OK && poll(NULL, 0, 100) == 0)
            ;
        _exit(0);
    }
    char codes[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(ends[0], &codes[i], 1), 1);
    assert_true(codes[0] == '0' + E_BUSY || codes[1] == '0' + E_BUSY);
    assert_true(codes[0] == '0' || codes[1] == '0');
    close(ends[0]);
    close(ends[1]);
    jobdir *looker = NULL;
    assert_int_equal(jobdir_open(path, &looker, NULL), OK);
    uint64_t pulse = jobdir_pulse(looker);
    while (jobdir_pulse(looker) == pulse) /* the follower lives */
        poll(NULL, 0, 10);
    jobdir_close(&looker);
    char *lock = xasprintf("%s/job.lock", path), *holder = lockfile_holder(lock);
    kill((pid_t)strtol(holder, NULL, 10), SIGKILL);
    kill(child, SIGCONT);
    char ok = 1;
    close(ask);
    assert_int_equal(read(ready, &ok, 1), 1);
    assert_int_equal(ok, 0); /* it was not its own any more */
    close(ready);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    free(holder);
    free(lock);
    config_destroy(&c);
    free(path);
}

static void test_state(void **state)
{
    (void)state;
    static const struct {
        status how;
        const char *text, *read;
        jobstate_kind kind;
    } cases[] = {
        {OK, "", "", JOBSTATE_DONE},
        {E_PREEMPTED, "cut at 7", "cut at 7", JOBSTATE_PREEMPTED},
        {E_DATA, "'\xc3\xa9t\xc3\xa9': too short", "'\xc3\xa9t\xc3\xa9': too short",
         JOBSTATE_FAILED},
        {E_LOST, "'\xe9t\xe9' is gone", "'?t?' is gone", JOBSTATE_FAILED},
    };
    char *path = jobdir_place("state");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    jobstate s;
    assert_int_equal(jobstate_read(d, &s, NULL), OK);
    assert_int_equal(s.kind, JOBSTATE_NONE);
    int64_t restarts = -1;
    uint64_t before = 0;
    assert_int_equal(jobdir_count_start(d, &restarts, NULL), OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(jobstate_end(d, cases[i].how, cases[i].text, NULL), OK);
        assert_int_equal(jobstate_read(d, &s, NULL), OK);
        assert_int_equal(s.kind, cases[i].kind);
        assert_int_equal(s.start, 1);
        assert_int_equal(s.exit_code, status_exit_code(cases[i].how));
        assert_int_equal(status_exit_code(jobstate_outcome(&s)), s.exit_code);
        assert_string_equal(s.text, cases[i].read);
        assert_true(s.trace != before);
        before = s.trace;
        jobstate_fini(&s);
    }
    jobdir_put(path, "state.json",
               "{\"state\": \"asleep\", \"start\": 1, \"exit_code\": 0, \"text\": \"\"}");
    error err = ERROR_INIT;
    assert_int_equal(jobstate_read(d, &s, &err), E_DATA);
    assert_non_null(strstr(err.text, "state.json"));
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frozen_master_is_followed),
        cmocka_unit_test(test_a_living_master_is_not),
        cmocka_unit_test(test_one_follower),
        cmocka_unit_test(test_state),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
