#include "cli/bench/net.h"

#include "cli/bench/cluster.h"
#include "cli/bench/iperf.h"
#include "cli/bench/spread.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "common/net/net.h"
#include "common/store/jobdir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SECONDS = 1, SIZES = 16, CELLS = SIZES * BENCH_TRAFFICS };

/* What the rounds gave for one kind of traffic and one size. */
typedef struct cell {
    bench_traffic traffic;
    int64_t bytes;
    double *speed, *iperf, *ratio; /* [rounds]; the last two only with iperf3 */
    double *other, *other_ratio;   /* [rounds] the other way, if there is one; against `speed` */
    bench_speed newest;
} cell;

typedef struct plan {
    int workers, servers, rounds, seconds;
    bool has_iperf, encrypts;
    bool copies, shares;           /* the other way: with standbys, or through shared memory */
    const char *other;             /* its name; NULL: there is none */
    jobkey key;
    cell cells[CELLS];
    size_t n_cells;
} plan;

/* --- what is asked for --- */

/* The next word of a list with commas. */
static bool next_word(const char **list, char *ret, size_t bytes)
{
    if (!*list || !**list)
        return false;
    size_t n = strcspn(*list, ",");
    snprintf(ret, bytes, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

static status read_traffic(const char *list, bool ret_wanted[BENCH_TRAFFICS], error *err)
{
    char word[32];
    while (next_word(&list, word, sizeof word)) {
        int t = 0;
        while (t < BENCH_TRAFFICS && strcmp(word, bench_traffic_name((bench_traffic)t)) != 0)
            t++;
        if (t == BENCH_TRAFFICS)
            return FAIL(err, E_USAGE, "--what '%s': must be push, pull or pushpull", word);
        ret_wanted[t] = true;
    }
    return OK;
}

static status bench_net_read_sizes(const char *list, int64_t ret[SIZES], size_t *ret_n, error *err)
{
    char word[32];
    while (next_word(&list, word, sizeof word)) {
        char *unit;
        long n = strtol(word, &unit, 10);
        int64_t scale = strcmp(unit, "M") == 0 ? 1 << 20 : strcmp(unit, "K") == 0 ? 1 << 10 : 1;
        if (unit == word || n <= 0 || n > BENCH_BYTES_MAX || (scale == 1 && *unit))
            return FAIL(err, E_USAGE, "--bytes '%s': must be a number of bytes, as 64K or 4M",
                        word);
        if (*ret_n == SIZES)
            return FAIL(err, E_USAGE, "--bytes: more than %d sizes", SIZES);
        ret[(*ret_n)++] = n * scale;
    }
    return OK;
}

static status check_load(const plan *p, bench_traffic traffic, int64_t bytes, error *err)
{
    bench_request r = {.traffic = traffic,
                       .bytes = bytes,
                       .workers = 1,
                       .servers = p->servers,
                       .copies = p->copies};
    bench_load load;
    TRYF(bench_load_make(&r, &load, err), err, p->copies ? "--replicas" : "--bytes");
    bench_load_fini(&load);
    return OK;
}

static double *room_of(const plan *p)
{
    return xcalloc((size_t)p->rounds, sizeof(double));
}

static cell cell_of(const plan *p, bench_traffic traffic, int64_t bytes)
{
    return (cell){
        .traffic = traffic,
        .bytes = bytes,
        .speed = room_of(p),
        .iperf = room_of(p),
        .ratio = room_of(p),
        .other = room_of(p),
        .other_ratio = room_of(p),
    };
}

static status read_plan(const args *a, plan *ret, error *err)
{
    bool wanted[BENCH_TRAFFICS] = {false};
    int64_t sizes[SIZES];
    size_t n_sizes = 0;
    const char *what = args_text(a, "what"), *bytes = args_text(a, "bytes");
    bool copies = args_has(a, "replicas");
    if (copies && args_has(a, "shared"))
        return FAIL(err, E_USAGE, "--replicas, --shared: one of them at a time");
    TRY(read_traffic(what ? what : copies ? "pushpull" : "push,pull,pushpull", wanted, err));
    TRY(bench_net_read_sizes(bytes ? bytes : copies ? "1M,4M" : "64K,1M,4M", sizes, &n_sizes, err));
    plan p = {
        .workers = (int)args_count(a, "workers", 1),
        .servers = (int)args_count(a, "ps", copies ? 2 : 1),
        .copies = copies,
        .shares = args_has(a, "shared"),
        .other = copies ? "replicas" : args_has(a, "shared") ? "shared" : NULL,
        .rounds = (int)args_count(a, "rounds", ROUNDS),
        .seconds = (int)args_count(a, "seconds", SECONDS),
        .has_iperf = bench_iperf_is_here(),
        .encrypts = args_has(a, "curve"),
    };
    if (p.encrypts)
        TRY(jobkey_make(&p.key, err));
    for (size_t i = 0; i < n_sizes; i++)
        for (int t = 0; t < BENCH_TRAFFICS; t++) {
            if (!wanted[t])
                continue;
            TRY(check_load(&p, (bench_traffic)t, sizes[i], err));
            p.cells[p.n_cells++] = cell_of(&p, (bench_traffic)t, sizes[i]);
        }
    *ret = p;
    return OK;
}

static void plan_fini(plan *p)
{
    for (size_t i = 0; i < p->n_cells; i++) {
        free(p->cells[i].speed);
        free(p->cells[i].iperf);
        free(p->cells[i].ratio);
        free(p->cells[i].other);
        free(p->cells[i].other_ratio);
    }
}

/* --- rounds --- */

static status measure_cluster(const plan *p, const cell *c, bool other, const char *job_dir,
                              bench_speed *ret, error *err)
{
    bench_request r = {
        .traffic = c->traffic,
        .bytes = c->bytes,
        .workers = p->workers,
        .servers = p->servers,
        .copies = other && p->copies,
        .shares = other && p->shares,
        .seconds = p->seconds,
        .key = p->encrypts ? &p->key : NULL,
    };
    TRYF(bench_cluster_measure(&r, job_dir, ret, err), err, "%s of %" PRId64 " bytes",
         bench_traffic_name(c->traffic), c->bytes);
    return OK;
}

static status measure_cell(const plan *p, cell *c, int round, const char *job_dir, error *err)
{
    if (p->has_iperf)
        TRY(bench_iperf_measure(c->traffic == BENCH_PUSHPULL, p->seconds, &c->iperf[round], err));
    TRY(measure_cluster(p, c, false, job_dir, &c->newest, err));
    c->speed[round] = c->newest.gbit_per_s;
    if (p->has_iperf)
        c->ratio[round] = c->speed[round] / c->iperf[round];
    bench_speed other;
    if (p->other) {
        TRY(measure_cluster(p, c, true, job_dir, &other, err));
        c->other[round] = other.gbit_per_s;
        c->other_ratio[round] = c->other[round] / c->speed[round];
    }
    fprintf(stderr, "round %d of %d: %s of %" PRId64 " bytes: %.1f Gbit/s", round + 1, p->rounds,
            bench_traffic_name(c->traffic), c->bytes, c->speed[round]);
    if (p->has_iperf)
        fprintf(stderr, ", iperf3 %.1f", c->iperf[round]);
    if (p->other)
        fprintf(stderr, ", %s %.1f", p->other, c->other[round]);
    fprintf(stderr, "\n");
    return OK;
}

static status measure_all(plan *p, const char *job_dir, error *err)
{
    for (int round = 0; round < p->rounds; round++)
        for (size_t i = 0; i < p->n_cells; i++)
            TRY(measure_cell(p, &p->cells[i], round, job_dir, err));
    return OK;
}

/* A job dir for the servers, which check that it is their master's. */
static status make_job_dir(const char *path, error *err)
{
    bench_request any = {.bytes = BENCH_BYTES_MAX, .workers = 1, .servers = 1};
    bench_load load;
    TRY(bench_load_make(&any, &load, err));
    jobdir *dir = NULL;
    bool is_done;
    status st =
        jobdir_prepare(&(jobdir_request){.path = path, .config = load.config}, &dir, &is_done, err);
    jobdir_close(&dir);
    bench_load_fini(&load);
    return st;
}

static status measure_in_temporary_dir(plan *p, error *err)
{
    char *path = NULL;
    TRY(fs_make_temporary("bench", &path, err));
    status st = make_job_dir(path, err);
    if (st == OK)
        st = measure_all(p, path, err);
    status removed = fs_remove_tree(path, st == OK ? err : NULL);
    free(path);
    return st == OK ? removed : st;
}

/* --- the report --- */

static json_t *tell_spread(spread s)
{
    return json_pack("{s:f, s:f, s:f}", "median", s.median, "min", s.min, "max", s.max);
}

static void tell_other(json_t *o, const plan *p, const char *what, double *values)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%s", p->other, what);
    json_object_set_new(o, key, tell_spread(spread_of(values, p->rounds)));
}

static json_t *tell_cell(const plan *p, const cell *c)
{
    json_t *o =
        json_pack("{s:s, s:I, s:o}", "what", bench_traffic_name(c->traffic), "bytes",
                  (json_int_t)c->bytes, "gbit_per_s", tell_spread(spread_of(c->speed, p->rounds)));
    if (p->has_iperf) {
        json_object_set_new(o, "iperf3_gbit_per_s", tell_spread(spread_of(c->iperf, p->rounds)));
        json_object_set_new(o, "ratio", tell_spread(spread_of(c->ratio, p->rounds)));
    }
    if (p->other) {
        tell_other(o, p, "gbit_per_s", c->other);
        tell_other(o, p, "ratio", c->other_ratio);
    }
    json_object_set_new(o, "server_cpus", json_real(c->newest.server_cpus));
    json_object_set_new(o, "worker_cpus", json_real(c->newest.worker_cpus));
    return o;
}

static void bench_net_print_json(const plan *p)
{
    char version[32];
    json_t *cells = json_array();
    for (size_t i = 0; i < p->n_cells; i++)
        json_array_append_new(cells, tell_cell(p, &p->cells[i]));
    json_t *all = json_pack("{s:s, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:o}", "bench",
                            "net", "curve", (int)p->encrypts, "workers", p->workers, "ps",
                            p->servers, "in_flight", BENCH_IN_FLIGHT, "rounds", p->rounds, "seconds",
                            p->seconds, "cpus", thread_cpus(), "zeromq",
                            net_library_version(version, sizeof version), "iperf3",
                            p->has_iperf ? "alternated" : "missing", "results", cells);
    if (json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4)) == 0)
        printf("\n");
    json_decref(all);
}

static void bench_net_print_text(const plan *p)
{
    printf("%d worker%s, %d server%s, %d parts in flight, %d round%s, %d CPUs%s; Gbit/s, medians\n",
           p->workers, p->workers == 1 ? "" : "s", p->servers, p->servers == 1 ? "" : "s",
           BENCH_IN_FLIGHT, p->rounds, p->rounds == 1 ? "" : "s", thread_cpus(),
           p->encrypts ? ", encrypted" : "");
    printf("%-10s %9s %9s %9s %7s", "what", "bytes", "here", "iperf3", "ratio");
    if (p->other)
        printf(" %9s %7s", p->other, "ratio");
    printf("\n");
    for (size_t i = 0; i < p->n_cells; i++) {
        const cell *c = &p->cells[i];
        printf("%-10s %9" PRId64 " %9.2f", bench_traffic_name(c->traffic), c->bytes,
               spread_of(c->speed, p->rounds).median);
        if (p->has_iperf)
            printf(" %9.2f %7.3f", spread_of(c->iperf, p->rounds).median,
                   spread_of(c->ratio, p->rounds).median);
        else
            printf(" %9s %7s", "-", "-");
        if (p->other)
            printf(" %9.2f %7.3f", spread_of(c->other, p->rounds).median,
                   spread_of(c->other_ratio, p->rounds).median);
        printf("\n");
    }
    if (!p->has_iperf)
        printf("iperf3 is missing: install it to know what this machine's loopback can do.\n");
}

status bench_net_run(const args *a, error *err)
{
    plan p;
    TRYF(read_plan(a, &p, err), err, "bench net");
    status st = measure_in_temporary_dir(&p, err);
    if (st == OK && args_has(a, "json"))
        bench_net_print_json(&p);
    else if (st == OK)
        bench_net_print_text(&p);
    plan_fini(&p);
    return st;
}
