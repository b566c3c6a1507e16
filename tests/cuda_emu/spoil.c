#include "cuda_emu/spoil.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/place.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TESTS = 64, SECONDS = 100 };

/* What the processes that run tests tell. */
typedef struct watch_of_tests {
    int current;             /* test */
    double begun[TESTS + 1]; /* seconds; of all of them, and of the end */
} watch_of_tests;

static watch_of_tests *times;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void spoil_test_begins(void)
{
    if (!times)
        return;
    times->begun[++times->current] = now();
    emu_places_begin(times->current);
}

/* How many of them fail, in a process of its own; one that dies counts as such. */
static int run_apart(const struct CMUnitTest *tests, size_t n, bool is_spoilt)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        emu_own();
        if (is_spoilt) {
            int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, STDOUT_FILENO);
            dup2(nowhere, STDERR_FILENO);
            alarm(SECONDS);
            times = NULL;
        }
        int failed = _cmocka_run_group_tests("watched", tests, n, NULL, NULL);
        fflush(NULL);
        _exit(failed);
    }
    int how = 1;
    if (pid < 0 || waitpid(pid, &how, 0) != pid)
        return 1;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

/* The cheapest of `among`; -1: there is none. */
static int cheapest(uint64_t among)
{
    int best = -1;
    for (int i = 0; i < TESTS; i++) {
        if (!(among >> i & 1))
            continue;
        double took = times->begun[i + 1] - times->begun[i];
        if (best < 0 || took < times->begun[best + 1] - times->begun[best])
            best = i;
    }
    return best;
}

/* Whether one of the tests that pass the place fails when it is spoilt. */
static bool is_noticed(const struct CMUnitTest *tests, int place, uint64_t passed_by)
{
    bool fails = false;
    emu_places_spoil(place);
    for (int i = cheapest(passed_by); i >= 0 && !fails; i = cheapest(passed_by)) {
        passed_by &= ~((uint64_t)1 << i);
        fails = run_apart(&tests[i], 1, true) != 0;
    }
    emu_places_spoil(0);
    return fails;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool spoil_names(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; at && (at = strstr(at, name)); at += n)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return !names || !*names;
}

static void spoil_each(const struct CMUnitTest *tests, const char *files, FILE *ledger)
{
    int last = emu_places_last(), n_spoilt = 0, n_missed = 0;
    double begun = now();
    for (int i = 1; i <= last; i++) {
        uint64_t passed_by;
        emu_place p = emu_place_get(i, &passed_by);
        if (!spoil_names(files, file_name(p.file)))
            continue;
        bool noticed = is_noticed(tests, i, passed_by);
        fprintf(ledger, "%s\t%d\t%s\t%s\t%s\n", file_name(p.file), p.line, p.function, p.what,
                noticed ? "noticed" : "missed");
        if (!noticed)
            printf("missed: %s:%d: %s in %s\n", file_name(p.file), p.line, p.what, p.function);
        n_spoilt++;
        n_missed += !noticed;
    }
    printf("%d places spoilt, %d missed, in %.1f s\n", n_spoilt, n_missed, now() - begun);
}

int spoil_places(const struct CMUnitTest *tests, size_t n, const char *files, const char *path)
{
    FILE *ledger = fopen(path, "we");
    times = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!ledger || times == MAP_FAILED || n > TESTS) {
        fprintf(stderr, "cannot spoil: %zu tests, at most %d; or: ", n, TESTS);
        perror(path);
        return 1;
    }
    emu_places_share();
    times->current = -1;
    int failed = run_apart(tests, n, false);
    times->begun[n] = now();
    if (!failed)
        spoil_each(tests, files, ledger);
    if (fclose(ledger))
        failed++;
    return failed;
}
