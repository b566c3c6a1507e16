/*
 * Checkpoints that are kept are read in turn while the job runs, so that damage is known before one is needed.
 */
#include "master/state.h"

#include "common/base/log.h"

#include <stdlib.h>

/* Of those there are: whether one is whole as far as is known but `step`, and whether none is newer. */
static status look_around(const master *m, int64_t step, bool *ret_others, bool *ret_newest, error *err)
{
    int64_t *list = NULL;
    size_t n = 0;
    TRY(checkpoint_list(m->o->dir, &list, &n, err));
    *ret_others = n > 1;
    *ret_newest = n && list[n - 1] == step;
    free(list);
    return OK;
}

/* The only one stays what it is, for there is nothing else to go back to: whoever loads it reads it first. */
static status tell_damaged(master *m, int64_t step, const error *why, error *err)
{
    bool others = false, is_newest = false;
    if (!checkpoint_is_there(m->o->dir, step))
        return OK; /* removed while it was read */
    TRY(look_around(m, step, &others, &is_newest, err));
    error stays = ERROR_INIT;
    status st = others ? master_condemn(m, step, why->text, &stays) : OK;
    if (st == E_DATA) /* it may not be read */
        LOG_W("DAMAGED", "checkpoint step=%lld: %s", (long long)step, stays.text);
    else if (st != OK)
        return FAIL(err, st, "%s", stays.text);
    if (!others)
        LOG_E("DAMAGED", "checkpoint step=%lld: %s; there is no other", (long long)step, why->text);
    if (is_newest)
        saver_soon(m->saver);
    return OK;
}

/* The next after the one that was read last. */
static status begin_next(master *m, error *err)
{
    int64_t *list = NULL;
    size_t n = 0, i = 0;
    TRY(checkpoint_list(m->o->dir, &list, &n, err));
    while (i < n && list[i] <= m->scrub.step)
        i++;
    if (n) {
        m->scrub.step = list[i < n ? i : 0];
        scrubber_begin(m->scrub.scrubber, m->o->dir, m->scrub.step);
    }
    free(list);
    return OK;
}

status master_scrub(master *m, int64_t now_us, error *err)
{
    int64_t step;
    status found;
    error why = ERROR_INIT, lack = ERROR_INIT;
    double every_s = master_option(m, "trainer.scrub_checkpoints_secs");
    if (m->phase != RUN || !master_disk_is_well(m) || every_s <= 0)
        return OK;
    status st = OK;
    bool is_read = scrubber_take(m->scrub.scrubber, &step, &found, &why);
    if (is_read && found == E_DATA)
        st = tell_damaged(m, step, &why, &lack);
    else if (is_read && found != OK)
        LOG_W("SCRUB", "checkpoint step=%lld is not read: %s", (long long)step, why.text);
    bool is_due = (double)(now_us - m->scrub.begun_us) / SECOND_US >= every_s;
    if (st == OK && is_due && scrubber_is_free(m->scrub.scrubber)) {
        m->scrub.begun_us = now_us;
        st = begin_next(m, &lack);
    }
    return master_disk(m, st, &lack, err);
}
