#include "fault/torture/run_job.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "fault/torture/disturb.h"
#include "fault/torture/reference.h"
#include "fault/torture/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_US = 1000000, TURN_US = 10000, LOOK_US = 50000, MEASURE_US = 1000000 };
enum { DISK_BYTES = 32 << 20, LEFT_MAX = 64 };

/* Seconds on an idle machine: of any job, and how many of a cluster for one of computing; how long
 * nothing moves in a job that hangs; how long tasks take to leave; for how long a master that finds the job done
 * waits for those that do not know (distributed.end_timeout). */
enum { BASE_S = 8, SLOWER = 6, STILL_S = 15, LEAVE_S = 5, END_S = 30 };

typedef struct round {
    const plan *plan;
    char *dir, *job, *temporary;
    reference reference;
    tasks tasks;
    disturber disturber;
    int64_t begin_us, moved_us, over_us; /* over: the first task has left with 0 */
    int64_t measured_us, looked_us;
    double load; /* mean over the time */
    int n_measured, steps;
} round;

/* --- time --- */

static double allowed_s(const round *g)
{
    const plan *p = g->plan;
    double fixed = p->is_launched ? 0 : END_S;
    for (int i = 0; i < p->n_disturbances; i++)
        fixed += p->disturbances[i].lasts_ms * 1e-3 + kind_seconds(p->disturbances[i].kind);
    double computing = SLOWER * g->reference.processor_s * (1 + p->n_disturbances / 2.0);
    return fixed + (BASE_S + computing) * g->load;
}

static double seconds_since(int64_t then_us)
{
    return (double)(clock_us() - then_us) / SECOND_US;
}

static void measure_load(round *g)
{
    if (clock_us() < g->measured_us + MEASURE_US)
        return;
    g->measured_us = clock_us();
    g->load += (sandbox_load() - g->load) / ++g->n_measured;
}

/* How far it is, and when it last moved: a step forth or back, or a task that started. */
static void look(round *g)
{
    if (clock_us() < g->looked_us + LOOK_US)
        return;
    g->looked_us = clock_us();
    int steps = judge_steps(g->job);
    if (steps != g->steps)
        g->moved_us = clock_us();
    g->steps = steps;
}

/* --- the course --- */

static bool prepare(round *g, const setting *at)
{
    char *disk = xasprintf("%s/disk", g->dir), *log = xasprintf("%s/log", g->dir);
    char *path = xasprintf("%s/config.jsonnet", g->dir),
         *root = xasprintf("%s/reference", at->root);
    buf config = BUF_INIT;
    char *data = xasprintf("%s/data", at->root);
    plan_config(g->plan, data, &config);
    bool is_there = fs_mkdirs(disk, NULL) == OK && fs_mkdirs(log, NULL) == OK &&
                    fs_mkdirs(g->temporary, NULL) == OK &&
                    fs_write_atomic(path, config.data, config.size, NULL) == OK &&
                    (!plan_has(g->plan, DISK) || sandbox_mount(disk, DISK_BYTES)) &&
                    reference_get(at->program, root, config.data, &g->reference);
    buf_fini(&config);
    free(data);
    free(disk);
    free(log);
    free(path);
    free(root);
    return is_there;
}

static fault_found check_time(round *g, verdict *v)
{
    const task *first = tasks_first(&g->tasks);
    double late_s = (LEAVE_S + HEARTBEAT_S) * g->load + (g->plan->apart ? LOST_S : 0) + HANG_S;
    if (first->is_over && !g->over_us)
        g->over_us = clock_us();
    if (g->over_us && disturber_is_idle(&g->disturber) &&
        seconds_since(g->over_us) > late_s + HANG_S) {
        for (int i = 0; i < g->tasks.n; i++)
            if (!g->tasks.all[i].is_over)
                snprintf(v->why, sizeof v->why, "%s is still there %.0f s after the end",
                         g->tasks.all[i].name, seconds_since(g->over_us));
        return LATE;
    }
    v->bound_s = allowed_s(g);
    if (seconds_since(g->begin_us) < v->bound_s)
        return RIGHT;
    double still_s = seconds_since(g->moved_us);
    bool moves = still_s < STILL_S * g->load;
    snprintf(v->why, sizeof v->why, "step %d of %d after %.0f s, the last %.0f s ago", g->steps,
             g->plan->steps, seconds_since(g->begin_us), still_s);
    return moves ? LATE : HANGS;
}

/* Until all have left, or should have. */
static fault_found run(round *g, verdict *v)
{
    g->begin_us = g->moved_us = clock_us();
    if (!tasks_start(&g->tasks)) {
        v->is_broken = true;
        return RIGHT;
    }
    fault_found found = RIGHT;
    while (found == RIGHT && tasks_turn(&g->tasks)) {
        look(g);
        disturber_turn(&g->disturber, g->steps);
        measure_load(g);
        found = check_time(g, v);
        nanosleep(&(struct timespec){.tv_nsec = TURN_US * 1000}, NULL);
    }
    return found;
}

static fault_found check_codes(const round *g, verdict *v)
{
    const char *text = *g->tasks.failure ? g->tasks.failure : g->tasks.surprise;
    snprintf(v->why, sizeof v->why, "%s", text);
    return *text ? EXIT_CODE : RIGHT;
}

/* Orphans have as long as tasks have to leave. */
static fault_found check_left(round *g, verdict *v)
{
    pid_t left[LEFT_MAX];
    int n = 0;
    int64_t since = clock_us();
    do {
        n = sandbox_processes(left, LEFT_MAX);
        while (n && waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        nanosleep(&(struct timespec){.tv_nsec = TURN_US * 1000}, NULL);
    } while (n && seconds_since(since) < LEAVE_S * g->load);
    if (n)
        snprintf(v->why, sizeof v->why, "%d processes are left, one of them %d", n, (int)left[0]);
    return n ? PROCESSES : RIGHT;
}

static fault_found judge(round *g, verdict *v)
{
    buf why = BUF_INIT;
    fault_found found =
        judge_results(g->plan, g->job, g->plan->mode == SYNC ? g->reference.job : NULL, &why);
    if (found == RIGHT)
        found = judge_litter(g->job, g->plan->apart ? NULL : g->temporary, &why);
    snprintf(v->why, sizeof v->why, "%s", why.data ? why.data : "");
    buf_fini(&why);
    return found;
}

verdict play(const setting *at, const plan *p, const char *dir)
{
    verdict v = {.found = RIGHT};
    round g = {.plan = p, .dir = xstrdup(dir), .job = xasprintf("%s/disk/job", dir)};
    g.temporary = xasprintf("%s/tmp", dir);
    sandbox_enter();
    measure_load(&g);
    g.tasks = (tasks){.plan = p,
                      .program = at->program,
                      .clock_library = at->clock_library,
                      .free_ports = at->free_ports,
                      .dir = dir};
    g.disturber = (disturber){.tasks = &g.tasks};
    v.is_broken = !prepare(&g, at);
    if (!v.is_broken)
        v.found = run(&g, &v);
    v.seconds = seconds_since(g.begin_us);
    v.load = g.load;
    memcpy(v.fired, g.disturber.fired, sizeof v.fired);
    v.n_starts = g.tasks.n_starts;
    tasks_fini(&g.tasks);
    if (!v.is_broken && v.found == RIGHT)
        v.found = check_codes(&g, &v);
    if (!v.is_broken && v.found == RIGHT)
        v.found = check_left(&g, &v);
    sandbox_kill_all();
    if (!v.is_broken && v.found == RIGHT)
        v.found = judge(&g, &v);
    reference_fini(&g.reference);
    free(g.dir);
    free(g.job);
    free(g.temporary);
    return v;
}
