#include "cli/bench/trial.h"

#include "cli/bench/matmul.h"
#include "cli/bench/spread.h"
#include "cli/run/devices.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/config/training.h"
#include "common/parts/steps.h"
#include "exec/exec.h"
#include "model/initial.h"
#include "model/model.h"
#include "worker/inputs.h"
#include "worker/memory.h"
#include "worker/variants.h"

#include <stdlib.h>
#include <string.h>

struct trial {
    const config *config;
    bool times_nodes;
    variants variants;
    exec *exec;
    loader *loader;
    steps steps;
    inputs inputs;
    float *params;
    int64_t next; /* batch to be written */
    bool written; /* it is, already */
};

void trial_destroy(trial **ret)
{
    trial *t = *ret;
    if (!t)
        return;
    loader_destroy(&t->loader);
    exec_destroy(&t->exec);
    mem_free(t->params);
    variants_fini(&t->variants);
    free(t);
    *ret = NULL;
}

/* Version 0, as a job begins with it. */
static status fill_params(trial *t, uint64_t seed, error *err)
{
    const flat *f = t->variants.flat;
    const config *model = config_section(t->config, "model");
    buf report = BUF_INIT;
    status st = OK;
    if (model_brings_weights(model))
        st = model_initial(model, f, seed, t->params, &report, err);
    for (int32_t p = 0; p < f->n_parts && !model_brings_weights(model); p++)
        flat_part_init(f, p, seed, t->params + f->parts[p].begin);
    buf_fini(&report);
    return st;
}

static status trial_build(trial *t, const backend_choice *on, error *err)
{
    const config *c = t->config;
    const flat *f = t->variants.flat;
    void *memory = NULL;
    exec_options options = {
        .backend = on->ops,
        .device = on->options,
        .flat = f,
        .graphs = (const graph *const *)t->variants.graphs,
        .n_graphs = 1,
        .examples = t->steps.batch_size,
        .timed = true,
        .times_nodes = t->times_nodes,
        .sum_level = training_sum_level(c, 1),
        .budget = training_memory(c),
    };
    loader_options data = {
        .dataset = t->variants.data,
        .batch_size = t->steps.batch_size,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .shuffle = config_bool(c, "data_loader.shuffle"),
        .length = t->variants.shapes[0].length,
        .augment = config_section(c, "dataset_reader.augment"),
        .depth = 3,
    };
    const worker_memory taken = {
        .config = c, .variants = &t->variants, .device = *on, .n_lanes = 1};
    TRY(devices_train(c, on, err));
    TRY(worker_memory_check(&taken, err));
    TRY(mem_alloc((size_t)f->n_elements * sizeof(float), "parameters", &memory, err));
    t->params = memory;
    TRY(fill_params(t, data.seed, err));
    TRY(exec_create(&options, &t->exec, err));
    exec_bind_params(t->exec, t->params);
    TRY(inputs_bind(t->exec, 0, t->variants.data, &t->inputs, err));
    inputs_leave(on->ops, &data);
    TRY(loader_create(&data, &t->loader, err));
    return data.bytes ? inputs_make_there(t->exec, t->loader, &t->inputs, 1, err) : OK;
}

/* The next batch of the full size: a smaller one, at the end of an epoch, is passed over. */
static step_slot next_batch(trial *t)
{
    step_slot s;
    do
        s = steps_slot(&t->steps, t->next++, 0);
    while (s.n != t->variants.shapes[0].examples);
    return s;
}

static status write_next(void *user, error *err)
{
    trial *t = user;
    step_slot slot = next_batch(t);
    const data_batch *batch = NULL;
    TRY(loader_take(t->loader, &slot, &batch, err));
    status st = exec_refill(t->exec, err);
    if (st == OK)
        inputs_write(&t->inputs, batch, 1.0f);
    loader_release(t->loader, batch);
    t->written = st == OK;
    return st == OK ? exec_upload_inputs(t->exec, 0, err) : st;
}

status trial_step(trial *t, double *ret_ms, error *err)
{
    int64_t begin = clock_us();
    if (!t->written)
        TRY(write_next(t, err));
    t->written = false;
    TRY(exec_run(t->exec, 0, &(exec_hooks){.ahead = write_next, .user = t}, err));
    *ret_ms = (double)(clock_us() - begin) * 1e-3;
    return OK;
}

status trial_compute(trial *t, double *ret_ms, error *err)
{
    if (!t->written)
        TRY(write_next(t, err));
    t->written = false;
    int64_t begin = clock_us();
    TRY(exec_run(t->exec, 0, &(exec_hooks){.user = t}, err));
    *ret_ms = (double)(clock_us() - begin) * 1e-3;
    return OK;
}

exec *trial_exec(const trial *t)
{
    return t->exec;
}

float trial_loss(const trial *t)
{
    return *t->inputs.loss;
}

int64_t trial_batch(const trial *t)
{
    return t->steps.batch_size;
}

static status trial_measure(trial *t, int64_t samples, trial_result *ret, error *err)
{
    double *ms = xcalloc((size_t)samples, sizeof *ms), all = 0, busy = 0, warm;
    status st = OK;
    for (int64_t i = -TRIAL_WARMUP; st == OK && i < samples; i++) {
        if (i == 0)
            busy = exec_busy_ms(t->exec);
        st = trial_step(t, i < 0 ? &warm : &ms[i], err);
        if (i >= 0)
            all += ms[i];
    }
    ret->step_ms = spread_of(ms, (size_t)samples).median;
    ret->idle = busy < 0 ? -1 : 1 - (exec_busy_ms(t->exec) - busy) / all;
    free(ms);
    return st;
}

static int64_t tokens_of(const dataset *d)
{
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, "input_ids") == 0)
            return f[i].dim[0];
    return 0;
}

static void count_memory(const trial *t, trial_result *ret)
{
    exec_memory m = exec_memory_use(t->exec);
    size_t fixed = m.param + m.grad + m.sums + m.constant, batch = m.io + m.temp + m.workspace;
    size_t left = ret->device.free > fixed ? ret->device.free - fixed : 0;
    ret->memory = fixed + batch;
    ret->largest_batch = (int64_t)((double)left / (double)(batch + 1) * (double)ret->batch);
}

status trial_create(const config *c, const backend_choice *on, bool times_nodes, trial **ret, error *err)
{
    trial *t = xcalloc(1, sizeof *t);
    t->config = c;
    t->times_nodes = times_nodes;
    status st = variants_build(c, &t->variants, err);
    if (st == OK) {
        t->steps = (steps){.examples = dataset_examples(t->variants.data),
                           .batch_size = t->variants.shapes[0].examples,
                           .per_step = 1};
        st = trial_build(t, on, err);
    }
    if (st == OK)
        *ret = t;
    else
        trial_destroy(&t);
    return st;
}

static status try_device(const config *c, const backend_choice *on, int64_t samples, trial_result *ret,
                         error *err)
{
    trial *t = NULL;
    TRY(on->ops->describe(on->options.device, &ret->device, err));
    TRY(trial_create(c, on, false, &t, err));
    ret->batch = trial_batch(t);
    ret->tokens = tokens_of(t->variants.data);
    ret->flops = graph_flops(t->variants.graphs[0]);
    status st = trial_measure(t, samples, ret, err);
    count_memory(t, ret);
    trial_destroy(&t);
    return st;
}

/* Once the model has left, large products have all of the device. */
status trial_run(const config *c, const backend_choice *on, int64_t samples, trial_result *ret,
                 error *err)
{
    TRY(try_device(c, on, samples, ret, err));
    return matmul_rate(on, model_precision(c), &ret->matmul_flops, err);
}
