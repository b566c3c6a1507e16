/* What the flight recorder writes: read again, refused where it is damaged, and written by a process that dies. */
/* CTest labels: smoke */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/base/thread.h"
#include "common/live/recorder_output.h"
#include "support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const recorder_identity worker = {
    .task = {ROLE_WORKER, 1},
    .indexes = {[ROLE_MASTER] = -1, [ROLE_WORKER] = 1, [ROLE_PS] = -1, [ROLE_EVALUATOR] = -1},
};

static void start_in(const char *job_dir)
{
    recorder_identity who = worker;
    who.job_dir = job_dir;
    recorder_start(&who);
}

static int start(void **state)
{
    int failed = folder_set_up(state);
    start_in(folder_path());
    return failed;
}

static bool exists(const char *name)
{
    char *path = folder_file("log/events/%s", name);
    bool is = fs_exists(path);
    free(path);
    return is;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    recording r;
    task who;
    RECORDER_BEGIN(0, .kind = EVENT_SLOT, .lane = 2, .step = 41, .a = 3, .at_us = 100);
    for (int i = 0; i < 3; i++)
        RECORDER_NOTE(.kind = EVENT_UPDATE, .lane = -1, .step = i, .a = -i, .b = 7, .c = INT64_C(1) << 40, .at_us = i,
                      .took_us = 2);
    recorder_peer(77, (task){ROLE_PS, 4});
    const char *path = recorder_write(RECORDING_WAIT, "for=ps.4");
    assert_non_null(path);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.role, ROLE_WORKER);
    assert_int_equal(r.head.index, 1);
    assert_int_equal(r.head.pid, getpid());
    assert_int_equal(r.head.reason, RECORDING_WAIT);
    assert_string_equal(r.head.text, "for=ps.4");
    assert_true(r.head.host[0]);
    assert_int_equal(r.head.n_in_progress, 1);
    assert_int_equal(r.in_progress[0].kind, EVENT_SLOT);
    assert_int_equal(r.in_progress[0].lane, 2);
    assert_int_equal(r.head.n_events, 3);
    for (int i = 0; i < 3; i++)
        assert_true(r.events[i].kind == EVENT_UPDATE && r.events[i].step == i && r.events[i].a == -i &&
                    r.events[i].b == 7 && r.events[i].c == INT64_C(1) << 40 && r.events[i].took_us == 2);
    assert_true(recording_peer_of(&r, 77, &who));
    assert_int_equal(who.index, 4);
    assert_false(recording_peer_of(&r, 78, &who));
    recording_fini(&r);
}

static void test_the_newest_events_are_kept(void **state)
{
    (void)state;
    recording r;
    uint64_t before = atomic_load(&recorder_next);
    for (int i = 0; i < RECORDER_EVENTS + 100; i++)
        RECORDER_NOTE(.kind = EVENT_HELD, .lane = -1, .step = i);
    assert_int_equal(recording_read(recorder_write(RECORDING_WAIT, ""), &r, NULL), OK);
    assert_int_equal(r.head.n_events, RECORDER_EVENTS);
    assert_int_equal(r.head.noted, before + RECORDER_EVENTS + 100);
    assert_int_equal(r.events[0].step, 100);
    assert_int_equal(r.events[RECORDER_EVENTS - 1].step, RECORDER_EVENTS + 99);
    recording_fini(&r);
}

static void test_only_a_few_files_are_kept(void **state)
{
    (void)state;
    char text[32];
    recording r;
    for (int i = 0; i < RECORDER_FILES + 3; i++) {
        snprintf(text, sizeof text, "file %d", i);
        assert_non_null(recorder_write(RECORDING_WAIT, text));
    }
    assert_true(exists("worker.1.bin") && exists("worker.1.1.bin") && exists("worker.1.3.bin"));
    assert_false(exists("worker.1.4.bin"));
    assert_false(exists("worker.1.bin.new"));
    char *path = folder_file("log/events/worker.1.2.bin");
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_string_equal(r.head.text, "file 4");
    recording_fini(&r);
    free(path);
}

static void test_waits_write_now_and_then(void **state)
{
    (void)state;
    char *path = folder_file("log/events/worker.1.bin");
    recorder_request asked = {.number = 0};
    recording r;
    recorder_take_request(&asked, 5);   /* as a newcomer hears it: that was before it came */
    recorder_take_request(&asked, 5);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.reason, RECORDING_WAIT);
    recording_fini(&r);
    recorder_take_request(&asked, 0);   /* another master */
    recorder_take_request(&asked, 1);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.reason, RECORDING_ASKED);
    recording_fini(&r);
    recorder_write_wait(RECORDING_WAIT, "too soon");
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.reason, RECORDING_ASKED);
    recording_fini(&r);
    free(path);
}

static void refuses(buf *file, size_t bytes, const char *why)
{
    error err = ERROR_INIT;
    recording r;
    assert_int_equal(recording_parse(file->data, bytes, &r, &err), E_DATA);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void test_damage_is_refused(void **state)
{
    (void)state;
    buf file = BUF_INIT;
    error err = ERROR_INIT;
    recording r;
    char *path = folder_file("log/events/worker.1.bin");
    assert_int_equal(fs_read(path, 64 << 20, &file, NULL), OK);
    refuses(&file, 0, "fewer than its head");
    refuses(&file, sizeof(recording_head) - 1, "fewer than its head");
    refuses(&file, file.size - 1, "cut off or damaged");
    for (size_t at = 0; at < file.size; at += at < sizeof(recording_head) ? 1 : 997) {
        file.data[at] ^= 0x10;
        assert_int_equal(recording_parse(file.data, file.size, &r, NULL), E_DATA);
        file.data[at] ^= 0x10;
    }
    assert_int_equal(recording_parse(file.data, file.size, &r, NULL), OK);
    recording_fini(&r);
    file.data[0] = 'X';
    refuses(&file, file.size, "does not begin as a flight recorder's file");
    assert_int_equal(fs_write_atomic(path, file.data, file.size, NULL), OK);
    assert_int_equal(recording_read(path, &r, &err), E_DATA);
    assert_non_null(strstr(err.text, "log/events/worker.1.bin'"));
    buf_fini(&file);
    free(path);
}

/* --- processes that die --- */

static void *fault(void *arg)
{
    volatile int *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *closed = 1;
    return arg;
}

static int deepen(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : deepen(depth + 1) + room[0];
}

static void *overflow(void *arg)
{
    return (void *)(intptr_t)(deepen(0) + *(int *)arg);
}

static void in_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    if (thread_start(&thread, "dies", run, arg, NULL) == OK)
        pthread_join(thread, NULL);
}

typedef enum way_to_die { ABORTS, FAULTS, FAULTS_IN_THREAD, OVERFLOWS_IN_THREAD, IS_KILLED } way_to_die;

/* Signals are cmocka's as a test runs. */
static void handle_signals(void)
{
    static const int all[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        signal(all[i], SIG_DFL);
    start_in(folder_path());
}

static void die(way_to_die how)
{
    int one = 1;
    handle_signals();
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (how == ABORTS)
        abort();
    if (how == FAULTS)
        fault(NULL);
    if (how == FAULTS_IN_THREAD)
        in_thread(fault, NULL);
    if (how == OVERFLOWS_IN_THREAD)
        in_thread(overflow, &one);
    raise(SIGFPE);
    _exit(0);
}

static void dies(way_to_die how, int of)
{
    recording r;
    int how_it_ended;
    char *path = folder_file("log/events/worker.1.bin");
    unlink(path);
    pid_t child = fork();
    if (child == 0)
        die(how);
    assert_int_equal(waitpid(child, &how_it_ended, 0), child);
    assert_true(WIFSIGNALED(how_it_ended));
    assert_int_equal(WTERMSIG(how_it_ended), of);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.reason, RECORDING_DEATH);
    assert_int_equal(r.head.signal, of);
    recording_fini(&r);
    free(path);
}

static void test_who_dies_leaves_its_events(void **state)
{
    (void)state;
    dies(ABORTS, SIGABRT);
    dies(FAULTS, SIGSEGV);
    dies(FAULTS_IN_THREAD, SIGSEGV);
    dies(OVERFLOWS_IN_THREAD, SIGSEGV);
    dies(IS_KILLED, SIGFPE);
}

static void somebody_elses(int number)
{
    (void)number;
}

static void test_a_handler_that_is_there_stays(void **state)
{
    (void)state;
    struct sigaction now;
    signal(SIGILL, somebody_elses);
    start_in(folder_path());
    assert_int_equal(sigaction(SIGILL, NULL, &now), 0);
    assert_true(now.sa_handler == somebody_elses);
}

static void test_sigusr1_asks(void **state)
{
    (void)state;
    recording r;
    char *path = folder_file("log/events/worker.1.bin");
    raise(SIGUSR1);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    assert_int_equal(r.head.reason, RECORDING_SIGNAL);
    assert_int_equal(r.head.signal, SIGUSR1);
    recording_fini(&r);
    free(path);
}

static void test_without_the_job_dir_it_lies_among_temporary_files(void **state)
{
    (void)state;
    recording r;
    struct stat s;
    char *away = folder_file("nowhere/job"), *place = folder_file("place");
    assert_int_equal(mkdir(place, 0700), 0);
    setenv("TMPDIR", place, 1);
    start_in(away);
    const char *path = recorder_write(RECORDING_WAIT, "");
    assert_non_null(path);
    assert_int_equal(strncmp(path, place, strlen(place)), 0);
    assert_int_equal(recording_read(path, &r, NULL), OK);
    recording_fini(&r);
    char *folder = fs_parent(path);
    assert_int_equal(stat(folder, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink("/", folder), 0);  /* somebody else's trap */
    assert_null(recorder_write(RECORDING_WAIT, ""));
    free(folder);
    free(place);
    free(away);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_the_newest_events_are_kept),
        cmocka_unit_test(test_only_a_few_files_are_kept),
        cmocka_unit_test(test_waits_write_now_and_then),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_who_dies_leaves_its_events),
        cmocka_unit_test(test_a_handler_that_is_there_stays),
        cmocka_unit_test(test_sigusr1_asks),
        cmocka_unit_test(test_without_the_job_dir_it_lies_among_temporary_files),
    };
    return cmocka_run_group_tests(tests, start, folder_tear_down);
}
