#include "cli/bench/data.h"

#include "cli/bench/spread.h"
#include "cli/bench/trial.h"
#include "cli/run/devices.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "common/config/training.h"
#include "data/data.h"
#include "job/process/subprocess.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MOST = 64, COUNTS_MOST = 8, MODEL_STEPS = 5 };

typedef struct bench {
    config *config;
    dataset *data;
    steps steps;
    int64_t samples, rounds;        /* batches of a thread; how often all is measured */
    int64_t next;                   /* the batch to be taken */
    struct model_rate {
        double examples_per_s;      /* that a lane of the model takes; 0: not known */
        char device[BACKEND_NAME];
    } model;
    error reason;                   /* why it is not known */
} bench;

/* --- the model --- */

static status try_model(void *user, error *err)
{
    bench *b = user;
    trial *t = NULL;
    backend_choice on = devices_one((int)config_int(b->config, "trainer.threads"));
    backend_name(&on, b->model.device);
    TRY(trial_create(b->config, &on, false, &t, err));
    double ms[MODEL_STEPS];
    status st = OK;
    for (int i = -TRIAL_WARMUP; st == OK && i < MODEL_STEPS; i++)
        st = trial_compute(t, &ms[i < 0 ? 0 : i], err);
    if (st == OK)
        b->model.examples_per_s = (double)trial_batch(t) / spread_of(ms, MODEL_STEPS).median * 1e3;
    trial_destroy(&t);
    return st;
}

/* In a process of its own, before there is a thread here. */
static void measure_model(bench *b)
{
    b->reason = (error)ERROR_INIT;
    if (subprocess_run(try_model, b, &b->model, sizeof b->model, &b->reason) != OK)
        b->model.examples_per_s = 0;
}

/* --- the reader --- */

static step_slot slot_of(const bench *b, int64_t batch)
{
    return steps_slot(&b->steps, batch, 0);
}

/* The loader's threads read ahead, and this one too. */
static status take_batches(bench *b, loader *l, int64_t batches, int64_t ahead, int64_t *ret_examples, error *err)
{
    *ret_examples = 0;
    for (int64_t i = 0; i < batches; i++, b->next++) {
        const data_batch *batch = NULL;
        step_slot slot = slot_of(b, b->next);
        for (int64_t k = 0; k <= ahead && i + k < batches; k++) {
            step_slot later = slot_of(b, b->next + k);
            loader_prefetch(l, &later);
        }
        TRY(loader_take(l, &slot, &batch, err));
        *ret_examples += slot.n;
        loader_release(l, batch);
    }
    return OK;
}

/* Examples a second of so many threads, for that many batches. */
static status time_threads(bench *b, int threads, int64_t batches, double *ret, error *err)
{
    const config *c = b->config;
    int64_t examples, ahead = config_int(c, "data_loader.prefetch");
    loader *l = NULL;
    loader_options o = {.dataset = b->data,
                        .batch_size = b->steps.batch_size,
                        .seed = (uint64_t)config_int(c, "random_seed"),
                        .shuffle = config_bool(c, "data_loader.shuffle"),
                        .augment = config_section(c, "dataset_reader.augment"),
                        .depth = (size_t)ahead + 2,
                        .workers = threads - 1};
    TRY(loader_create(&o, &l, err));
    int64_t began_us = clock_us();
    status st = take_batches(b, l, batches, ahead, &examples, err);
    if (st == OK)
        *ret = (double)examples / ((double)(clock_us() - began_us) * 1e-6);
    loader_destroy(&l);
    return st;
}

/* 1, 2, 4 and so on, and the number of processors; or the one that was asked for. */
static size_t choose_counts(const args *a, int ret[COUNTS_MOST])
{
    ret[0] = (int)args_count(a, "threads", 0);
    if (ret[0] > 0)
        return 1;
    int most = thread_cpus() < THREADS_MOST ? thread_cpus() : THREADS_MOST;
    size_t n = 0;
    for (int threads = 1; threads < most; threads *= 2)
        ret[n++] = threads;
    ret[n++] = most;
    return n;
}

static status open_reader(bench *b, error *err)
{
    const config *c = b->config;
    TRYF(dataset_open(config_section(c, "dataset_reader"), config_str(c, "train_data_path"), &b->data, err), err,
         "train_data_path");
    b->steps = training_steps(c, dataset_examples(b->data), &(steps_kinds){.n = 0}, 1);
    return OK;
}

/* --- the report --- */

static void print_json(const bench *b, const int *counts, const spread *rates, size_t n)
{
    json_t *rows = json_array(), *model = json_object();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(rows, json_pack("{s:i, s:f, s:f, s:f}", "threads", counts[i], "examples_per_s",
                                              rates[i].median, "least", rates[i].min, "most", rates[i].max));
    if (b->model.examples_per_s > 0) {
        json_object_set_new(model, "device", json_string(b->model.device));
        json_object_set_new(model, "examples_per_s", json_real(b->model.examples_per_s));
    } else
        json_object_set_new(model, "error", json_string(b->reason.text));
    json_t *all = json_pack("{s:I, s:I, s:o, s:o}", "examples", (json_int_t)dataset_examples(b->data), "batch",
                            (json_int_t)b->steps.batch_size, "threads", rows, "model", model);
    char *text = json_dumps(all, JSON_INDENT(2));
    puts(text);
    free(text);
    json_decref(all);
}

static void print_table(const bench *b, const int *counts, const spread *rates, size_t n)
{
    printf("%lld examples, batches of %lld\n\nthreads  examples/s      least       most  of the model's\n",
           (long long)dataset_examples(b->data), (long long)b->steps.batch_size);
    for (size_t i = 0; i < n; i++) {
        printf("%7d  %10.0f %10.0f %10.0f  ", counts[i], rates[i].median, rates[i].min, rates[i].max);
        if (b->model.examples_per_s > 0)
            printf("%14.2f\n", rates[i].median / b->model.examples_per_s);
        else
            printf("%14s\n", "-");
    }
    if (b->model.examples_per_s > 0)
        printf("\na lane of the model takes %.0f examples/s on %s\n", b->model.examples_per_s, b->model.device);
    else
        printf("\nhow many the model takes is not known: %s\n", b->reason.text);
}

/* Rounds alternate between the numbers of threads, for a machine is not as fast at all times. */
static status measure(bench *b, const int *counts, size_t n, spread *ret, error *err)
{
    double *rates = xcalloc(n * (size_t)b->rounds, sizeof *rates), warm;
    status st = time_threads(b, 1, 1, &warm, err); /* files come into memory */
    for (int64_t r = 0; st == OK && r < b->rounds; r++)
        for (size_t i = 0; st == OK && i < n; i++)
            st = time_threads(b, counts[i], counts[i] * b->samples, &rates[i * (size_t)b->rounds + (size_t)r], err);
    for (size_t i = 0; st == OK && i < n; i++)
        ret[i] = spread_of(rates + i * (size_t)b->rounds, (size_t)b->rounds);
    free(rates);
    return st;
}

status bench_data_run(const args *a, error *err)
{
    config_source source = {
        .path = a->operands[1], .overrides = args_text(a, "overrides"), .read_archive = model_archive_config};
    bench b = {.samples = args_count(a, "samples", 10), .rounds = args_count(a, "rounds", 5)};
    int counts[COUNTS_MOST];
    spread rates[COUNTS_MOST];
    size_t n = choose_counts(a, counts);
    status st;
    TRY_OUT(st, config_load(&source, &b.config, err));
    measure_model(&b);
    TRY_OUT(st, open_reader(&b, err));
    TRY_OUT(st, measure(&b, counts, n, rates, err));
    (args_has(a, "json") ? print_json : print_table)(&b, counts, rates, n);
out:
    dataset_close(&b.data);
    config_destroy(&b.config);
    return st;
}
