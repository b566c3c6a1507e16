/*
 * What could not be written is tried again. Training goes on meanwhile, as long as what waits fits into
 * memory; then workers are held.
 */
#include "master/state.h"

#include "common/base/log.h"

enum { MOST_WAITING = 1 << 20 }; /* bytes of accounts in memory, before workers are held */

static status flush_accounts(master *m, error *err)
{
    error why = ERROR_INIT;
    return master_disk(m, accounting_flush(m->accounting, &why), &why, err);
}

static bool owes_cut(const master *m)
{
    return m->saver && saver_owes(m->saver);
}

/* The era that is due. Where the dir goes away again it stays so. */
static status pay_turn(master *m, error *err)
{
    const char *why = m->disk.owes_turn;
    m->disk.owes_turn = NULL;
    return master_turn(m, m->disk.owes_turn_of, why, err);
}

static status try_again(master *m, error *err)
{
    error why = ERROR_INIT;
    m->disk.failed = false;
    TRY(master_disk(m, jobdir_check_there(m->o->dir, &why), &why, err));
    if (!m->disk.failed && m->disk.owes_turn)
        TRY(pay_turn(m, err));
    if (!m->disk.failed && m->phase == SETUP)
        TRY(master_try_begin(m, err));
    if (!m->disk.failed && m->accounting)
        TRY(flush_accounts(m, err));
    if (!m->disk.failed && m->phase >= RUN)
        TRY(master_commit(m, err));
    if (!m->disk.failed && m->phase >= RUN)
        TRY(master_stop_early(m, err));
    if (!m->disk.failed && owes_cut(m)) {
        saver_try_again(m->saver); /* it is well once that is committed */
        master_say_cuts(m);
    }
    return m->disk.failed ? OK : master_try_finish(m, err);
}

static void master_say(master *m, int64_t now_us)
{
    double waited;
    size_t kept = m->accounting ? accounting_waiting(m->accounting) : 0;
    if (wait_warning_due(&m->disk.spoken, now_us, m->disk.since_us,
                    master_option(m, "distributed.wait_warning"), &waited))
        LOG_W("WAIT", "for=disk since=%.1fs at_most=%.0fs bytes_kept=%zu%s: %s", waited,
              master_option(m, "trainer.disk_timeout"), kept,
              m->disk.pauses ? " workers=held" : "", m->disk.why);
}

/* What waits in memory is bounded: then no step is begun any more. */
static void hold_workers(master *m)
{
    disk_wait *d = &m->disk;
    bool pauses = m->phase == RUN && accounting_waiting(m->accounting) > MOST_WAITING;
    if (pauses && !d->pauses)
        LOG_W("HELD", "workers wait: %zu bytes of the accounts are in memory, and the disk takes none: %s",
              accounting_waiting(m->accounting), d->why);
    d->pauses = pauses;
}

static void note_well(master *m, int64_t now_us)
{
    double waited_s = (double)(now_us - m->disk.since_us) / SECOND_US;
    LOG_I("DISK", "all is written, after=%.1fs", waited_s);
    master_tell(m, TIMELINE_DISK_WELL, NULL, "the job dir takes files again, after %.1f s", waited_s);
    m->disk = (disk_wait){0};
}

status master_watch_disk(master *m, int64_t now_us, error *err)
{
    disk_wait *d = &m->disk;
    if (master_disk_is_well(m) && m->accounting && accounting_waiting(m->accounting))
        TRY(flush_accounts(m, err));
    if (master_disk_is_well(m))
        return OK;
    hold_workers(m);
    master_say(m, now_us);
    if (backoff_expired(&d->again, now_us)) {
        TRY(try_again(m, err));
        if (!d->failed && !owes_cut(m) && !d->owes_start) {
            note_well(m, now_us);
            return OK;
        }
    }
    if (master_waited_to_leave(m, now_us))
        return FAIL(err, E_PREEMPTED, "preempted while the job dir cannot be written; start again to resume: %s",
                    d->why);
    double waited = (double)(now_us - d->since_us) / SECOND_US;
    if (waited < master_option(m, "trainer.disk_timeout"))
        return OK;
    return FAIL(err, E_DISK, "after %.0f s the job dir still cannot be written: %s", waited, d->why);
}
