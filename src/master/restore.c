/*
 * What a job goes back to: the newest checkpoint that is whole. One that is damaged is set aside with a
 * loud word, and the one before takes its place.
 */
#include "master/state.h"

#include "common/base/alloc.h"
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

/* Reads all of what is to be loaded. One that is damaged is set aside, and another era begins. */
static status verify_restore(master *m, error *err)
{
    error why = ERROR_INIT;
    int64_t step = m->era.start;
    status st = master_open_restore(m, step, true, &why);
    if (st == OK)
        return OK;
    if (st != E_DATA)
        return FAIL(err, st, "%s", why.text);
    TRY(pass_over(m, step, why.text, err));
    return master_turn(m, -1, "cannot load it", err);
}

/* A server may have another view of the files than we: only what is damaged here, too, is. */
status master_doubt_restore(master *m, int32_t s, const char *text, error *err)
{
    uint32_t before = m->era.identity.era;
    TRY(verify_restore(m, err));
    return m->era.identity.era != before ? OK
                                  : FAIL(err, E_DATA, "ps.%d: %s; the master can read it", (int)s, text);
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

/* --- handing it to servers that do not see it --- */

static void send_loaded(master *m, int32_t s, int32_t part, int64_t row, const void *data,
                        size_t bytes)
{
    wire_head h = master_head(m, WIRE_LOADED);
    h.part = part;
    wire_set_loaded_row(&h, row);
    h.bytes = bytes;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    span payload = span_for_call(data, bytes);
    if (net_send(m->servers[s].socket, NULL, head, &payload, NULL) != OK)
        LOG_D("SEND", "type=LOADED");
}

/* Which batches a part has, as the last of its vectors. */
static status load_applied(master *m, int32_t s, int32_t part, error *err)
{
    batch_set applied = BATCH_SET_INIT;
    buf packed = BUF_INIT;
    status st = checkpoint_read_applied(m->restore.checkpoint, part, &applied, err);
    if (st == OK) {
        batch_set_pack(&applied, &packed);
        send_loaded(m, s, part, 1 + (int64_t)optim_slots(&m->plan.optim), packed.data, packed.size);
    }
    buf_fini(&packed);
    batch_set_fini(&applied);
    return st;
}

/* A server that does not see the job dir restores one vector. */
status master_take_load(master *m, int32_t s, const wire_head *h, error *err)
{
    const flat *f = m->plan.declaration.flat;
    uint32_t before = m->era.identity.era;
    if (m->phase == SETUP && m->restore.checkpoint && !m->restore.is_verified)
        TRY(verify_restore(m, err));
    if (m->era.identity.era != before)
        return OK;
    int64_t row = wire_load_row(h), n_slots = (int64_t)optim_slots(&m->plan.optim);
    if (m->restore.checkpoint && schedule_lists_units(&m->plan.schedule) && row == 1 + n_slots)
        return load_applied(m, s, h->part, err);
    if (!m->restore.checkpoint || h->part >= f->n_parts || row > n_slots)
        return OK;
    size_t n = (size_t)flat_part_elements(f, h->part), rows = 1 + (size_t)n_slots;
    void *memory = NULL;
    TRY(mem_alloc(n * rows * sizeof(float), "a part to restore", &memory, err));
    float *vectors = memory, *slots[OPTIM_SLOTS] = {NULL};
    for (size_t i = 1; i < rows; i++)
        slots[i - 1] = vectors + i * n;
    status st = checkpoint_read_part(m->restore.checkpoint, h->part, vectors,
                                     f->parts[h->part].frozen ? NULL : slots, err);
    if (st == OK)
        send_loaded(m, s, h->part, row, vectors + (size_t)row * n, n * sizeof(float));
    mem_free(memory);
    return st;
}
