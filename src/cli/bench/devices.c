#include "cli/bench/devices.h"

#include "cli/bench/trial.h"
#include "cli/host/gpus.h"
#include "cli/line/size.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "job/process/subprocess.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct row {
    const config *config;
    int64_t samples;
    backend_choice on;
    char name[BACKEND_NAME];
    trial_result result;
    error error; /* why there is no result */
} row;

static status try_row(void *user, error *err)
{
    row *r = user;
    return trial_run(r->config, &r->on, r->samples, &r->result, err);
}

static double examples_per_s(const row *r)
{
    return r->error.code == OK ? (double)r->result.batch / r->result.step_ms * 1e3 : 0.0;
}

static double tokens_per_s(const row *r)
{
    return examples_per_s(r) * (double)r->result.tokens;
}

/* The share of what large products reach that the model's own FLOPs do. */
static double utilisation(const trial_result *t)
{
    return t->flops / (t->step_ms * 1e-3) / t->matmul_flops;
}

/* --- which there are --- */

/* The CPU, and every GPU; the reason in place of the first where there is none. */
static size_t list_devices(row *rows)
{
    gpus *g = xcalloc(1, sizeof *g);
    gpus_look(g);
    size_t n = g->n ? (size_t)g->n : 1;
    rows[0].on = backend_numbered(-1, thread_cpus());
    for (size_t i = 0; i < n; i++)
        rows[1 + i].on = backend_numbered((int64_t)i, 1);
    if (!g->n)
        rows[1].error = g->why[0];
    free(g);
    return 1 + n;
}

static status choose_devices(const char *name, row *rows, size_t *ret, error *err)
{
    *ret = 1;
    if (name)
        return backend_named(name, thread_cpus(), &rows[0].on, err);
    *ret = list_devices(rows);
    return OK;
}

/* --- the report --- */

static json_t *row_json(const row *r)
{
    if (r->error.code != OK)
        return json_pack("{s:s, s:s}", "device", r->name, "error", r->error.text);
    const trial_result *t = &r->result;
    return json_pack(
        "{s:s, s:s, s:s, s:f, s:o, s:f, s:o, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "device", r->name,
        "name", t->device.name, "arch", t->device.arch, "examples_per_s", examples_per_s(r),
        "tokens_per_s", t->tokens ? json_real(tokens_per_s(r)) : json_null(), "step_ms", t->step_ms,
        "idle", t->idle < 0 ? json_null() : json_real(t->idle), "flops_per_example",
        t->flops / (double)t->batch, "matmul_flops_per_s", t->matmul_flops, "mfu", utilisation(t),
        "batch", (json_int_t)t->batch, "memory", (json_int_t)t->memory, "memory_free",
        (json_int_t)t->device.free, "largest_batch", (json_int_t)t->largest_batch);
}

static void print_json(const row *rows, size_t n, const row *best)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, row_json(&rows[i]));
    json_t *r = json_pack("{s:o, s:s}", "devices", list, "best", best->name);
    if (json_dumpf(r, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0)
        printf("\n");
    json_decref(r);
}

static void print_row(const row *r)
{
    char memory[SIZE_TEXT], tokens[32] = "-", idle[16] = "-";
    if (r->error.code != OK) {
        printf("%-8s %s\n", r->name, r->error.text);
        return;
    }
    const trial_result *t = &r->result;
    if (t->tokens)
        snprintf(tokens, sizeof tokens, "%.0f", tokens_per_s(r));
    if (t->idle >= 0)
        snprintf(idle, sizeof idle, "%.1f %%", 100 * t->idle);
    printf("%-8s %12.1f %10s %10.2f %7s %5.1f %% %10s %13lld  %s, %s\n", r->name, examples_per_s(r),
           tokens, t->step_ms, idle, 100 * utilisation(t), size_text((double)t->memory, memory),
           (long long)t->largest_batch, t->device.name, t->device.arch);
}

static void print_table(const row *rows, size_t n, const row *best)
{
    printf("%-8s %12s %10s %10s %7s %7s %10s %13s\n", "device", "examples/s", "tokens/s",
           "step, ms", "idle", "MFU", "memory", "largest batch");
    for (size_t i = 0; i < n; i++)
        print_row(&rows[i]);
    if (!best->on.ops->queue)
        printf("The CPU is the one to choose: distributed.cuda_devices: [-1]\n");
    else
        printf("%s is the one to choose: distributed.cuda_devices: [%d]\n", best->name,
               best->on.options.device);
}

static status devices_measure_all(const config *c, const args *a, row *rows, size_t n, const row **ret_best,
                                  error *err)
{
    const row *best = rows;
    for (size_t i = 0; i < n; i++) {
        row *r = &rows[i];
        r->config = c;
        r->samples = args_count(a, "samples", 10);
        backend_name(&r->on, r->name);
        if (r->error.code == OK)
            (void)!subprocess_run(try_row, r, &r->result, sizeof r->result, &r->error);
        best = examples_per_s(r) > examples_per_s(best) ? r : best;
    }
    if (best->error.code != OK)
        return FAIL(err, best->error.code, "%s", best->error.text);
    *ret_best = best;
    return OK;
}

status bench_devices_run(const args *a, error *err)
{
    config *c = NULL;
    config_source source = {.path = a->operands[1],
                            .overrides = args_text(a, "overrides"),
                            .read_archive = model_archive_config};
    TRY(config_load(&source, &c, err));
    row *rows = xcalloc(1 + GPUS_MOST, sizeof *rows);
    const row *best = NULL;
    size_t n = 0;
    status st = choose_devices(args_text(a, "device"), rows, &n, err);
    if (st == OK)
        st = devices_measure_all(c, a, rows, n, &best, err);
    if (st == OK)
        (args_has(a, "json") ? print_json : print_table)(rows, n, best);
    free(rows);
    config_destroy(&c);
    return st;
}
