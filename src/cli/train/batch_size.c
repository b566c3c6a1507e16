#include "cli/train/batch_size.h"

#include "cli/bench/trial.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/config/resolved.h"
#include "exec/budget.h"
#include "job/process/subprocess.h"
#include "worker/memory.h"
#include "worker/variants.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FIRST = 8,
    STEPS_AN_EPOCH = 10,
    SAMPLES = 5,                    /* steps at least, unless they are long; */
    SAMPLING_US = 300000,           /* and for so long, also of a processor's time: others may want it; */
    SAMPLING_MOST_US = 4000000,     /* but no longer */
    LONG_STEP_US = 10000000,        /* nothing larger is tried then */
    IDLE_TRIES = 2,
};
#define FASTER 1.03                 /* less is noise */

typedef struct search {
    const config *config;           /* with batches of FIRST, or as many as drop_last allows */
    const devices *devices;
    const shape *shape;
    variants variants;              /* of them */
    backend_choice device;
    host_memory host;
    int64_t most;                   /* that leaves an epoch its steps */
    int64_t step_us;                /* that the last try's steps take */
    batch_search *found;
} search;

int64_t batch_size_choose(const batch_try *tries, size_t n)
{
    double best = 0;
    for (size_t i = 0; i < n; i++)
        best = tries[i].examples_per_s > best ? tries[i].examples_per_s : best;
    for (size_t i = 0; i < n; i++)
        if (tries[i].examples_per_s >= best * BATCH_CLOSE)
            return tries[i].batch;
    return tries[0].batch;
}

/* The same configuration with that batch, resolved as if somebody had written it. */
static status with_batch(const config *c, int64_t batch, config **ret, error *err)
{
    json_t *tree = json_deep_copy(config_json(c, ""));
    json_object_set_new(json_object_get(tree, "data_loader"), "batch_size", json_integer((json_int_t)batch));
    char *text = json_dumps(tree, JSON_REAL_PRECISION(17));
    status st = config_load_resolved(text, ret, err);
    free(text);
    json_decref(tree);
    return st;
}

/* --- what fits --- */

static status fits(const search *s, int64_t batch, bool *ret, error *err)
{
    const worker_memory one = {.config = s->config,
                               .variants = &s->variants,
                               .device = s->device,
                               .n_lanes = s->shape->lanes,
                               .n_readers = s->shape->readers,
                               .n_servers = s->shape->ps,
                               .servers = s->shape->servers_here};
    size_t need = 0;
    error why = ERROR_INIT;
    status st = worker_memory_of(&one, batch, &need, &why);
    if (st != OK && st != E_NOMEM) /* E_NOMEM: trainer.memory is too little */
        return FAIL(err, st, "%s", why.text);
    *ret = st == OK && need <= s->host.left / (size_t)s->shape->here;
    return OK;
}

/* --- trying --- */

static PRINTF_LIKE(2, 3) void end_with(search *s, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(s->found->end, sizeof s->found->end, format, list);
    va_end(list);
}

/* Of this process, on all processors. */
static int64_t worked_us(void)
{
    return (int64_t)((double)clock() / CLOCKS_PER_SEC * 1e6);
}

static bool is_sampled(const search *s, int samples, int64_t since_us, int64_t worked)
{
    int64_t took_us = clock_us() - since_us;
    bool has_worked = s->device.ops->queue || worked_us() - worked > SAMPLING_US;
    return took_us > SAMPLING_MOST_US || (samples >= SAMPLES && took_us > SAMPLING_US && has_worked);
}

/* What the fastest step takes: other processes may have slowed down the rest. */
static status time_steps(search *s, trial *t, double *ret_ms, error *err)
{
    double ms = 0, best = -1;
    for (int i = 0; i < TRIAL_WARMUP && ms * 1e3 < LONG_STEP_US; i++)
        TRY(trial_compute(t, &ms, err));
    int64_t begin_us = clock_us(), worked = worked_us();
    for (int i = 0; i == 0 || !is_sampled(s, i, begin_us, worked); i++) {
        TRY(trial_compute(t, &ms, err));
        if (best < 0 || ms < best)
            best = ms;
    }
    s->step_us = (int64_t)(best * 1e3);
    *ret_ms = best > 0 ? best : 1e-3;
    return OK;
}

static status try_batch(search *s, int64_t batch, error *err)
{
    config *c = NULL;
    trial *t = NULL;
    double ms = 0;
    status st;
    TRY(with_batch(s->config, batch, &c, err));
    TRY_OUT(st, trial_create(c, &s->device, false, &t, err));
    TRY_OUT(st, time_steps(s, t, &ms, err));
    exec_memory memory = exec_memory_use(trial_exec(t));
    s->found->tries[s->found->n++] = (batch_try){batch, (double)batch / ms * 1e3, exec_memory_total(&memory)};
out:
    trial_destroy(&t);
    config_destroy(&c);
    return st;
}

/* So many of the last tries were no faster than the best before them. */
static int idle_tries(const batch_search *f)
{
    double best = 0;
    int idle = 0;
    for (size_t i = 0; i < f->n; i++) {
        bool is_faster = f->tries[i].examples_per_s > best * FASTER;
        idle = is_faster ? 0 : idle + 1;
        best = is_faster ? f->tries[i].examples_per_s : best;
    }
    return idle;
}

/* Whether a larger batch is worth a try; says why not. */
static status goes_on(search *s, int64_t batch, bool *ret, error *err)
{
    *ret = false;
    if (batch > s->most)
        end_with(s, "with %lld an epoch would have less than %d steps", (long long)batch, STEPS_AN_EPOCH);
    else if (s->found->n && idle_tries(s->found) >= IDLE_TRIES)
        end_with(s, "no faster with more");
    else if (s->found->n && s->step_us > LONG_STEP_US)
        end_with(s, "a batch of %lld takes %.0f s", (long long)batch / 2, (double)s->step_us * 1e-6);
    else {
        TRY(fits(s, batch, ret, err));
        if (!*ret)
            end_with(s, "%lld do not fit into memory", (long long)batch);
    }
    return OK;
}

static status find_first(search *s, int64_t *ret, error *err)
{
    int64_t batch = FIRST;
    bool is_right = false;
    while (batch > s->most)
        batch /= 2;
    for (; batch >= 1; batch /= 2) {
        TRY(fits(s, batch, &is_right, err));
        if (is_right)
            break;
    }
    *ret = batch;
    return is_right ? OK
                    : FAIL(err, E_NOMEM,
                           "data_loader.batch_size: \"auto\": not even one example fits into what is left of memory "
                           "(%s) or trainer.memory allows",
                           s->host.origin);
}

static status try_all(search *s, error *err)
{
    int64_t batch;
    bool is_right = true;
    TRY(find_first(s, &batch, err));
    for (; is_right && s->found->n < BATCH_TRIES; batch *= 2) {
        error why = ERROR_INIT;
        status st = try_batch(s, batch, &why);
        while (st == E_NOMEM && !s->found->n && batch > 1) { /* of a device, which no plan knows */
            why = (error)ERROR_INIT;
            batch /= 2;
            st = try_batch(s, batch, &why);
        }
        if (st == E_NOMEM && s->found->n) { /* of a device */
            end_with(s, "%lld do not fit into memory: %.150s", (long long)batch, why.text);
            return OK;
        }
        if (st != OK)
            return FAIL(err, st, "data_loader.batch_size: \"auto\": with %lld: %s", (long long)batch, why.text);
        TRY(goes_on(s, 2 * batch, &is_right, err));
    }
    return OK;
}

/* What the search's variants are built for: with drop_last there must be as many examples. */
static status size_to_build(const config *c, int64_t *ret, error *err)
{
    dataset *data = NULL;
    *ret = FIRST;
    if (!config_bool(c, "data_loader.drop_last"))
        return OK;
    TRYF(dataset_open(config_section(c, "dataset_reader"), config_str(c, "train_data_path"), &data, err), err,
         "train_data_path");
    while (*ret > 1 && *ret > dataset_examples(data))
        *ret /= 2;
    dataset_close(&data);
    return OK;
}

static status open_search(search *s, const config *c, config **ret, error *err)
{
    TRY(devices_of_lane(s->devices, 0, &s->device, err));
    int64_t size = 0;
    backend_name(&s->device, s->found->device);
    TRY(size_to_build(c, &size, err));
    TRY(with_batch(c, size, ret, err));
    s->config = *ret;
    TRY(variants_build(s->config, &s->variants, err));
    int64_t most = dataset_examples(s->variants.data) / (STEPS_AN_EPOCH * s->shape->batches_per_step);
    s->most = most > 1 ? most : 1;
    return budget_left(&s->host, err);
}

/* --- in a process of its own --- */

typedef struct request {
    const config *config;
    const devices *devices;
    const shape *shape;
    batch_search *found;
} request;

static status find(void *user, error *err)
{
    const request *r = user;
    search s = {.devices = r->devices, .shape = r->shape, .found = r->found};
    config *first = NULL;
    log_set_level(LOG_WARN); /* the data are opened again and again */
    status st = open_search(&s, r->config, &first, err);
    if (st == OK)
        st = try_all(&s, err);
    variants_fini(&s.variants);
    config_destroy(&first);
    if (st != OK)
        return st;
    s.found->chosen = batch_size_choose(s.found->tries, s.found->n);
    s.found->step_examples = s.found->chosen * r->shape->batches_per_step;
    return OK;
}

status batch_size_find(const config *c, const devices *d, const shape *s, batch_search *ret, error *err)
{
    const config *sampler = config_section(c, "data_loader.batch_sampler");
    if (sampler && strcmp(config_str(sampler, "type"), "max_tokens_sampler") == 0)
        return FAIL(err, E_CONFIG, "data_loader.batch_sampler: max_tokens says how large batches of max_tokens_sampler "
                                   "are, and there is no batch size to find");
    batch_search found = {.n = 0};
    request r = {c, d, s, &found};
    TRY(subprocess_run(find, &r, &found, sizeof found, err));
    *ret = found;
    return OK;
}

/* --- of a job that is there --- */

int64_t batch_size_kept(const char *job_dir)
{
    json_t *tree = NULL;
    char *path = xasprintf("%s/config.json", job_dir), *job = xasprintf("%s/job.json", job_dir);
    status st = fs_exists(job) ? json_read_file(path, &tree, NULL) : E_CONFIG;
    const json_t *batch = json_object_get(json_object_get(tree, "data_loader"), "batch_size");
    int64_t kept = st == OK && json_is_integer(batch) ? json_integer_value(batch) : 0;
    json_decref(tree);
    free(path);
    free(job);
    return kept > 0 ? kept : 0;
}

/* --- telling --- */

void batch_size_describe(const batch_search *found, buf *ret)
{
    for (size_t i = 0; i < found->n; i++)
        buf_addf(ret, "%s%lld: %.0f/s", i ? ", " : "", (long long)found->tries[i].batch,
                 found->tries[i].examples_per_s);
    buf_addf(ret, "; %s", found->end);
}

void batch_size_warn(const config *c, const batch_search *found)
{
    LOG_W("BATCH_SIZE",
          "a step takes %lld examples, and trainer.optimizer.lr %g stays as it is; if it was chosen for steps of B "
          "examples, the usual rule is %g * %lld / B with a warm-up (with adam and its kin its root), and 'tequio "
          "find-lr' looks for one",
          (long long)found->step_examples, config_f64(c, "trainer.optimizer.lr"), config_f64(c, "trainer.optimizer.lr"),
          (long long)found->step_examples);
}
