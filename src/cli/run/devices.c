#include "cli/run/devices.h"

#include "common/base/buf.h"
#include "common/base/log.h"
#include "job/process/subprocess.h"
#include "model/model.h"

#include <stdio.h>

#define KEY "distributed.cuda_devices"

/* --- looking --- */

static status look(void *user, error *err)
{
    return cuda_look(user, err);
}

/* Of several kinds of trouble only those count that somebody could want to hear of. */
static void look_apart(cuda_gpus *ret, error *trouble)
{
    *ret = (cuda_gpus){.n = 0};
    if (cuda_has_driver() && subprocess_run(look, ret, ret, sizeof *ret, trouble) != OK)
        *ret = (cuda_gpus){.n = 0};
}

static status find_named(void *user, error *err)
{
    const devices *d = user;
    for (size_t i = 0; i < config_count(d->config, KEY); i++) {
        backend_choice device;
        TRY(devices_of_lane(d, (int64_t)i, &device, err));
        if (device.ops == &backend_cuda)
            TRYF(cuda_find(device.options.device, err), err, KEY "[%zu]", i);
    }
    return OK;
}

static status check_named(const devices *d, error *err)
{
    backend_choice first;
    error why = ERROR_INIT;
    TRY(devices_of_lane(d, 0, &first, err));
    if (first.ops != &backend_cuda)
        return OK;
    status st = subprocess_run(find_named, (void *)(uintptr_t)d, NULL, 0, &why);
    return st == OK ? OK : FAIL(err, E_CONFIG, "%s", why.text);
}

status devices_find(const config *c, bool check, devices *ret, error *err)
{
    *ret = (devices){.config = c};
    if (!config_has(c, KEY))
        look_apart(&ret->gpus, &ret->trouble);
    return check ? check_named(ret, err) : OK;
}

backend_choice devices_one(int threads)
{
    devices d = {.config = NULL};
    look_apart(&d.gpus, &d.trouble);
    backend_choice one = backend_numbered(d.gpus.n ? d.gpus.number[0] : -1, threads);
    devices_log(&d, &one, 1);
    return one;
}

/* --- dealing --- */

static status read_entry(const config *c, size_t i, backend_choice *ret, error *err)
{
    char path[64];
    snprintf(path, sizeof path, KEY "[%zu]", i);
    const json_t *entry = config_json(c, path);
    int threads = (int)config_int(c, "trainer.threads");
    if (json_is_string(entry))
        TRYF(backend_named(json_string_value(entry), threads, ret, err), err, "%s", path);
    else
        *ret = backend_numbered(json_integer_value(entry), threads);
    return OK;
}

static status devices_deal(const devices *d, int64_t lane, backend_choice *ret, error *err)
{
    const config *c = d->config;
    int64_t number = d->gpus.n ? d->gpus.number[lane % d->gpus.n] : -1;
    *ret = backend_numbered(number, (int)config_int(c, "trainer.threads"));
    size_t n = config_count(c, KEY);
    for (size_t i = 0; i < n; i++) {
        backend_choice entry, first = {.ops = NULL};
        TRY(read_entry(c, 0, &first, err));
        TRY(read_entry(c, i, &entry, err));
        if (entry.ops != first.ops)
            return FAIL(err, E_CONFIG,
                        KEY ": names GPUs and the CPU, whose bits differ; name one kind only");
        if ((size_t)lane % n == i)
            *ret = entry;
    }
    return OK;
}

status devices_train(const config *c, const backend_choice *on, error *err)
{
    if (on->ops != &backend_cpu || model_precision(c) != PRECISION_F16)
        return OK;
    return FAIL(err, E_CONFIG,
                "trainer.precision: the CPU does not multiply float16; use \"bf16\" or \"f32\", or a "
                "GPU (" KEY ")");
}

int64_t devices_first_lane(const cluster *k, int32_t worker, int32_t lanes)
{
    bool is_local = k->origin == CLUSTER_RANKS && k->world.local_rank >= 0;
    return (int64_t)(is_local ? k->world.local_rank : worker) * lanes;
}

status devices_of_lane(const devices *d, int64_t lane, backend_choice *ret, error *err)
{
    TRY(devices_deal(d, lane, ret, err));
    return devices_train(d->config, ret, err);
}

status devices_of_evaluator(const devices *d, backend_choice *ret, error *err)
{
    return devices_deal(d, 0, ret, err);
}

/* --- telling --- */

static void say_why(const devices *d, int32_t n, buf *to)
{
    int32_t taken = n < d->gpus.n ? n : d->gpus.n;
    if (!d->gpus.n) {
        buf_adds(to, KEY " names them");
        return;
    }
    if (taken == d->gpus.visible)
        buf_addf(to, "all %d visible GPUs; ", taken);
    else
        buf_addf(to, "%d of %d visible GPUs; ", taken, d->gpus.visible);
    if (d->gpus.n < d->gpus.visible)
        buf_addf(to, "%d are of another kind or of no use; ", d->gpus.visible - d->gpus.n);
    buf_adds(to, KEY " is not set");
}

void devices_log(const devices *d, const backend_choice *lanes, int32_t n)
{
    buf text = BUF_INIT;
    char name[BACKEND_NAME];
    if (d->trouble.code != OK) {
        LOG_W("NO_GPU", "the CPU computes: %s", d->trouble.text);
    } else if (n && lanes[0].ops == &backend_cuda) {
        for (int32_t i = 0; i < n; i++)
            buf_addf(&text, "%s%s", i ? " " : "", backend_name(&lanes[i], name));
        buf_adds(&text, ": ");
        say_why(d, n, &text);
        LOG_I("DEVICES", "%s", text.data);
    }
    const backend_note_ops *of = n ? lanes[0].ops->note : NULL;
    if (d->config && of && of->products) {
        const char *note = of->products(model_precision(d->config));
        if (note)
            LOG_I("PRODUCTS", "%s", note);
    }
    buf_fini(&text);
}
