/*
 * What a job goes back to: the newest checkpoint that is whole. One that is damaged is set aside with a
 * loud word, and the one before takes its place.
 */
#include "master/state.h"

#include "optim/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which --- */

/* What a checkpoint says must fit the job; the servers check their parts themselves. */
static status master_check_layout(const master *m, const char *dir, error *err)
{
    char digest[65];
    flat_digest(m->plan.declaration.flat, digest);
    if (strcmp(checkpoint_manifest(m->restore.checkpoint)->flat_digest, digest) != 0)
        return FAIL(err, E_DATA, "resume: %s: its tensors are not this model's", dir);
    return OK;
}

static status master_open_restore(master *m, int64_t step, bool verify, error *err)
{
    checkpoint_close(&m->restore.checkpoint);
    m->restore.is_verified = false;
    char *path = checkpoint_path(m->o->dir, step);
    status st = checkpoint_open(path, verify, &m->restore.checkpoint, err);
    m->restore.is_verified = st == OK && verify;
    free(path);
    return st;
}

status master_condemn(const master *m, int64_t step, const char *why, error *err)
{
    char *name = NULL;
    TRY(checkpoint_condemn(m->o->dir, step, &name, err));
    LOG_E("DAMAGED", "checkpoint step=%lld: %s; it is kept as %s, and counts no more",
          (long long)step, why, strrchr(name, '/') + 1);
    master_tell(m, TIMELINE_DAMAGED, NULL, "the checkpoint of step %lld is damaged, and set aside: %s", (long long)step,
                why);
    free(name);
    return OK;
}

/* The one before takes the place of what was to be loaded, unless just that was chosen. */
static status pass_over(const master *m, int64_t step, const char *why, error *err)
{
    if (jobdir_goes_back(m->o->dir))
        return FAIL(err, E_DATA, "the step to go back to: %s; choose another one by --recover=step-N", why);
    return master_condemn(m, step, why, err);
}

/* A folder behind the newest checkpoint that is none: its manifest is missing. */
static status condemn_remnants(const master *m, int64_t newest, error *err)
{
    int64_t step;
    while (checkpoint_remnant(m->o->dir, newest, &step)) {
        if (newest < 0) { /* a commit that died, where folders have no other name, leaves such a one, too */
            LOG_W("DAMAGED", "step=%lld has no manifest.json, so it is no checkpoint, and there is no other",
                  (long long)step);
            return OK;
        }
        TRY(master_condemn(m, step, "it has no manifest.json", err));
    }
    return OK;
}

/* Opens the newest that is whole as far as one sees without reading all of it; -1: there is none yet. */
static status open_newest(master *m, int64_t *ret, error *err)
{
    for (;;) {
        error why = ERROR_INIT;
        TRY(checkpoint_newest(m->o->dir, ret, err));
        TRY(condemn_remnants(m, *ret, err));
        if (*ret < 0)
            return checkpoint_check_lost(m->o->dir, err);
        status st = master_open_restore(m, *ret, false, &why);
        if (st == OK)
            return OK;
        if (st != E_DATA)
            return FAIL(err, st, "resume: %s", why.text);
        TRY(pass_over(m, *ret, why.text, err));
    }
}

status master_choose_restore(master *m, int64_t *ret_saved, error *err)
{
    loss_scale_rule scaling = loss_scale_settings(m->o->config);
    m->era.lineage = m->era.identity.era;
    m->era.taken_back = true;
    m->restore.dir[0] = '\0';
    m->restore.scale = loss_scale_first(&scaling);
    TRY(open_newest(m, ret_saved, err));
    if (*ret_saved < 0)
        return OK;
    snprintf(m->restore.dir, sizeof m->restore.dir, "checkpoints/step-%09lld", (long long)*ret_saved);
    TRY(master_check_layout(m, m->restore.dir, err));
    if (checkpoint_manifest(m->restore.checkpoint)->scales)
        m->restore.scale = checkpoint_manifest(m->restore.checkpoint)->scale;
    LOG_I("RESUME", "step=%lld of=%lld from=%s", (long long)*ret_saved, (long long)m->plan.total,
          m->restore.dir);
    return OK;
}

status master_verify_restore(master *m, bool *ret_gone, error *err)
{
    error why = ERROR_INIT;
    int64_t step = m->era.start;
    status st = master_open_restore(m, step, true, &why);
    *ret_gone = st == E_DATA;
    if (*ret_gone)
        return pass_over(m, step, why.text, err);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

status master_oldest_checkpoint(const master *m, int64_t *ret, error *err)
{
    enum { BACK_MOST = 5 };
    int64_t *list = NULL, keep = config_int(m->o->config, "trainer.keep_checkpoint_max");
    size_t n = 0, back = keep > 0 && keep < BACK_MOST ? (size_t)keep : BACK_MOST;
    TRY(checkpoint_list(m->o->dir, &list, &n, err));
    if (n && list[n > back ? n - back : 0] < *ret)
        *ret = list[n > back ? n - back : 0];
    free(list);
    return OK;
}
