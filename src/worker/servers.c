/*
 * What servers say beside the weights: kv's hooks, in every mode.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>

void worker_on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    worker *w = user;
    (void)server;
    if ((w->o->master && !worker_master_is_silent(w)) || !m->master_address[0] || w->ending.outcome != OK)
        return;
    char *endpoint = xasprintf("tcp://%s", m->master_address);
    if (!w->master.endpoint || strcmp(endpoint, w->master.endpoint) != 0) {
        LOG_I("RELAY", "master=%s told by a server", m->master_address);
        w->ending.outcome = master_link_dial(&w->master, endpoint, w->ending.err);
    }
    free(endpoint);
}

void worker_on_refused(void *user, int32_t server, const wire_head *h, const Wire__Refused *m)
{
    worker *w = user;
    int64_t its = wire_refused_server(h);
    bool is_another = its >= 0 && its != w->o->first_server + server; /* than we look for */
    if (m->status == OK || m->status >= STATUS_COUNT || w->ending.outcome != OK)
        return;
    unsigned others;
    const char *name = kv_server_name(w->mode->kv(w), server);
    /* which of us does not fit the job is the master's to say, where there is one */
    if (m->status == E_CONFIG && !is_another && (w->has_view || w->o->master)) {
        if (log_pace_allows(&w->refused_pace, clock_us(), &others))
            LOG_W("REFUSED", "by server %s: %s", name, m->text);
        return;
    }
    w->ending.outcome = FAIL(w->ending.err, (status)m->status, "refused by server %s: %s", name, m->text);
}
