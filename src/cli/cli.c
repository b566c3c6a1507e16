#include "cli/cli.h"

#include "cli/commands.h"
#include "cli/line/help.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/console.h"
#include "common/base/log.h"
#include "common/base/paint.h"
#include "common/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static status unknown_command(const char *word, error *err)
{
    const char **names = xcalloc(commands.n, sizeof *names);
    buf known = BUF_INIT;
    for (size_t i = 0; i < commands.n; i++) {
        names[i] = commands.at[i]->name;
        buf_addf(&known, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = config_did_you_mean(word, names, commands.n);
    status st =
        FAIL(err, E_USAGE, "unknown subcommand '%s'%s%s%s; there are: %s", word,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", known.data);
    buf_fini(&known);
    free(names);
    return st;
}

/* libgomp reads these before main. Threads that spin while they wait would take the cores from the
 * other tasks of this machine; threads that sleep at once are woken for every kernel, which costs a
 * small model a fifth of its speed. So a process without a policy starts once more with one: to
 * sleep after a tenth of a millisecond or so. */
static void wait_passively(char *const *argv)
{
    if (getenv("OMP_WAIT_POLICY"))
        return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "10000", 0);
    execv("/proc/self/exe", argv);
    LOG_D("EXEC", "cannot start again with OMP_WAIT_POLICY=passive: %m");
}

static int run_command(const command *c, int argc, char *const *argv, error *err)
{
    args a;
    status st = args_parse(c, argc, argv, &a, err);
    if (st != OK)
        return status_exit_code(st);
    a.program = &commands;
    if (a.help)
        return help_print_command(c);
    return c->run(&a, err);
}

static int dispatch(int argc, char *const *argv, error *err)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return status_exit_code(
            FAIL(err, E_USAGE, "a subcommand is missing; 'tequio --help' lists them"));
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    const command *c = command_find(&commands, word);
    if (!c)
        return status_exit_code(unknown_command(word, err));
    if (c->needs_passive_waits)
        wait_passively(argv);
    return run_command(c, argc - 2, argv + 2, err);
}

/* Or the first files that are opened would be taken for them, and results written into a job. */
static void open_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY}; /* so that their use fails, as it would */
    for (int fd = 0; fd < (int)COUNT_OF(modes); fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
            return;
}

static bool is_reader_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* A result that could not be written is a failure, even if all else went well; but a reader that has
 * read enough and is gone does not want to hear of that. */
static int flush_results(int code, error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (code != 0)
        return code;
    if (errno == EPIPE || is_reader_gone())
        return 128 + SIGPIPE;
    if (errno == 0 && write(STDOUT_FILENO, "", 0) == 0) /* it failed before */
        errno = 0;
    const char *why = errno == EBADF ? "it is closed" : errno ? strerror(errno) : "not all of it was taken";
    return status_exit_code(FAIL(err, E_IO, "write to standard output: %s", why));
}

static void print_failure(const char *why)
{
    buf text = BUF_INIT;
    paint_failure(STDERR_FILENO, &text);
    fprintf(stderr, "%s%s\n", text.data, why);
    buf_fini(&text);
}

int cli_main(int argc, char **argv)
{
    error err = ERROR_INIT;
    open_standard_streams();
    int code = flush_results(dispatch(argc, argv, &err), &err);
    console_end_bar();
    if (err.code != OK)
        print_failure(err.text);
    return code;
}
