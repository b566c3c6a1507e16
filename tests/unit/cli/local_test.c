/* The local launcher over pretended tasks: who failed first, what is told, who is left behind. */
#include "job/local.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "job/ports.h"
#include "job/roster.h"
#include "unit/cli/support_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct run {
    char dir[64];
    int code;
    error err;
    char *out, *errors; /* what the launcher printed */
} run;

static char *read_text(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &text, NULL), OK);
    return buf_detach(&text);
}

static int redirect(const char *dir, const char *name, int fd)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int saved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(file >= 0 && saved >= 0);
    dup2(file, fd);
    close(file);
    return saved;
}

static void restore(int saved, int fd)
{
    fflush(NULL);
    dup2(saved, fd);
    close(saved);
}

static void make_dir(run *r)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(r->dir, sizeof r->dir, "%s/tequio-local-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(r->dir));
}

#define SHAPE(workers, ps, evaluators)                                                             \
    {                                                                                              \
        .counts = {1, (workers), (ps), (evaluators)}, .primary = "chief"                           \
    }

static run launch(local_options options)
{
    run r = {.err = ERROR_INIT};
    make_dir(&r);
    options.log_dir = r.dir;
    options.grace_ms = 300;
    fflush(NULL);
    int out = redirect(r.dir, "out", STDOUT_FILENO), errors = redirect(r.dir, "err", STDERR_FILENO);
    r.code = local_run(&options, &r.err);
    restore(out, STDOUT_FILENO);
    restore(errors, STDERR_FILENO);
    r.out = read_text(r.dir, "out");
    r.errors = read_text(r.dir, "err");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return r;
}

static void done(run *r)
{
    free(r->out);
    free(r->errors);
    assert_int_equal(fs_remove_tree(r->dir, NULL), OK);
}

#define TASKS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LAUNCH(w, p, e, ...)                                                                       \
    launch((local_options){.shape = SHAPE(w, p, e), .arguments = TASKS(__VA_ARGS__)})

static void success_needs_every_task(void **state)
{
    (void)state;
    run r = LAUNCH(2, 2, 1, "chief.0=ok");
    assert_int_equal(r.code, 0);
    assert_int_equal(r.err.code, OK);
    done(&r);
}

static void first_failure_is_told(void **state)
{
    (void)state;
    run r = LAUNCH(2, 1, 0, "chief.0=wait", "ps.0=wait", "worker.0=wait", "worker.1=exit:3");
    assert_int_equal(r.code, 3);
    assert_string_equal(r.err.text, "worker.1 failed first: exit 3; its last lines:\n"
                                    "    worker.1 is going to fail");
    assert_non_null(strstr(r.errors, "[worker 1] worker.1 is going to fail\n"));
    done(&r);
}

static void the_master_knows_who_was_first(void **state)
{
    (void)state;
    run r = LAUNCH(2, 1, 0, "chief.0=blame:1", "worker.0=exit:3", "worker.1=exit:4", "ps.0=exit:3");
    assert_int_equal(r.code, 4);
    assert_non_null(strstr(r.err.text, "worker.1 failed first: exit 4;"));
    done(&r);
    r = LAUNCH(2, 1, 0, "chief.0=exit:2", "worker.0=exit:3", "worker.1=exit:4", "ps.0=exit:3");
    assert_int_equal(r.code, 2);
    assert_non_null(strstr(r.err.text, "master.0 failed first: exit 2;"));
    done(&r);
}

static void killed_task_is_told(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "chief.0=wait", "worker.0=wait", "ps.0=kill:9");
    assert_int_equal(r.code, 128 + 9);
    assert_string_equal(r.err.text,
                        "ps.0 failed first: killed by signal 9 (Killed); it printed nothing");
    done(&r);
}

static void dead_task_starts_again(void **state)
{
    (void)state;
    run place = {.code = 0};
    char fifo[128];
    make_dir(&place);
    snprintf(fifo, sizeof fifo, "%s/fifo", place.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    setenv("SUPPORT_FIFO", fifo, 1);
    run r = launch((local_options){
        .shape = SHAPE(1, 1, 0),
        .restarts = {3, 600},
        .arguments = TASKS("ps.0=mortal:2", "worker.0=ok", "chief.0=kill:9"),
        .arguments_again = TASKS("ps.0=mortal:2", "chief.0=await"),
    });
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.errors, "tequio: master.0: killed by signal 9 (Killed); it is started "
                                     "again (1 of 3)\n"));
    assert_non_null(strstr(r.errors, "tequio: ps.0: killed by signal 9 (Killed); it is started "
                                     "again (1 of 3)\n"));
    assert_non_null(strstr(r.errors, "it is started again in 0.2 s (2 of 3)\n"));
    char *log = read_text(r.dir, "ps.0.log");
    assert_string_equal(log, "ps.0 life 1\nps.0 life 2\nps.0 life 3\n");
    free(log);
    done(&r);
    assert_int_equal(fs_remove_tree(place.dir, NULL), OK);
}

static void restarts_have_a_limit(void **state)
{
    (void)state;
    run r = launch((local_options){.shape = SHAPE(1, 1, 0),
                                   .restarts = {2, 600},
                                   .arguments = TASKS("chief.0=wait", "worker.0=wait", "ps.0=exit:200")});
    assert_int_equal(r.code, 200);
    assert_string_equal(r.err.text, "ps.0 failed first: exit 200 after 2 restarts; its last lines:\n"
                                    "    ps.0 is going to fail");
    done(&r);
}

static void permanent_failure_is_final(void **state)
{
    (void)state;
    run r = launch((local_options){.shape = SHAPE(1, 1, 0),
                                   .restarts = {5, 600},
                                   .arguments = TASKS("chief.0=wait", "worker.0=exit:3", "ps.0=wait")});
    assert_int_equal(r.code, 3);
    assert_null(strstr(r.errors, "started again"));
    done(&r);
}

static void done_job_waits_for_nobody(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "chief.0=ok", "worker.0=stubborn", "ps.0=wait");
    assert_int_equal(r.code, 0);
    assert_int_equal(r.err.code, OK);
    done(&r);
}

static void stubborn_tasks_are_killed(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "chief.0=stubborn", "worker.0=exit:2", "ps.0=stubborn");
    assert_int_equal(r.code, 2);
    done(&r);
}

static void last_lines_are_at_most_twenty(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "chief.0=print:50", "worker.0=ok", "ps.0=ok");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.errors, "[master 0] chief.0 line 49\n"));
    char *log = read_text(r.dir, "master.0.log");
    assert_non_null(strstr(log, "chief.0 line 0\n"));
    assert_null(strstr(log, "[master"));
    free(log);
    done(&r);
}

static void bar_and_result_of_the_master_pass(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "chief.0=bar", "worker.0=partial");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "a result\n");
    assert_non_null(strstr(r.errors, "\r2 of 3\033[K\r"));
    assert_null(strstr(r.errors, "[master 0]"));
    assert_non_null(strstr(r.errors, "[worker 0] no end\n"));
    char *log = read_text(r.dir, "master.0.log");
    assert_null(strstr(log, "of 3"));
    free(log);
    done(&r);
}

static void preempted_task_is_no_failure(void **state)
{
    (void)state;
    run r = LAUNCH(1, 1, 0, "worker.0=exit:143", "chief.0=exit:143", "ps.0=exit:143");
    assert_int_equal(r.code, 143);
    assert_int_equal(r.err.code, E_ABORTED); /* nobody asked us */
    done(&r);
}

static void primary_alone_decides(void **state)
{
    (void)state;
    const char *what[] = {"worker.0=exit:3", "chief.0=exit:5", "ps.0=exit:9", NULL};
    run r = launch((local_options){.shape = SHAPE(1, 1, 0),
                                   .primary_decides = true,
                                   .arguments = what,
                                   .grace_ms = 200});
    assert_int_equal(r.code, 5);
    assert_non_null(strstr(r.err.text, "master.0 failed first: exit 5"));
    assert_non_null(strstr(r.errors, "worker.0: exit 3"));
    done(&r);
}

/* A launcher in a process of its own, its worker and its server waiting; returns once `n` lines
 * with `sign` were printed. */
static pid_t launch_apart(const char *dir, const char *master, const char *sign, int n)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        const char *what[] = {master, "worker.0=stubborn", "ps.0=stubborn", NULL};
        local_options options = {.shape = SHAPE(1, 1, 0),
                                 .restarts = {3, 600},
                                 .arguments = what,
                                 .log_dir = dir,
                                 .grace_ms = 200};
        error err = ERROR_INIT;
        _exit(local_run(&options, &err));
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    char line[256];
    for (; n > 0; n--)
        do
            assert_non_null(fgets(line, sizeof line, lines));
        while (!strstr(line, sign));
    fclose(lines);
    return pid;
}

static void signal_asks_the_master(void **state)
{
    (void)state;
    run r = {.code = 0};
    make_dir(&r);
    pid_t pid = launch_apart(r.dir, "chief.0=wait", " waits\n", 3);
    kill(pid, SIGTERM);
    int end = 0;
    assert_int_equal(waitpid(pid, &end, 0), pid);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 143);
    assert_int_equal(fs_remove_tree(r.dir, NULL), OK);
}

static void signal_ends_a_pause(void **state)
{
    (void)state;
    run r = {.code = 0};
    make_dir(&r);
    pid_t pid = launch_apart(r.dir, "chief.0=kill:9", "(3 of 3)\n", 1);
    kill(pid, SIGTERM);
    int end = 0;
    assert_int_equal(waitpid(pid, &end, 0), pid);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 143);
    assert_int_equal(fs_remove_tree(r.dir, NULL), OK);
}

static void second_signal_kills(void **state)
{
    (void)state;
    run r = {.code = 0};
    make_dir(&r);
    pid_t pid = launch_apart(r.dir, "chief.0=stubborn", " waits\n", 3);
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    int end = 0;
    assert_int_equal(waitpid(pid, &end, 0), pid);
    assert_int_equal(WEXITSTATUS(end), 143);
    assert_int_equal(fs_remove_tree(r.dir, NULL), OK);
}

/* The tasks hold the write end of this pipe; it ends when the last of them is gone. */
static void tasks_die_with_a_killed_launcher(void **state)
{
    (void)state;
    run r = {.code = 0};
    make_dir(&r);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = launch_apart(r.dir, "chief.0=stubborn", " waits\n", 3);
    close(ends[1]);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_int_equal(fs_remove_tree(r.dir, NULL), OK);
}

static void port_in_use_is_told(void **state)
{
    (void)state;
    int fd = -1, port = 0;
    assert_int_equal(port_listen(0, "test", &fd, &port, NULL), OK);
    run r = {.err = ERROR_INIT};
    make_dir(&r);
    const char *what[] = {"chief.0=ok", NULL};
    local_options options = {.shape = SHAPE(1, 1, 0),
                             .shape.start_port = port,
                             .arguments = what,
                             .log_dir = r.dir,
                             .grace_ms = 200};
    assert_int_equal(local_run(&options, &r.err), 2);
    char text[160];
    snprintf(text, sizeof text,
             "port %d is in use (master.0 needs it): choose another with --start-port, or leave it "
             "out and free ports are found",
             port);
    assert_string_equal(r.err.text, text);
    close(fd);
    assert_int_equal(fs_remove_tree(r.dir, NULL), OK);
}

static void ports_end(void **state)
{
    (void)state;
    roster_shape shape = SHAPE(2, 1, 1); /* and the master: five that listen */
    roster s;
    error err = ERROR_INIT;
    shape.start_port = PORT_MOST - 3;
    assert_int_equal(roster_open(&shape, &s, &err), E_CONFIG);
    assert_string_equal(err.text, "5 tasks from port 65532 on: ports end at 65535; give a lower "
                                  "--start-port");
    shape.gcloud_job = "{}"; /* whose evaluators listen to nobody */
    assert_int_equal(roster_check_ports(&shape, NULL), OK);
}

static void environment_names_the_task(void **state)
{
    (void)state;
    roster_shape shape = SHAPE(2, 1, 1);
    roster_words words = {.settings = "a=1", .threads = 2};
    roster s;
    assert_int_equal(roster_open(&shape, &s, NULL), OK);
    assert_int_equal(s.n, 5);
    char *base[] = {"PATH=/bin", "TEQUIO_SET=b=2", "TF_CONFIG=old", NULL};
    char **e = roster_environment(&s, 3, 1, &words, base); /* master, ps, worker.0, worker.1 */
    assert_string_equal(e[0], "PATH=/bin");
    assert_string_equal(e[1], "TEQUIO_SET=a=1");
    char expected[400];
    snprintf(
        expected, sizeof expected,
        "TF_CONFIG={\"cluster\":{\"chief\":[\"127.0.0.1:%d\"],\"evaluator\":[\"127.0.0.1:%d\"],"
        "\"ps\":[\"127.0.0.1:%d\"],\"worker\":[\"127.0.0.1:%d\",\"127.0.0.1:%d\"]},"
        "\"task\":{\"index\":1,\"type\":\"worker\"}}",
        s.tasks[0].port, s.tasks[4].port, s.tasks[1].port, s.tasks[2].port, s.tasks[3].port);
    assert_string_equal(e[2], expected);
    roster_environment_free(e);
    roster_close(&s);
}

int main(int argc, char **argv)
{
    if (support_is_task())
        return support_play(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_needs_every_task),
        cmocka_unit_test(first_failure_is_told),
        cmocka_unit_test(the_master_knows_who_was_first),
        cmocka_unit_test(killed_task_is_told),
        cmocka_unit_test(dead_task_starts_again),
        cmocka_unit_test(restarts_have_a_limit),
        cmocka_unit_test(permanent_failure_is_final),
        cmocka_unit_test(done_job_waits_for_nobody),
        cmocka_unit_test(stubborn_tasks_are_killed),
        cmocka_unit_test(last_lines_are_at_most_twenty),
        cmocka_unit_test(bar_and_result_of_the_master_pass),
        cmocka_unit_test(preempted_task_is_no_failure),
        cmocka_unit_test(primary_alone_decides),
        cmocka_unit_test(signal_asks_the_master),
        cmocka_unit_test(signal_ends_a_pause),
        cmocka_unit_test(second_signal_kills),
        cmocka_unit_test(tasks_die_with_a_killed_launcher),
        cmocka_unit_test(port_in_use_is_told),
        cmocka_unit_test(ports_end),
        cmocka_unit_test(environment_names_the_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
