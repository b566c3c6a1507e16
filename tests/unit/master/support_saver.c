#include "unit/master/support_saver.h"

saver *saver_of(const accounts *b, const plan *p)
{
    return saver_create(&(saver_options){
        .dir = b->dir,
        .flat = b->flat,
        .steps = {.examples = 2 * p->per_epoch, .batch_size = 1, .per_step = 2},
        .begin = p->begin,
        .total = p->total,
        .epoch_ends = p->epoch_ends,
        .every_steps = p->every_steps,
        .every_s = p->every_s,
        .n_servers = SERVERS,
        .lineage = 7,
        .scales = p->scales,
        .config_digest = "0000000000000000000000000000000000000000000000000000000000000000",
    });
}

status saver_take(saver *s, const shard_report *r, int64_t *ret_step, error *err)
{
    *ret_step = -1;
    TRY(saver_shard(s, r, err));
    int64_t step = saver_written(s, NULL);
    if (step < 0)
        return OK;
    TRY(saver_commit(s, -1, err));
    *ret_step = step;
    return OK;
}
