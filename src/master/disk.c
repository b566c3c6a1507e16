/*
 * A job dir that cannot be written: no room, a used up quota, a disk that fails, a folder that was moved
 * away. What was to be written is tried again (disk_retry.c), later each time, until trainer.disk_timeout.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"

#include <stdio.h>

bool master_disk_is_well(const master *m)
{
    return !m->disk.since_us;
}

static void master_note(master *m, const char *why)
{
    disk_wait *d = &m->disk;
    d->failed = true;
    snprintf(d->why, sizeof d->why, "%s", why);
    if (d->since_us)
        return;
    d->since_us = clock_us();
    d->spoken = (wait_warning){0};
    backoff_begin(&d->again, d->since_us);
    LOG_W("DISK", "%s: it is tried again, for %.0f s at most", why,
          master_option(m, "trainer.disk_timeout"));
    master_tell(m, TIMELINE_DISK, NULL, "the job dir takes nothing: %s", why);
}

status master_disk(master *m, status st, const error *why, error *err)
{
    error gone = ERROR_INIT;
    if (st == OK)
        return OK;
    if (fs_is_cause(st) && jobdir_check_there(m->o->dir, &gone) != OK)
        master_note(m, gone.text); /* whatever it is that could not be written */
    else if (st == E_DISK)
        master_note(m, why->text);
    else
        return FAIL(err, st, "%s", why->text);
    return OK;
}

void master_disk_took(master *m)
{
    m->disk.again.until_us = 0;
}
