#include "cli/play/devices.h"

#include "backend/cuda/cuda.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "job/apart.h"

#include <stdio.h>

#define KEY "distributed.cuda_devices"

int32_t devices_lanes(const config *c)
{
    int64_t named = (int64_t)config_count(c, KEY);
    int64_t lanes = named ? named : thread_cpus() / config_int(c, "trainer.threads");
    if (config_has(c, "distributed.lanes"))
        lanes = config_int(c, "distributed.lanes");
    return lanes > 0 ? (int32_t)lanes : 1;
}

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

status devices_of_lane(const config *c, int64_t lane, backend_choice *ret, error *err)
{
    size_t n = config_count(c, KEY);
    *ret = backend_numbered(-1, (int)config_int(c, "trainer.threads"));
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

static status find_all(void *user, error *err)
{
    const config *c = user;
    for (size_t i = 0; i < config_count(c, KEY); i++) {
        backend_choice device;
        TRY(devices_of_lane(c, (int64_t)i, &device, err));
        if (device.ops == &backend_cuda)
            TRYF(cuda_find(device.options.device, err), err, KEY "[%zu]", i);
    }
    return OK;
}

status devices_check(const config *c, error *err)
{
    backend_choice first;
    error why = ERROR_INIT;
    TRY(devices_of_lane(c, 0, &first, err));
    if (first.ops != &backend_cuda)
        return OK;
    status st = apart_run(find_all, (void *)(uintptr_t)c, NULL, 0, &why);
    return st == OK ? OK : FAIL(err, E_CONFIG, "%s", why.text);
}
