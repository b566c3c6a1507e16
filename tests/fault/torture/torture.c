/*
 * Tortures jobs as the world does: each is drawn from a seed, started as an operator starts it, and
 * killed, frozen, cut off, starved of disk while it runs; it is judged by what an operator sees.
 *
 *   fault_torture [--seed N] [--jobs N] [--seconds N] [-j N] [--only KIND] [--without KIND]...
 *                 [--keep] [--verbose]
 *
 * Job i has seed N + i, so that one is repeated by --seed of its own, --jobs 1. It stops after so
 * many jobs, or starts no more after so many seconds. --keep leaves folders of jobs that fail.
 * --without leaves disturbances of a kind out, the rest of the job stays. SIGINT or SIGTERM lets
 * those end that have begun.
 */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "fault/torture/reference.h"
#include "fault/torture/run_job.h"
#include "fault/torture/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE_MAX = 64, DRAWS_MAX = 1 << 20 };

typedef struct options {
    uint64_t seed;
    long jobs;
    double seconds;
    kind only;
    uint32_t without; /* bits 1 << kind */
    int at_once;
    bool keeps, tells;
} options;

typedef struct slot {
    pid_t pid;
    int from; /* its verdict */
    plan plan;
} slot;

typedef struct torture {
    options o;
    setting at;
    slot slots[AT_ONCE_MAX];
    long n_jobs, n_fired, n_broken, of_kind[KINDS], wrong_of_kind[KINDS], fired[KINDS];
    long found[FAULTS_FOUND], n_starts;
    double seconds, load;
} torture;

/* --- one job --- */

static char *folder_of(const torture *t, uint64_t seed)
{
    return xasprintf("%s/%llu", t->at.root, (unsigned long long)seed);
}

static void begin(torture *t, slot *s, uint64_t seed)
{
    int ends[2];
    s->plan = plan_draw(seed, t->o.only, t->o.without);
    if (pipe(ends) != 0)
        exit(1);
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        close(ends[0]);
        setsid(); /* what a terminal says to all is not for its tasks */
        char *dir = folder_of(t, seed);
        verdict v = play(&t->at, &s->plan, dir);
        _exit(write(ends[1], &v, sizeof v) != sizeof v);
    }
    close(ends[1]);
    s->from = ends[0];
}

static void tell_again(const torture *t, const plan *p)
{
    printf("    again: fault_torture --seed %llu --jobs 1 --keep", (unsigned long long)p->seed);
    if (t->o.only != KINDS)
        printf(" --only %s", kind_word(t->o.only));
    for (int k = 0; k < KINDS; k++)
        if (t->o.without >> k & 1)
            printf(" --without %s", kind_word((kind)k));
    printf("\n");
}

static void tell(const torture *t, const plan *p, const verdict *v)
{
    buf text = BUF_INIT;
    plan_describe(p, &text);
    printf("%s seed %llu, %.1f s (bound %.0f, load %.1f): %s\n    %s\n",
           v->is_broken ? "NOT PLAYED" : fault_words[v->found], (unsigned long long)p->seed,
           v->seconds, v->bound_s, v->load, v->why, text.data);
    if (v->found != RIGHT)
        tell_again(t, p);
    fflush(stdout);
    buf_fini(&text);
}

static void count(torture *t, const plan *p, const verdict *v)
{
    t->n_jobs++;
    t->n_broken += v->is_broken;
    t->found[v->found]++;
    t->n_starts += v->n_starts;
    t->seconds += v->seconds;
    t->load += v->load;
    for (int k = 0; k < KINDS; k++) {
        t->fired[k] += v->fired[k];
        t->n_fired += v->fired[k];
        t->of_kind[k] += plan_has(p, (kind)k);
        t->wrong_of_kind[k] += plan_has(p, (kind)k) && v->found != RIGHT;
    }
}

static void finish(torture *t, slot *s)
{
    verdict v;
    if (read(s->from, &v, sizeof v) != sizeof v)
        v = (verdict){.is_broken = true, .why = "the process that played it died"};
    close(s->from);
    s->pid = 0;
    count(t, &s->plan, &v);
    bool is_right = v.found == RIGHT && !v.is_broken;
    if (!is_right || t->o.tells)
        tell(t, &s->plan, &v);
    char *dir = folder_of(t, s->plan.seed);
    if ((is_right || !t->o.keeps) && fs_remove_tree(dir, NULL) != OK)
        printf("left behind: %s\n", dir);
    free(dir);
}

/* --- all --- */

static volatile sig_atomic_t is_told_to_end; /* no more are begun */

static void take_signal(int signal)
{
    (void)signal;
    is_told_to_end = true;
}

static bool goes_on(const torture *t, long n_begun, int64_t end_us)
{
    return !is_told_to_end && (!t->o.jobs || n_begun < t->o.jobs) &&
           (t->o.seconds <= 0 || clock_us() < end_us);
}

static void run(torture *t)
{
    int64_t end_us = clock_us() + (int64_t)(t->o.seconds * 1e6);
    long n_begun = 0, n_running = 0;
    for (;;) {
        for (int i = 0; i < t->o.at_once && goes_on(t, n_begun, end_us); i++) {
            if (t->slots[i].pid)
                continue;
            begin(t, &t->slots[i], t->o.seed + (uint64_t)n_begun++);
            n_running++;
        }
        if (!n_running)
            return;
        pid_t pid = wait(NULL);
        for (int i = 0; i < t->o.at_once; i++)
            if (t->slots[i].pid == pid) {
                finish(t, &t->slots[i]);
                n_running--;
            }
    }
}

static void print_table(const torture *t, double seconds)
{
    printf("\n%-9s %6s %6s %6s\n", "", "fired", "jobs", "wrong");
    for (int k = 0; k < KINDS; k++)
        printf("%-9s %6ld %6ld %6ld  %s\n", kind_word((kind)k), t->fired[k], t->of_kind[k],
               t->wrong_of_kind[k], kind_what((kind)k));
    printf("\n%ld jobs of %ld starts, to which %ld things were done, in %.0f s, from seed %llu; "
           "%.2f job hours, mean load %.1f\n",
           t->n_jobs, t->n_starts, t->n_fired, seconds, (unsigned long long)t->o.seed,
           t->seconds / 3600, t->n_jobs ? t->load / (double)t->n_jobs : 0.0);
    for (int f = 0; f < FAULTS_FOUND; f++)
        printf("%s%s %ld", f ? ", " : "", fault_words[f], t->found[f] - (f ? 0 : t->n_broken));
    printf(", not played %ld\n", t->n_broken);
}

static long number(int *i, int argc, char **argv)
{
    if (*i + 1 == argc) {
        fprintf(stderr, "torture: %s wants a number\n", argv[*i]);
        exit(2);
    }
    return atol(argv[++*i]);
}

static options parse(int argc, char **argv)
{
    options o = {.seed = 1, .only = KINDS, .at_once = 4};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--seed") == 0)
            o.seed = (uint64_t)number(&i, argc, argv);
        else if (strcmp(word, "--jobs") == 0)
            o.jobs = number(&i, argc, argv);
        else if (strcmp(word, "--seconds") == 0)
            o.seconds = (double)number(&i, argc, argv);
        else if (strcmp(word, "-j") == 0)
            o.at_once = (int)number(&i, argc, argv);
        else if (strcmp(word, "--keep") == 0)
            o.keeps = true;
        else if (strcmp(word, "--verbose") == 0)
            o.tells = true;
        else if (strcmp(word, "--only") == 0 && i + 1 < argc &&
                 (o.only = kind_of(argv[i + 1])) != KINDS)
            i++;
        else if (strcmp(word, "--without") == 0 && i + 1 < argc && kind_of(argv[i + 1]) != KINDS)
            o.without |= 1u << kind_of(argv[++i]);
        else {
            fprintf(stderr, "torture: '%s' is no option; see the head of torture.c\n", word);
            exit(2);
        }
    }
    if (o.at_once < 1 || o.at_once > AT_ONCE_MAX || (!o.jobs && o.seconds <= 0)) {
        fprintf(stderr, "torture: wants --jobs or --seconds, and -j from 1 to %d\n", AT_ONCE_MAX);
        exit(2);
    }
    return o;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "torture: %s is not set; ctest does it\n", name);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    torture t = {.o = parse(argc, argv)};
    char *root = NULL;
    t.at = (setting){.program = variable("TEQUIO"),
                     .clock_library = variable("CLOCK_JUMP_LIBRARY"),
                     .free_ports = variable("FREE_PORTS")};
    if (!sandbox_can_mount()) {
        printf("no small disk can be mounted here: none is filled\n");
        t.o.without |= 1u << DISK;
    }
    if (fs_make_temporary("torture", &root, NULL) != OK)
        return 1;
    t.at.root = root;
    char *data = xasprintf("%s/data", root), *references = xasprintf("%s/reference", root);
    int64_t begin_us = clock_us();
    if (fs_mkdirs(references, NULL) != OK ||
        !reference_make_data(t.at.program, variable("MAKE_IDX"), data))
        return 1;
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = take_signal}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = take_signal}, NULL);
    run(&t);
    print_table(&t, (double)(clock_us() - begin_us) / 1e6);
    bool is_right = t.found[RIGHT] == t.n_jobs && !t.n_broken;
    if (!is_right && t.o.keeps)
        printf("what failed is in %s\n", root);
    else if (fs_remove_tree(root, NULL) != OK)
        printf("left behind: %s\n", root);
    free(data);
    free(references);
    free(root);
    return !is_right;
}
