/*
 * Kills by chance, many: jobs one after the other, in each of which tasks are killed at messages
 * and times drawn from a seed, in their first and in later lives. Each must come to the end of the
 * undisturbed job. Jobs are in sync mode, with standbys, in mode ssp and in mode async by turns;
 * in some messages get lost, too.
 *
 *   soak KILLS [SEED]       until so many have fired
 */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "fault/cell.h"
#include "fault/process_cluster.h"
#include "fault/scene.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_S = 100,
    CLAUSES = 8,
    WITHIN_MS = 1000,
    NUMBERS = 12,
    LOSING_ONE_OF = 4,
    LOG_LINES = 120
};

static const char *const victims[] = {"master.0", "worker.0", "worker.1", "ps.0", "ps.1"};

/* In turn. What `any_weights` is promises only that every batch counts once. */
static struct {
    const char *name, *overrides;
    bool any_weights;
    process_cluster_result expected;
} kinds[] = {
    {"sync", "{\"trainer.num_epochs\": 6}", false, {.batches = 0}},
    {"standbys",
     "{\"trainer.num_epochs\": 6, \"distributed.ps_replicas\": 1}",
     false,
     {.batches = 0}},
    {"ssp",
     "{\"trainer.num_epochs\": 6, \"trainer.grad_norm\": null, \"trainer.loss_scale\": null, "
     "\"distributed.mode\": \"ssp\", \"distributed.staleness\": 1}",
     true,
     {.batches = 0}},
    {"async",
     "{\"trainer.num_epochs\": 6, \"trainer.grad_norm\": null, \"trainer.loss_scale\": null, "
     "\"distributed.mode\": \"async\"}",
     true,
     {.batches = 0}},
};

typedef struct tally {
    long jobs, wrong, kills, of_role[ROLE_COUNT], by_time;
    long of_message[WIRE_TYPE_END];
} tally;

typedef struct draws {
    rng rng;
    uint64_t n;
} draws;

static int draw(draws *d, int bound)
{
    return (int)rng_below(&d->rng, d->n++, (uint64_t)bound);
}

static role role_of_victim(const char *name)
{
    return *name == 'm' ? ROLE_MASTER : *name == 'w' ? ROLE_WORKER : ROLE_PS;
}

/* A message that role says or hears in a job of no special kind. */
static const cell *draw_cell(draws *d, role who)
{
    size_t n;
    const cell *cells = cell_all(&n), *c;
    do
        c = &cells[draw(d, (int)n)];
    while (c->who != who || !scene_is_common(scene_of(c->message, c->who, c->is_sent).scene));
    return c;
}

/* `lives` counts those of each victim that are to end already: the clause is for the next one. */
static void draw_clause(draws *d, int *lives, buf *spec)
{
    int which = draw(d, (int)COUNT_OF(victims));
    buf_addf(spec, "%skill=%s#%d@", spec->size ? "," : "", victims[which], ++lives[which]);
    if (draw(d, 4) == 0) {
        buf_addf(spec, "%dms", draw(d, WITHIN_MS));
        return;
    }
    const cell *c = draw_cell(d, role_of_victim(victims[which]));
    for (const char *at = wire_type_name(c->message); *at; at++)
        buf_addf(spec, "%c", tolower((unsigned char)*at));
    buf_addf(spec, "%c:%d", c->is_sent ? '>' : '<', 1 + draw(d, draw(d, 2) ? 2 : NUMBERS));
}

/* Counts the clauses that fired. */
static void count_kills(const char *dir, const char *spec, tally *t)
{
    process_cluster said = {.o = {.dir = dir}, .n = 1};
    snprintf(said.tasks[0].name, sizeof said.tasks[0].name, "said");
    char *copy = xstrdup(spec), *rest = copy, *clause;
    while ((clause = strsep(&rest, ","))) {
        if (strncmp(clause, "kill=", strlen("kill=")) != 0)
            continue;
        char *fires = xasprintf("FAULT %s fires", clause);
        long n = process_cluster_says(&said, NULL, fires);
        free(fires);
        t->kills += n;
        t->of_role[role_of_victim(clause + strlen("kill="))] += n;
        char *what = strchr(clause, '@') + 1;
        bool is_time = isdigit((unsigned char)*what);
        t->by_time += is_time ? n : 0;
        what[strcspn(what, "<>")] = 0;
        for (int m = 1; !is_time && m < WIRE_TYPE_END; m++)
            if (strcasecmp(what, wire_type_name((wire_type)m)) == 0)
                t->of_message[m] += n;
    }
    free(copy);
}

static bool is_right(const char *dir, int code, size_t kind, process_cluster_result *ret)
{
    const process_cluster_result *expected = &kinds[kind].expected;
    *ret = (process_cluster_result){.batches = -1};
    return code == 0 && process_cluster_result_of(dir, "job", ret) && ret->batches == expected->batches &&
           (kinds[kind].any_weights || strcmp(ret->sha256, expected->sha256) == 0);
}

static void show_wrong(const char *log, int code, size_t kind, const process_cluster_result *got)
{
    printf("WRONG: code %d, batches %lld of %lld\n", code, (long long)got->batches,
           (long long)kinds[kind].expected.batches);
    char *command = xasprintf("tail -n %d '%s'", LOG_LINES, log);
    fflush(NULL);
    if (system(command) != 0)
        printf("(no log)\n");
    free(command);
}

static void play(const char *dir, uint64_t seed, tally *t)
{
    draws d = {.rng = rng_make(seed, RNG_TEST, (uint64_t)t->jobs)};
    size_t kind = (size_t)t->jobs % COUNT_OF(kinds);
    buf spec = BUF_INIT;
    int lives[COUNT_OF(victims)] = {0};
    for (int i = 0, n = 3 + draw(&d, CLAUSES - 2); i < n; i++)
        draw_clause(&d, lives, &spec);
    bool loses = draw(&d, LOSING_ONE_OF) == 0;
    for (size_t i = 0; loses && i < COUNT_OF(victims); i++)
        buf_addf(&spec, ",drop=%s:1%%", victims[i]);
    char *job = xasprintf("%s/job", dir), *log = xasprintf("%s/said.log", dir);
    const char *const arguments[] = {"-s",
                                     job,
                                     "--force",
                                     "--workers",
                                     "2",
                                     "--ps",
                                     "2",
                                     "--max-restarts",
                                     "50",
                                     "-o",
                                     kinds[kind].overrides,
                                     "--fault",
                                     spec.data,
                                     NULL};
    remove(log);
    int64_t begin = clock_us();
    long before = t->kills;
    int code = process_cluster_train(dir, "said", arguments, LIMIT_S);
    double seconds = (double)(clock_us() - begin) / 1e6;
    process_cluster_result got;
    bool right = is_right(dir, code, kind, &got);
    count_kills(dir, spec.data, t);
    printf("job %ld, %s: %ld kills, %.1f s, %s  --fault %s\n", t->jobs, kinds[kind].name,
           t->kills - before, seconds, right ? "right" : "WRONG", spec.data);
    if (!right)
        show_wrong(log, code, kind, &got);
    fflush(stdout);
    t->wrong += !right;
    t->jobs++;
    free(job);
    free(log);
    buf_fini(&spec);
}

static void print_tally(const tally *t, uint64_t seed, double seconds)
{
    printf("\n%ld kills in %ld jobs, %.0f s, seed %llu: %ld wrong\n", t->kills, t->jobs, seconds,
           (unsigned long long)seed, t->wrong);
    for (int r = 0; r < ROLE_EVALUATOR; r++)
        printf("  %-10s %ld\n", role_name((role)r), t->of_role[r]);
    printf("  at a time  %ld\n", t->by_time);
    for (int m = 1; m < WIRE_TYPE_END; m++)
        if (t->of_message[m])
            printf("  %-10s %ld\n", wire_type_name((wire_type)m), t->of_message[m]);
}

int main(int argc, char **argv)
{
    long wanted = argc > 1 ? atol(argv[1]) : 500;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char *dir = process_cluster_folder();
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        kinds[i].expected = process_cluster_undisturbed(dir, kinds[i].overrides, LIMIT_S);
    tally t = {.jobs = 0};
    int64_t begin = clock_us();
    while (t.kills < wanted)
        play(dir, seed, &t);
    print_tally(&t, seed, (double)(clock_us() - begin) / 1e6);
    if (fs_remove_tree(dir, NULL) != OK)
        printf("left behind: %s\n", dir);
    free(dir);
    return t.wrong > 0;
}
