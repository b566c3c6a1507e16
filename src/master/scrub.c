/*
 * Checkpoints that are kept are read in turn while the job runs, so that damage is known before one is needed.
 */
#include "master/state.h"

#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/eval_damage.h"

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
static status set_aside(master *m, int64_t step, const error *why, error *err)
{
    bool others = false, is_newest = false;
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

/* One whose evaluation is awaited: servers that hold its version write it again, else all go back. */
static status write_again(master *m, int64_t step, const error *why, error *err)
{
    char *path = checkpoint_path(m->o->dir, step);
    bool is_there = fs_exists(path);
    free(path);
    if (!is_there)
        return master_give_up(m, "write a checkpoint again that is to be evaluated and was removed", err);
    TRY(master_condemn(m, step, why->text, err));
    m->scrub.doubted = -1; /* what takes its place is another one */
    return master_turn(m, -1, "write a checkpoint again that is to be evaluated", err);
}

/* The last one, or that of an epoch by which the learning rate goes on. */
static bool is_awaited(const master *m, int64_t step)
{
    bool is_last = m->phase == DRAIN && step == m->plan.total && !results_has(m->results, step);
    return !m->ending.preempted && (is_last || (m->phase == RUN && results_needs(m->results, step)));
}

static status tell_damaged(master *m, int64_t step, const error *why, error *err)
{
    if (is_awaited(m, step))
        return write_again(m, step, why, err);
    return checkpoint_is_there(m->o->dir, step) ? set_aside(m, step, why, err) : OK; /* or removed meanwhile */
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

/* One that an evaluator cannot read is read at once, and again while it says so; so is the last one, if it is
 * awaited and is gone. -1: there is none. */
static int64_t find_doubted(const master *m, int64_t now_us)
{
    enum { AGAIN_US = 10 * SECOND_US };
    size_t n = 0;
    int64_t *list = eval_damage_list(m->o->dir, &n), found = -1;
    for (size_t i = 0; i < n && found < 0; i++) {
        bool was_read = list[i] == m->scrub.doubted && now_us - m->scrub.doubted_us < AGAIN_US;
        found = !was_read && checkpoint_is_there(m->o->dir, list[i]) ? list[i] : -1;
    }
    free(list);
    bool is_gone = is_awaited(m, m->plan.total) && !checkpoint_is_there(m->o->dir, m->plan.total);
    return found < 0 && is_gone ? m->plan.total : found;
}

static bool begin_doubted(master *m, int64_t now_us)
{
    int64_t step = find_doubted(m, now_us);
    m->scrub.is_doubted = step >= 0;
    if (step < 0)
        return false;
    LOG_D("SCRUB", "step=%lld is doubted", (long long)step);
    m->scrub.doubted = step;
    m->scrub.doubted_us = now_us;
    scrubber_begin(m->scrub.scrubber, m->o->dir, step);
    return true;
}

static status master_take_scrubbed(master *m, error *err)
{
    int64_t step;
    status found;
    error why = ERROR_INIT;
    if (!scrubber_take(m->scrub.scrubber, &step, &found, &why))
        return OK;
    if (found == E_DATA)
        return tell_damaged(m, step, &why, err);
    if (found != OK)
        LOG_W("SCRUB", "checkpoint step=%lld is not read: %s", (long long)step, why.text);
    else if (m->scrub.is_doubted)
        LOG_W("DAMAGED", "checkpoint step=%lld: the evaluator cannot read it, but here it is whole",
              (long long)step);
    return OK;
}

status master_scrub(master *m, int64_t now_us, error *err)
{
    error lack = ERROR_INIT;
    double every_s = master_option(m, "trainer.scrub_checkpoints_secs");
    if ((m->phase != RUN && m->phase != DRAIN) || !master_disk_is_well(m))
        return OK;
    status st = master_take_scrubbed(m, &lack);
    bool is_due = every_s > 0 && m->phase == RUN && (double)(now_us - m->scrub.begun_us) / SECOND_US >= every_s;
    bool is_free = st == OK && (m->phase == RUN || m->phase == DRAIN) && scrubber_is_free(m->scrub.scrubber);
    if (is_free && !begin_doubted(m, now_us) && is_due) {
        m->scrub.begun_us = now_us;
        st = begin_next(m, &lack);
    }
    return master_disk(m, st, &lack, err);
}
