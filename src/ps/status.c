/*
 * STATUS: how this server stands, for whoever looks at the job.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/wire/status.h"

#include <stdlib.h>

/* Of a model of so many parts the others are only counted. */
enum { PARTS_TOLD = 4096 };

enum { SOON_US = 20 * 1000 };

/* The live parts that are held; each array has room for all that are told. */
static void fill_parts(const ps *s, Wire__Status *m)
{
    for (int32_t p = 0; p < s->plan.declaration.flat->n_live_parts; p++) {
        if (!table_holds(s->table, p))
            continue;
        if (m->n_parts == PARTS_TOLD) {
            m->parts_left_out++;
            continue;
        }
        m->parts[m->n_parts++] = (uint32_t)p;
        m->versions[m->n_versions++] = table_version(s->table, p);
        m->pulls[m->n_pulls++] = (uint32_t)s->pulls[p].n;
    }
}

/* Now and then; and when a shard is written, which may be the job's last. */
void ps_say_status(ps *s, int64_t now_us)
{
    int64_t every_us = s->has_cut ? SOON_US : WIRE_STATUS_US;
    if (!s->chief.is_known || now_us - s->said_status_us < every_us)
        return;
    s->said_status_us = now_us;
    s->has_cut = false;
    wait_list waits = WAIT_LIST_INIT;
    Wire__Status m;
    ps_list_waits(s, now_us, &waits);
    wire_status_fill(ROLE_PS, &waits, &m);
    m.parts = xcalloc(PARTS_TOLD, sizeof *m.parts);
    m.versions = xcalloc(PARTS_TOLD, sizeof *m.versions);
    m.pulls = xcalloc(PARTS_TOLD, sizeof *m.pulls);
    if (s->set_up)
        fill_parts(s, &m);
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_STATUS}, &m.base);
    free(m.parts);
    free(m.versions);
    free(m.pulls);
    wire_status_clear(&m);
}
