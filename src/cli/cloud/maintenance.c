#include "cli/cloud/maintenance.h"

#include "cli/cloud/metadata.h"
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT, PREEMPTED, KEYS };

static const char *const keys[KEYS] = {
    [EVENT] = "instance/maintenance-event",
    [PREEMPTED] = "instance/preempted",
};

typedef enum news { UNHEARD, CALM, MOVES, ENDS } news;

static const struct {
    int key;
    const char *value;
    news is;
} values[] = {
    {EVENT, "NONE", CALM},
    {EVENT, "MIGRATE_ON_HOST_MAINTENANCE", MOVES},
    {EVENT, "TERMINATE_ON_HOST_MAINTENANCE", ENDS},
    {PREEMPTED, "FALSE", CALM},
    {PREEMPTED, "TRUE", ENDS},
};

struct maintenance {
    metadata *server;
    atomic_bool *stop;
    news last[KEYS];
    bool has_warned;
    pthread_t thread;
};

static status understand(size_t key, const char *value, news *ret, error *err)
{
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (values[i].key == (int)key && strcmp(values[i].value, value) == 0) {
            *ret = values[i].is;
            return OK;
        }
    return FAIL(err, E_IO, "%s: '%.64s' is no value that is known of it", keys[key], value);
}

static status maintenance_hear(maintenance *m, size_t key, const char *value, error *err)
{
    news now = UNHEARD, before = m->last[key];
    TRY(understand(key, value, &now, err));
    m->last[key] = now;
    if (now == before)
        return OK;
    if (now == ENDS && before != UNHEARD) {
        LOG_W("MAINTENANCE", "%s=%s: this machine will end; the same follows as on SIGTERM",
              keys[key], value);
        atomic_store(m->stop, true);
    } else {
        LOG_I("MAINTENANCE", "%s=%s%s", keys[key], value,
              now == ENDS    ? ": announced before this task began, which goes on until SIGTERM"
              : now == MOVES ? ": this machine moves while it runs"
                             : "");
    }
    return OK;
}

static void *watch(void *arg)
{
    maintenance *m = arg;
    for (;;) {
        error err = ERROR_INIT;
        size_t key = 0;
        char value[METADATA_VALUE];
        status st = metadata_next(m->server, &key, value, &err);
        if (st == E_ABORTED)
            return NULL;
        if (st == OK)
            st = maintenance_hear(m, key, value, &err);
        if (st == OK || m->has_warned)
            continue;
        m->has_warned = true;
        LOG_W("NO_METADATA", "%s; until that changes maintenance shows by SIGTERM only", err.text);
    }
}

status maintenance_watch(atomic_bool *stop, maintenance **ret, error *err)
{
    maintenance *m = xcalloc(1, sizeof *m);
    m->stop = stop;
    status st = metadata_open(keys, KEYS, &m->server, err);
    if (st == OK)
        st = thread_start(&m->thread, "maintenance", watch, m, err);
    if (st != OK) {
        error_prepend(err, "distributed.gce_maintenance");
        metadata_close(&m->server);
        free(m);
        return st;
    }
    *ret = m;
    return OK;
}

void maintenance_end(maintenance **m)
{
    if (!*m)
        return;
    metadata_wake((*m)->server);
    pthread_join((*m)->thread, NULL);
    metadata_close(&(*m)->server);
    free(*m);
    *m = NULL;
}
