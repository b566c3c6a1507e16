/* A last will is carried out when it is asked for, and when its maker is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "job/process/exit_hook.h"
#include "support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void it_is_executed(void **state)
{
    (void)state;
    char *folder = folder_create(), *log = xasprintf("%s/log", folder);
    const char *argv[] = {"sh", "-c", "echo done; exit 3", NULL};
    buf text = BUF_INIT;
    exit_hook w;
    assert_int_equal(exit_hook_set(argv, log, &w, NULL), OK);
    assert_int_equal(exit_hook_run(&w), 3);
    assert_int_equal(exit_hook_run(&w), 0); /* once */
    assert_int_equal(fs_read(log, 100, &text, NULL), OK);
    assert_string_equal(text.data, "done\n");
    buf_fini(&text);
    free(log);
    folder_destroy(&folder);
}

static void a_command_that_is_missing_is_told(void **state)
{
    (void)state;
    char *folder = folder_create(), *log = xasprintf("%s/log", folder);
    const char *argv[] = {"no-such-command", NULL};
    buf text = BUF_INIT;
    exit_hook w;
    assert_int_equal(exit_hook_set(argv, log, &w, NULL), OK);
    assert_int_equal(exit_hook_run(&w), 127);
    assert_int_equal(fs_read(log, 100, &text, NULL), OK);
    assert_string_equal(text.data, "start no-such-command: No such file or directory\n");
    buf_fini(&text);
    free(log);
    folder_destroy(&folder);
}

_Noreturn static void live_and_die(const char *const *argv)
{
    exit_hook w;
    if (exit_hook_set(argv, "/dev/null", &w, NULL) != OK)
        _exit(1);
    raise(SIGKILL);
    _exit(1);
}

/* The fifo is opened by nobody but the will, so reading it waits for that. */
static void it_outlives_its_maker(void **state)
{
    (void)state;
    char *folder = folder_create(), *fifo = xasprintf("%s/fifo", folder);
    char *script = xasprintf("echo carried out >'%s'", fifo);
    const char *argv[] = {"sh", "-c", script, NULL};
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid_t maker = fork();
    if (maker == 0)
        live_and_die(argv);
    int ended = 0;
    assert_int_equal(waitpid(maker, &ended, 0), maker);
    assert_true(WIFSIGNALED(ended));
    FILE *f = fopen(fifo, "r");
    char line[32] = "";
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "carried out\n");
    fclose(f);
    free(script);
    free(fifo);
    folder_destroy(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_executed),
        cmocka_unit_test(a_command_that_is_missing_is_told),
        cmocka_unit_test(it_outlives_its_maker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
