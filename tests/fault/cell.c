#include "fault/cell.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "fault/process_cluster.h"
#include "fault/scene.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 45, LOG_LINES = 25, CELLS = 4 * WIRE_TYPE_END };

/* --- the cells --- */

enum { M = 1 << ROLE_MASTER, W = 1 << ROLE_WORKER, P = 1 << ROLE_PS };

static const struct {
    wire_type type;
    const char *phase;
    int from, to;
} grammar[] = {
#define MESSAGE(n, number, f, t, p, payload) {.type = number, .phase = #p, .from = f, .to = t},
#include "proto/messages.def"
#undef MESSAGE
};

const cell *cell_all(size_t *ret_n)
{
    static cell cells[CELLS];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(grammar); i++)
        for (int r = 0; r < 2 * ROLE_COUNT; r++) {
            bool is_sent = r < ROLE_COUNT;
            int roles = is_sent ? grammar[i].from : grammar[i].to;
            if (roles & 1 << r % ROLE_COUNT)
                cells[n++] = (cell){.message = grammar[i].type,
                                    .who = (role)(r % ROLE_COUNT),
                                    .is_sent = is_sent,
                                    .phase = grammar[i].phase};
        }
    *ret_n = n;
    return cells;
}

int cell_points(const cell *c, uint64_t seed, int ret[2])
{
    int n_sure = scene_of(c->message, c->who, c->is_sent).n_sure;
    rng r = rng_make(seed, RNG_TEST, (uint64_t)c->message);
    ret[0] = 1;
    if (n_sure == 1)
        return 1;
    ret[1] = 2 + (int)rng_below(&r, (uint64_t)c->who * 2 + c->is_sent, (uint64_t)n_sure - 1);
    return 2;
}

void cell_print(const cell *c, FILE *to)
{
    fprintf(to, "%s %s %s", wire_type_name(c->message), role_name(c->who),
            c->is_sent ? "sent" : "received");
}

/* --- the job nobody disturbs --- */

/* Of each configuration once; they are few. */
static const process_cluster_result *undisturbed(const char *dir, const char *overrides)
{
    enum { CONFIGURATIONS = 16 };
    static struct {
        const char *overrides;
        process_cluster_result result;
    } known[CONFIGURATIONS];
    size_t n = 0;
    for (; known[n].overrides; n++)
        if (strcmp(known[n].overrides, overrides) == 0)
            return &known[n].result;
    if (n == CONFIGURATIONS) {
        printf("FAILED: more than %d configurations\n", CONFIGURATIONS);
        exit(1);
    }
    known[n].result = process_cluster_undisturbed(dir, overrides, LIMIT_S);
    known[n].overrides = overrides;
    return &known[n].result;
}

/* --- playing --- */

typedef struct play {
    const cell *cell;
    scene_cell setting;
    const char *dir;
    char *kill, *spec;
    process_cluster process_cluster;
} play;

static bool wrong(play *p, const char *what, long long a, long long b)
{
    printf("WRONG ");
    cell_print(p->cell, stdout);
    printf(" (scene %s, --fault %s): %s", p->setting.scene->name, p->spec, what);
    if (a || b)
        printf(": %lld, not %lld", a, b);
    printf("\n");
    if (p->setting.scene->is_own) {
        process_cluster_print_logs(&p->process_cluster, LOG_LINES);
    } else {
        process_cluster_print_log(p->dir, "said", 3 * LOG_LINES);
    }
    return false;
}

static bool check_result(play *p)
{
    const process_cluster_result *expected = undisturbed(p->dir, p->setting.scene->overrides);
    process_cluster_result got;
    if (!process_cluster_result_of(p->dir, "job", &got))
        return wrong(p, "no summary", 0, 0);
    if (!p->setting.scene->any_weights && strcmp(got.sha256, expected->sha256) != 0)
        return wrong(p, "other weights than the undisturbed job's", 0, 0);
    if (got.batches != expected->batches)
        return wrong(p, "batches applied", got.batches, expected->batches);
    return true;
}

/* By the launcher, which starts again who dies. */
static bool play_launched(play *p)
{
    process_cluster none = {.o = {.dir = p->dir}, .n = 1};
    char *job = xasprintf("%s/job", p->dir), *log = xasprintf("%s/said.log", p->dir);
    const char *const arguments[] = {"-s",        job,     "--force",
                                     "--workers", "2",     "--ps",
                                     "2",         "-o",    p->setting.scene->overrides,
                                     "--fault",   p->spec, NULL};
    remove(log);
    int code = process_cluster_train(p->dir, "said", arguments, LIMIT_S);
    snprintf(none.tasks[0].name, sizeof none.tasks[0].name, "said");
    char *fires = xasprintf("FAULT %s fires", p->kill);
    char *dies = xasprintf("%s: killed by signal 9", p->setting.victim);
    int n_fires = process_cluster_says(&none, NULL, fires), n_dies = process_cluster_says(&none, NULL, dies);
    free(fires);
    free(dies);
    free(job);
    free(log);
    bool is_told = p->cell->message != WIRE_STOP; /* of a job that is done nobody hears who died */
    if (n_fires != 1 || (is_told && n_dies < p->setting.life))
        return wrong(p, "the kill fired", n_fires, 1);
    return code == 0 ? check_result(p) : wrong(p, "the launcher's code", code, 0);
}

static bool is_left(play *p)
{
    return p->setting.scene->may_leave && process_cluster_code(&p->process_cluster.tasks[0]) == 143;
}

static bool check_codes(play *p)
{
    for (int i = 0; i < p->process_cluster.n; i++)
        if (process_cluster_code(&p->process_cluster.tasks[i]) != 0 &&
            !process_cluster_was_killed(&p->process_cluster.tasks[i], p->process_cluster.tasks[i].n_lives))
            return wrong(p, p->process_cluster.tasks[i].name, process_cluster_code(&p->process_cluster.tasks[i]), 0);
    return true;
}

/* Sends SIGTERM to whom the scene says, when training has begun. */
static void terminate(play *p, bool *done)
{
    const char *who = p->setting.scene->terminate;
    if (!who || *done || !process_cluster_says(&p->process_cluster, "master.0", " FIRST_STEP "))
        return;
    process_cluster_signal(&p->process_cluster, who, SIGTERM);
    *done = true;
}

static bool has_fired(play *p)
{
    const char *victim = p->setting.victim;
    char *fires = xasprintf("FAULT %s fires", p->kill);
    int n_fires = process_cluster_says(&p->process_cluster, victim, fires);
    free(fires);
    const process_cluster_task *one =
        process_cluster_task_of(&p->process_cluster, victim);
    return n_fires == 1 && process_cluster_was_killed(one, p->setting.life);
}

static bool play_own(play *p)
{
    process_cluster *h = &p->process_cluster;
    const scene *s = p->setting.scene;
    process_cluster_options options = {.dir = p->dir,
                              .spec = p->spec,
                              .overrides = s->overrides,
                              .oddity = &s->oddity,
                              .servers = s->servers};
    process_cluster_start(h, &options);
    int64_t until = clock_us() + (int64_t)LIMIT_S * 1000000;
    for (bool done = !s->terminate; !done && clock_us() < until && process_cluster_turn(h);)
        terminate(p, &done);
    if (!process_cluster_end(h, LIMIT_S))
        return wrong(p, "some did not end by themselves", 0, 0);
    if (!has_fired(p))
        return wrong(p, "the kill did not fire", 0, 0);
    if (is_left(p)) {
        process_cluster_fini(h);
        options = (process_cluster_options){.dir = p->dir, .overrides = s->overrides, .goes_on = true};
        process_cluster_start(h, &options);
        if (!process_cluster_end(h, LIMIT_S))
            return wrong(p, "some did not end by themselves after going on", 0, 0);
    }
    return check_codes(p) && check_result(p);
}

bool cell_play(const cell *c, int number, const char *dir)
{
    char name[32];
    snprintf(name, sizeof name, "%s", wire_type_name(c->message));
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    play p = {.cell = c, .setting = scene_of(c->message, c->who, c->is_sent), .dir = dir};
    char life[16] = "";
    if (p.setting.life > 1)
        snprintf(life, sizeof life, "#%d", p.setting.life);
    p.kill = xasprintf("kill=%s%s@%s%c:%d", p.setting.victim, life, name, c->is_sent ? '>' : '<',
                       number);
    p.spec = xasprintf("%s%s", p.kill, p.setting.scene->faults);
    bool is_right = p.setting.scene->is_own ? play_own(&p) : play_launched(&p);
    process_cluster_fini(&p.process_cluster);
    free(p.kill);
    free(p.spec);
    return is_right;
}
