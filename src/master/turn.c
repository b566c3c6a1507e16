/*
 * What makes a new era: servers that come and go.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"

static const char *name_turned(const master *m, int32_t s, char buffer[TASK_NAME])
{
    return s < 0 ? "all servers" : master_server_name(m, s, buffer);
}

/* Nobody knows what there is to go back to while the job dir is away: it is waited for (disk.c). */
static status owe_turn(master *m, int32_t s, const char *why, const error *away, error *err)
{
    char name[TASK_NAME];
    if (!m->disk.owes_turn)
        LOG_W("TURN", "%s %s: that waits until the job dir is back", name_turned(m, s, name), why);
    m->disk.owes_turn = why;
    m->disk.owes_turn_of = s;
    return master_disk(m, E_DISK, away, err);
}

status master_turn(master *m, int32_t s, const char *why, error *err)
{
    error away = ERROR_INIT;
    if (jobdir_check_there(m->o->dir, &away) != OK)
        return owe_turn(m, s, why, &away, err);
    TRY(master_begin_setup(m, err));
    char name[TASK_NAME];
    const char *who = s < 0 ? NULL : name;
    if (m->era.keeps)
        LOG_W("TURN", "%s %s: nothing is lost, era=%u", name_turned(m, s, name), why, m->era.identity.era);
    else
        LOG_W("ROLLBACK", "%s %s: back to the last checkpoint", name_turned(m, s, name), why);
    master_tell(m, m->era.keeps ? TIMELINE_TURN : TIMELINE_ROLLBACK, who, "%s%s: %s", who ? "" : "servers ", why,
                m->era.keeps ? "nothing is lost" : "back to the last checkpoint");
    return OK;
}

status master_give_up(master *m, const char *why, error *err)
{
    master_forget_parts(m);
    return master_turn(m, -1, why, err);
}

/* A server that has not loaded yet what all went back to bears nothing: a turn would have it begin anew. */
static bool others_hold(const master *m, int32_t but)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (i != but && assign_needs(&m->assign, i) && m->servers[i].lineage != m->era.lineage)
            return false;
    return true;
}

status master_watch_servers(master *m, int64_t now_us, error *err)
{
    if (!m->assign.copies || m->phase < SETUP || m->phase > RUN)
        return OK;
    /* who is to act again may be past a cut that the one who acts still writes */
    if (m->phase == RUN && !saver_is_cutting(m->saver, master_applied(m)) &&
        assign_balance(&m->assign))
        return master_turn(m, -1, "act again for what they were dealt", err);
    double limit_s = master_option(m, "distributed.heartbeat_timeout");
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        bool hangs = s->welcomed && master_hears_servers(m);
        if ((s->welcomed && !hangs) || master_silence_s(s, now_us) < limit_s ||
            !assign_needs(&m->assign, i) || !assign_bears(&m->assign, i) || !others_hold(m, i))
            continue;
        if (hangs)
            TRY(master_redial(m, i, err)); /* thawed it says WELCOME, and is sent what it missed */
        s->lineage = 0;
        return master_turn(m, i, hangs ? "is silent on an open connection"
                                       : "is silent and its connection is gone", err);
    }
    return OK;
}

/* The two may not reach each other although both reach us. A standby that is silent here too is
 * frozen or gone: that is for master_watch_servers to see. */
static status part_from_standby(master *m, const holders *h, error *err)
{
    double silent = (double)(clock_us() - m->servers[h->standby].heard_us) / SECOND_US;
    if (m->phase < SETUP || m->phase > RUN ||
        silent >= master_option(m, "distributed.heartbeat_timeout"))
        return OK;
    int32_t standby = h->standby;
    assign_doubt(&m->assign, h->acting, standby);
    return master_turn(m, standby, "does not answer whom it stands by for", err);
}

status master_take_backed(master *m, int32_t s, const wire_head *h, error *err)
{
    int64_t shard = wire_backed_shard(h);
    const holders *one = shard < m->assign.n ? &m->assign.shards[shard] : NULL;
    if (!one || one->acting != s || one->standby == HOLDER_NONE)
        return OK;
    if (wire_backed_unanswered(h))
        return part_from_standby(m, one, err);
    if (!assign_back(&m->assign, (int32_t)shard))
        return OK;
    char standby[TASK_NAME], acting[TASK_NAME];
    master_server_name(m, s, acting);
    master_server_name(m, one->standby, standby);
    LOG_I("BACKED", "shard=%d acting=%s standby=%s", (int)shard, acting, standby);
    master_tell(m, TIMELINE_BACKED, standby, "stands by for shard %d, for which %s acts", (int)shard, acting);
    return OK;
}
