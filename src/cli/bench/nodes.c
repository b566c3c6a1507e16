#include "cli/bench/nodes.h"

#include "cli/bench/spread.h"
#include "cli/bench/trial.h"
#include "cli/line/size.h"
#include "cli/run/kernels.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "exec/node_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 20 };

/* A kernel and how long it takes, or all kernels around one operator. */
typedef struct row {
    kernel_facts facts;
    double ms;      /* the median, or the sum of medians */
    size_t workspace;
    int32_t n;
} row;

typedef struct bench {
    backend_choice on;
    char device[BACKEND_NAME];
    backend_device facts;
    trial *trial;
    const variant *v;
    int64_t samples;
    double step_ms; /* the median */
    double all_ms;  /* of all kernels */
    row *rows;      /* by time */
    size_t n_rows;
    row operators[OP_COUNT + 1];
    size_t n_operators;
} bench;

static void bench_nodes_fini(bench *b)
{
    trial_destroy(&b->trial);
    free(b->rows);
}

/* ms[node * samples + sample], and the steps' own behind the last node's. */
static status take_samples(bench *b, double *ms, error *err)
{
    int32_t n = graph_n_nodes(b->v->graph);
    double step_ms;
    for (int64_t i = -TRIAL_WARMUP; i < b->samples; i++) {
        TRY(trial_step(b->trial, &step_ms, err));
        for (int32_t node = 0; i >= 0 && node < n; node++)
            ms[node * b->samples + i] = node_times_ms(b->v->times)[node];
        if (i >= 0)
            ms[n * b->samples + i] = step_ms;
    }
    return OK;
}

static int by_ms(const void *left, const void *right)
{
    const row *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms > b->ms ? -1 : 1;
    return (a->facts.node > b->facts.node) - (a->facts.node < b->facts.node);
}

static void add_to_operator(bench *b, const row *one)
{
    row *r = &b->operators[one->facts.around];
    r->facts.around = one->facts.around;
    r->facts.bytes += one->facts.bytes;
    r->facts.flops += one->facts.flops;
    r->ms += one->ms;
    r->n++;
}

/* Operators that have kernels, by time, in front. */
static void order_rows(bench *b)
{
    qsort(b->rows, b->n_rows, sizeof *b->rows, by_ms);
    qsort(b->operators, COUNT_OF(b->operators), sizeof *b->operators, by_ms);
    while (b->n_operators < COUNT_OF(b->operators) && b->operators[b->n_operators].n)
        b->n_operators++;
}

static void make_rows(bench *b, double *ms)
{
    int32_t n = graph_n_nodes(b->v->graph);
    kernel_facts *facts = kernels_of(b->v);
    b->rows = xcalloc((size_t)n + 1, sizeof *b->rows);
    b->step_ms = spread_of(&ms[n * b->samples], (size_t)b->samples).median;
    for (int32_t node = 0; node < n; node++) {
        if (!facts[node].runs)
            continue;
        row *r = &b->rows[b->n_rows++];
        *r = (row){.facts = facts[node],
                   .ms = spread_of(&ms[node * b->samples], (size_t)b->samples).median,
                   .workspace = b->v->kernels[node].workspace_bytes,
                   .n = 1};
        b->all_ms += r->ms;
        add_to_operator(b, r);
    }
    free(facts);
    order_rows(b);
}

static status bench_nodes_measure(bench *b, const config *c, error *err)
{
    TRY(b->on.ops->describe(b->on.options.device, &b->facts, err));
    TRY(trial_create(c, &b->on, true, &b->trial, err));
    b->v = exec_variant(trial_exec(b->trial), 0);
    double *ms = xcalloc(((size_t)graph_n_nodes(b->v->graph) + 1) * (size_t)b->samples, sizeof *ms);
    status st = take_samples(b, ms, err);
    if (st == OK)
        make_rows(b, ms);
    free(ms);
    return st;
}

/* --- the report --- */

static double share(const bench *b, const row *r)
{
    return b->all_ms > 0 ? r->ms / b->all_ms : 0;
}

/* Of what a second has: 1e9 bytes or 1e12 FLOPs. */
static double rate(double amount, double unit, const row *r)
{
    return r->ms > 0 ? amount / unit / (r->ms * 1e-3) : 0;
}

static json_t *figures_json(const bench *b, const row *r)
{
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f, s:f}", "operator", kernels_name(r->facts.around),
                     "ms", r->ms, "share", share(b, r), "bytes", (json_int_t)r->facts.bytes, "gb_per_s",
                     rate((double)r->facts.bytes, 1e9, r), "flops", r->facts.flops, "tflop_per_s",
                     rate(r->facts.flops, 1e12, r));
}

static json_t *row_json(const bench *b, const row *r)
{
    json_t *j = figures_json(b, r);
    json_object_set_new(j, "node", json_integer(r->facts.node));
    json_object_set_new(j, "name", json_string(graph_node_at(b->v->graph, r->facts.node)->name));
    json_object_set_new(j, "by", r->facts.by ? json_string(r->facts.by) : json_null());
    json_object_set_new(j, "workspace", json_integer((json_int_t)r->workspace));
    return j;
}

static void print_json(const bench *b)
{
    json_t *nodes = json_array(), *operators = json_array();
    for (size_t i = 0; i < b->n_rows; i++)
        json_array_append_new(nodes, row_json(b, &b->rows[i]));
    for (size_t i = 0; i < b->n_operators; i++) {
        json_t *j = figures_json(b, &b->operators[i]);
        json_object_set_new(j, "kernels", json_integer(b->operators[i].n));
        json_array_append_new(operators, j);
    }
    json_t *r = json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:o, s:o}", "device", b->device, "name",
                          b->facts.name, "arch", b->facts.arch, "batch",
                          (json_int_t)trial_batch(b->trial), "samples", (json_int_t)b->samples,
                          "step_ms", b->step_ms, "kernels_ms", b->all_ms, "operators", operators,
                          "nodes", nodes);
    if (json_dumpf(r, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
        printf("\n");
    json_decref(r);
}

static void print_figures(const bench *b, const row *r)
{
    char rate_text[32] = "-";
    if (r->facts.flops > 0)
        snprintf(rate_text, sizeof rate_text, "%.3f", rate(r->facts.flops, 1e12, r));
    printf("%10.3f %6.1f %% %9.1f %9s", r->ms, 100 * share(b, r),
           rate((double)r->facts.bytes, 1e9, r), rate_text);
}

static void print_table(const bench *b)
{
    size_t n = b->n_rows < TOP ? b->n_rows : TOP;
    printf("%-28s %7s %10s %8s %9s %9s\n", "operator", "kernels", "ms", "share", "GB/s", "TFLOP/s");
    for (size_t i = 0; i < b->n_operators; i++) {
        printf("%-28s %7d ", kernels_name(b->operators[i].facts.around), b->operators[i].n);
        print_figures(b, &b->operators[i]);
        printf("\n");
    }
    printf("\nThe %zu kernels that take most:\n", n);
    printf("%-6s %-20s %10s %8s %9s %9s  %s\n", "node", "operator", "ms", "share", "GB/s", "TFLOP/s", "name");
    for (size_t i = 0; i < n; i++) {
        const row *r = &b->rows[i];
        printf("%-6d %-20s ", r->facts.node, kernels_name(r->facts.around));
        print_figures(b, r);
        printf("  %s%s%s\n", graph_node_at(b->v->graph, r->facts.node)->name, r->facts.by ? ", by " : "",
               r->facts.by ? r->facts.by : "");
    }
    printf("\n%s, %s, %s: %zu kernels one by one take %.3f ms of a step of %.3f ms, batch %lld\n", b->device,
           b->facts.name, b->facts.arch, b->n_rows, b->all_ms, b->step_ms, (long long)trial_batch(b->trial));
}

status bench_nodes_run(const args *a, error *err)
{
    config *c = NULL;
    config_source source = {.path = a->operands[1],
                            .overrides = args_text(a, "overrides"),
                            .read_archive = model_archive_config};
    const char *device = args_text(a, "device");
    bench *b = xcalloc(1, sizeof *b);
    b->samples = args_count(a, "samples", 10);
    status st;
    TRY_OUT(st, config_load(&source, &c, err));
    TRY_OUT(st, backend_named(device ? device : "cpu", thread_cpus(), &b->on, err));
    backend_name(&b->on, b->device);
    TRY_OUT(st, bench_nodes_measure(b, c, err));
    (args_has(a, "json") ? print_json : print_table)(b);
out:
    bench_nodes_fini(b);
    free(b);
    config_destroy(&c);
    return st;
}
