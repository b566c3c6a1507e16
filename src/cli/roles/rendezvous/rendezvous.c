#include "cli/roles/rendezvous/meeting.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "job/ports.h"

#include <stdlib.h>

static meeting *create(const rendezvous_options *o)
{
    meeting *m = xcalloc(1, sizeof *m);
    m->o = o;
    m->rank = o->cluster->task.index;
    m->size = o->cluster->jobs[ROLE_WORKER].n;
    m->seen.listen_fd = -1;
    return m;
}

static void destroy(meeting *m)
{
    rank0_fini(m);
    net_close(&m->socket, 0);
    cluster_destroy(&m->cluster);
    free(m->listen);
    free(m->address);
    free(m);
}

static status meet_as_rank0(meeting *m, error *err)
{
    char name[MEETING_HOST];
    int port;
    TRY(meeting_split(m, name, &port, err));
    const char *known = name[0] ? name : PORTS_HOST;
    TRY(meeting_open(m, known, 0, err));
    TRY(rank0_listen(m, err));
    TRY(rank0_gather(m, err));
    return rank0_stay(m, err);
}

status rendezvous_meet(const rendezvous_options *o, rendezvous **ret, error *err)
{
    meeting *m = create(o);
    int64_t begin = clock_us();
    status st = m->rank == 0 ? meet_as_rank0(m, err) : other_rank_join(m, err);
    if (st == OK) {
        if (m->cluster)
            LOG_I("MET", "ranks=%d after=%.3fs address=%s", (int)m->size,
                  (double)(clock_us() - begin) * 1e-6, m->address);
        *ret = &m->seen;
        return OK;
    }
    meeting_close_listener(m);
    destroy(m);
    return st;
}

void rendezvous_end(rendezvous **v)
{
    if (!v || !*v)
        return;
    destroy((meeting *)*v);
    *v = NULL;
}

status rendezvous_dismiss(const rendezvous_options *o, status why, const char *text, error *err)
{
    meeting *m = create(o);
    m->is_over_before = true;
    m->why = why;
    m->text = text;
    status st = rank0_listen(m, err);
    if (st == OK)
        st = rank0_dismiss(m, err);
    destroy(m);
    return st;
}
