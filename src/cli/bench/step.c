#include "cli/bench/step.h"

#include "backend/cpu/cpu.h"
#include "cli/bench/lane.h"
#include "cli/bench/spread.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

typedef struct bench {
    bench_lane *lane;
    bench_lane_facts facts;
    int64_t threads, steps, warmup;
} bench;

/* cpu_ms: of all threads, which a busy machine disturbs less than the clock */
typedef struct timing {
    double median_ms, best_ms, cpu_ms, examples_per_s, peak_mb;
} timing;

static double cpu_time_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The most memory the process, or the largest of its children, ever had. */
static double peak_mb(int who)
{
    struct rusage use;
    return getrusage(who, &use) == 0 ? (double)use.ru_maxrss / 1024.0 : 0.0;
}

static status bench_step_measure(bench *b, timing *ret, error *err)
{
    double *ms = xcalloc((size_t)b->steps, sizeof *ms),
           *cpu = xcalloc((size_t)b->steps, sizeof *cpu);
    status st = OK;
    for (int64_t i = -b->warmup; st == OK && i < b->steps; i++) {
        int64_t begin = clock_us();
        double begin_cpu = cpu_time_ms();
        st = bench_lane_step(b->lane, err);
        if (i >= 0) {
            ms[i] = (double)(clock_us() - begin) * 1e-3;
            cpu[i] = cpu_time_ms() - begin_cpu;
        }
    }
    ret->median_ms = spread_of(ms, (size_t)b->steps).median;
    ret->best_ms = ms[0];
    ret->cpu_ms = spread_of(cpu, (size_t)b->steps).median;
    ret->examples_per_s = (double)b->facts.batch / ret->median_ms * 1e3;
    ret->peak_mb = peak_mb(RUSAGE_SELF);
    free(ms);
    free(cpu);
    return st;
}

/* Fills `last` with the last line that the command printed. */
static status run_peer(const char *peer, char *last, int bytes, error *err)
{
    FILE *out = popen(peer, "re");
    if (!out)
        return FAIL(err, E_IO, "--peer: cannot run '%s': %m", peer);
    last[0] = '\0';
    while (fgets(last, bytes, out))
        ;
    int code = pclose(out);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return FAIL(err, E_FAIL, "--peer: '%s' ended with %s %d", peer,
                    WIFEXITED(code) ? "exit code" : "signal",
                    WIFEXITED(code) ? WEXITSTATUS(code) : WTERMSIG(code));
    return OK;
}

static status measure_peer(const char *peer, timing *ret, error *err)
{
    char line[4096];
    json_t *result = NULL;
    TRY(run_peer(peer, line, sizeof line, err));
    TRY(json_parse(line, strlen(line), "--peer: its last line", E_DATA, &result, err));
    ret->median_ms = json_number_value(json_object_get(result, "step_ms"));
    ret->best_ms = json_number_value(json_object_get(result, "best_ms"));
    ret->examples_per_s = json_number_value(json_object_get(result, "examples_per_s"));
    ret->cpu_ms = json_number_value(json_object_get(result, "cpu_ms"));
    ret->peak_mb = peak_mb(RUSAGE_CHILDREN);
    json_decref(result);
    if (ret->median_ms > 0 && ret->examples_per_s > 0)
        return OK;
    return FAIL(err, E_DATA, "--peer: its last line needs \"step_ms\" and \"examples_per_s\": %s",
                line);
}

/* --- the report --- */

/* Medians over the rounds; the best of all of them. */
static timing over_rounds(const timing *rounds, size_t n)
{
    timing t = rounds[0];
    double *ms = xcalloc(n, sizeof *ms), *rate = xcalloc(n, sizeof *rate);
    double *cpu = xcalloc(n, sizeof *cpu);
    for (size_t i = 0; i < n; i++) {
        ms[i] = rounds[i].median_ms;
        cpu[i] = rounds[i].cpu_ms;
        rate[i] = rounds[i].examples_per_s;
        t.best_ms = rounds[i].best_ms < t.best_ms ? rounds[i].best_ms : t.best_ms;
    }
    t.median_ms = spread_of(ms, n).median;
    t.examples_per_s = spread_of(rate, n).median;
    t.cpu_ms = spread_of(cpu, n).median;
    t.peak_mb = rounds[n - 1].peak_mb;
    free(cpu);
    free(ms);
    free(rate);
    return t;
}

static json_t *timing_json(const timing *t)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "step_ms", t->median_ms, "best_ms", t->best_ms,
                     "cpu_ms", t->cpu_ms, "examples_per_s", t->examples_per_s, "peak_mb",
                     t->peak_mb);
}

/* How near the products came to what one large product of float32 reaches here. */
static void add_speed(json_t *r, const bench *b, const timing *mine)
{
    double peak = cpu_peak_flops((int)b->threads), here = b->facts.flops / mine->median_ms * 1e3;
    json_object_set_new(r, "gflops", json_real(here * 1e-9));
    json_object_set_new(r, "peak_gflops", json_real(peak * 1e-9));
    json_object_set_new(r, "of_peak", json_real(peak > 0 ? here / peak : 0));
}

static json_t *bench_step_report(const bench *b, const timing *ours, const timing *theirs, size_t n)
{
    const bench_lane_facts *f = &b->facts;
    timing mine = over_rounds(ours, n);
    json_t *r = json_pack("{s:s, s:I, s:I, s:s, s:s, s:I, s:I}", "model", f->model, "batch",
                          (json_int_t)f->batch, "threads", (json_int_t)b->threads, "precision",
                          f->precision, "optimizer", f->optimizer, "params", (json_int_t)f->params,
                          "rounds", (json_int_t)n);
    json_t *own = timing_json(&mine);
    json_object_update(r, own);
    json_decref(own);
    add_speed(r, b, &mine);
    if (!theirs)
        return r;
    timing peer = over_rounds(theirs, n);
    double *ratio = xcalloc(n, sizeof *ratio), *of_cpu = xcalloc(n, sizeof *of_cpu);
    for (size_t i = 0; i < n; i++) {
        ratio[i] = ours[i].examples_per_s / theirs[i].examples_per_s;
        of_cpu[i] = theirs[i].cpu_ms / ours[i].cpu_ms;
    }
    json_object_set_new(r, "peer", timing_json(&peer));
    json_object_set_new(r, "ratio", json_real(mine.examples_per_s / peer.examples_per_s));
    json_object_set_new(r, "ratio_by_round", json_real(spread_of(ratio, n).median));
    json_object_set_new(r, "ratio_of_best", json_real(peer.best_ms / mine.best_ms));
    if (peer.cpu_ms > 0) /* it tells that */
        json_object_set_new(r, "ratio_of_cpu", json_real(spread_of(of_cpu, n).median));
    free(of_cpu);
    free(ratio);
    return r;
}

static void bench_step_print_line(const json_t *r)
{
    const json_t *peer = json_object_get(r, "peer");
    printf("%s, %s, batch %lld, %lld threads: %.2f ms a step, %.1f examples/s, %.0f GFLOP/s of "
           "%.0f, %.0f MB",
           json_string_value(json_object_get(r, "model")),
           json_string_value(json_object_get(r, "precision")),
           (long long)json_integer_value(json_object_get(r, "batch")),
           (long long)json_integer_value(json_object_get(r, "threads")),
           json_real_value(json_object_get(r, "step_ms")),
           json_real_value(json_object_get(r, "examples_per_s")),
           json_real_value(json_object_get(r, "gflops")),
           json_real_value(json_object_get(r, "peak_gflops")),
           json_real_value(json_object_get(r, "peak_mb")));
    if (peer)
        printf("; peer %.2f ms; %.2f times its examples/s",
               json_real_value(json_object_get(peer, "step_ms")),
               json_real_value(json_object_get(r, "ratio")));
    printf("\n");
}

static status run_rounds(bench *b, const args *a, error *err)
{
    const char *peer = args_text(a, "peer");
    size_t n = (size_t)args_count(a, "rounds", peer ? 5 : 1);
    timing *ours = xcalloc(n, sizeof *ours), *theirs = xcalloc(n, sizeof *theirs);
    status st = OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        st = bench_step_measure(b, &ours[i], err);
        if (st == OK && peer)
            st = measure_peer(peer, &theirs[i], err);
    }
    if (st == OK) {
        json_t *r = bench_step_report(b, ours, peer ? theirs : NULL, n);
        if (!args_has(a, "json"))
            bench_step_print_line(r);
        else if (json_dumpf(r, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
            printf("\n");
        json_decref(r);
    }
    free(ours);
    free(theirs);
    return st;
}

status bench_step_run(const args *a, error *err)
{
    bench b = {.threads = args_count(a, "threads", 1),
               .steps = args_count(a, "steps", 10),
               .warmup = args_count(a, "warmup", 3)};
    TRY(bench_lane_create(
        &(bench_lane_options){
            .model = args_text(a, "model"),
            .optimizer = args_text(a, "optimizer"),
            .precision = args_text(a, "precision"),
            .batch = args_count(a, "batch", 0),
            .threads = b.threads,
        },
        &b.lane, err));
    b.facts = bench_lane_of(b.lane);
    status st = run_rounds(&b, a, err);
    bench_lane_destroy(&b.lane);
    return st;
}
