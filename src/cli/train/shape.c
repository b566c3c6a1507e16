#include "cli/train/shape.h"

#include "common/config/mode.h"

status shape_of(const config *c, int cpus, shape *ret, error *err)
{
    shape s = {
        .workers = (int)config_int(c, "distributed.workers"),
        .ps = (int)config_int(c, "distributed.ps"),
        .evaluators = (int)config_int(c, "distributed.evaluators"),
        .threads = (int)config_int(c, "trainer.threads"),
    };
    int devices = (int)config_count(c, "distributed.cuda_devices");
    if (s.workers == 0 && devices > 1 && !config_has(c, "distributed.lanes"))
        s.workers = devices;
    if (s.workers == 0 && s.ps > 0)
        return FAIL(err, E_USAGE,
                    "%d parameter servers without workers: add --workers N, or leave out --ps to "
                    "train in one process",
                    s.ps);
    if (s.workers == 0 && s.evaluators > 0)
        return FAIL(err, E_USAGE,
                    "an evaluator without workers: add --workers N, or leave out --evaluators: one "
                    "process evaluates by itself");
    bool copies = config_int(c, "distributed.ps_replicas");
    if (s.workers > 0 && s.ps == 0)
        s.ps = copies ? 2 : 1;
    if (s.ps == 1 && copies)
        return FAIL(err, E_USAGE,
                    "distributed.ps_replicas: 1 needs a second parameter server to hold the copies: use "
                    "--ps 2 or more");

    int computing = s.workers > 0 ? s.workers : 1;
    s.lanes = devices ? devices / computing : cpus / (s.threads * computing);
    if (config_has(c, "distributed.lanes"))
        s.lanes = (int)config_int(c, "distributed.lanes");
    if (s.lanes < 1)
        s.lanes = 1;
    s.batches_per_step = mode_batches_per_step(c, (int64_t)computing * s.lanes);
    *ret = s;
    return OK;
}
