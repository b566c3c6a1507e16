#include "cli/bench/data.h"

#include "cli/bench/spread.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/config/training.h"
#include "data/data.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MOST = 64, COUNTS_MOST = 8, WARMUP = 1 };

typedef struct bench {
    config *config;
    dataset *data;
    loader *loader;
    steps steps;
    int64_t samples, rounds;        /* batches of a thread; how often all is measured */
    atomic_llong next;              /* the batch to be taken */
} bench;

/* What one thread takes, and what became of it. */
typedef struct share {
    bench *bench;
    int64_t batches, examples;
    status result;
    error reason;
} share;

static void *take_batches(void *arg)
{
    share *s = arg;
    for (int64_t i = 0; i < s->batches && s->result == OK; i++) {
        const data_batch *batch = NULL;
        step_slot slot = steps_slot(&s->bench->steps, atomic_fetch_add(&s->bench->next, 1), 0);
        s->result = loader_take(s->bench->loader, &slot, &batch, &s->reason);
        if (s->result != OK)
            break;
        s->examples += slot.n;
        loader_release(s->bench->loader, batch);
    }
    return NULL;
}

/* Examples a second of so many threads, each of which takes that many batches. */
static status time_threads(bench *b, int threads, int64_t batches, double *ret, error *err)
{
    share shares[THREADS_MOST];
    pthread_t helpers[THREADS_MOST];
    int64_t examples = 0, began_us = clock_us();
    int started = 1;
    status st = OK;
    for (int i = 0; i < threads; i++)
        shares[i] = (share){.bench = b, .batches = batches, .result = OK, .reason = ERROR_INIT};
    while (st == OK && started < threads) {
        st = thread_start(&helpers[started], log_task(), take_batches, &shares[started], err);
        started += st == OK;
    }
    if (st == OK)
        take_batches(&shares[0]);
    for (int i = 1; i < started; i++)
        pthread_join(helpers[i], NULL);
    for (int i = 0; i < threads; i++) {
        examples += shares[i].examples;
        if (st == OK && shares[i].result != OK)
            st = error_set(err, shares[i].result, "%s", shares[i].reason.text);
    }
    *ret = (double)examples / ((double)(clock_us() - began_us) * 1e-6);
    return st;
}

/* 1, 2, 4 and so on, and the number of processors. */
static size_t choose_counts(int ret[COUNTS_MOST])
{
    int most = thread_cpus() < THREADS_MOST ? thread_cpus() : THREADS_MOST;
    size_t n = 0;
    for (int threads = 1; threads < most; threads *= 2)
        ret[n++] = threads;
    ret[n++] = most;
    return n;
}

static status open_reader(bench *b, int threads, error *err)
{
    const config *c = b->config;
    TRYF(dataset_open(config_section(c, "dataset_reader"), config_str(c, "train_data_path"), &b->data, err), err,
         "train_data_path");
    b->steps = training_steps(c, dataset_examples(b->data), &(steps_kinds){.n = 0}, 1);
    loader_options o = {.dataset = b->data,
                        .batch_size = b->steps.batch_size,
                        .seed = (uint64_t)config_int(c, "random_seed"),
                        .shuffle = config_bool(c, "data_loader.shuffle"),
                        .augment = config_section(c, "dataset_reader.augment"),
                        .depth = (size_t)threads + 1};
    return loader_create(&o, &b->loader, err);
}

static void print(const bench *b, bool as_json, const int *counts, const spread *rates, size_t n)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(rows, json_pack("{s:i, s:f, s:f, s:f}", "threads", counts[i], "examples_per_s",
                                              rates[i].median, "least", rates[i].min, "most", rates[i].max));
    if (as_json) {
        json_t *all = json_pack("{s:I, s:I, s:O}", "examples", (json_int_t)dataset_examples(b->data), "batch",
                                (json_int_t)b->steps.batch_size, "threads", rows);
        char *text = json_dumps(all, JSON_INDENT(2));
        puts(text);
        free(text);
        json_decref(all);
    } else {
        printf("%lld examples, batches of %lld\n\nthreads  examples/s      least       most\n",
               (long long)dataset_examples(b->data), (long long)b->steps.batch_size);
        for (size_t i = 0; i < n; i++)
            printf("%7d  %10.0f %10.0f %10.0f\n", counts[i], rates[i].median, rates[i].min, rates[i].max);
    }
    json_decref(rows);
}

/* Rounds alternate between the numbers of threads, for a machine is not as fast at all times. */
static status measure(bench *b, const int *counts, size_t n, spread *ret, error *err)
{
    double *rates = xcalloc(n * (size_t)b->rounds, sizeof *rates), warm;
    status st = time_threads(b, 1, WARMUP, &warm, err);
    for (int64_t r = 0; st == OK && r < b->rounds; r++)
        for (size_t i = 0; st == OK && i < n; i++)
            st = time_threads(b, counts[i], b->samples, &rates[i * (size_t)b->rounds + (size_t)r], err);
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
    size_t n = choose_counts(counts);
    status st;
    TRY_OUT(st, config_load(&source, &b.config, err));
    TRY_OUT(st, open_reader(&b, counts[n - 1], err));
    TRY_OUT(st, measure(&b, counts, n, rates, err));
    print(&b, args_has(a, "json"), counts, rates, n);
out:
    loader_destroy(&b.loader);
    dataset_close(&b.data);
    config_destroy(&b.config);
    return st;
}
