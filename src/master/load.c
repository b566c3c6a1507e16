/*
 * What servers load as an era begins: what they find damaged is looked at, and those that do not see the job
 * dir are handed it.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

/* One that is damaged is set aside, and another era begins. */
static status verify(master *m, error *err)
{
    bool is_gone = false;
    TRY(master_verify_restore(m, &is_gone, err));
    return is_gone ? master_turn(m, -1, "cannot load it", err) : OK;
}

/* A server may have another view of the files than we: only what is damaged here, too, is. */
status master_doubt_restore(master *m, int32_t s, const char *text, error *err)
{
    uint32_t before = m->era.identity.era;
    TRY(verify(m, err));
    return m->era.identity.era != before ? OK
                                  : FAIL(err, E_DATA, "ps.%d: %s; the master can read it",
                                         (int)(m->o->first_server + s), text);
}

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
        TRY(verify(m, err));
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
