/*
 * Servers come and go: what that makes of the assignment, and what servers and workers hear of it.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/shards.h"

#include <stdlib.h>

/* --- the assignment of an era --- */

/* Versions of one lineage fit together: no two parts differ by more than one. */
static bool parts_fit(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].lineage || m->servers[i].lineage != m->servers[0].lineage)
            return false;
    return true;
}

/* What servers hold tells a master that has just started who acted and stood by. */
static bool master_find_holders(master *m)
{
    size_t n = (size_t)m->o->n_servers;
    claim *claims = xcalloc(n, sizeof *claims);
    for (size_t i = 0; i < n; i++) {
        const server *s = &m->servers[i];
        claims[i] = (claim){.lineage = s->lineage,
                            .era = s->era,
                            .holds = s->holds,
                            .assignment = s->assignment};
    }
    bool found = assign_find(&m->assign, claims);
    for (size_t i = 0; found && i < n; i++)
        if (assign_acts(&m->assign, (int32_t)i))
            m->era.lineage = m->servers[i].lineage;
    free(claims);
    return found;
}

bool master_can_spare(master *m, double waited_s)
{
    return m->phase == GATHER && m->assign.copies &&
           waited_s > master_option(m, "distributed.heartbeat_timeout") && master_find_holders(m);
}

/* Those who lost their parts are replaced by their standbys; those who are here stand by wherever a
 * standby is missing. */
static bool replace_lost(master *m)
{
    size_t n = (size_t)m->o->n_servers;
    bool *is_lost = xcalloc(2 * n, sizeof *is_lost), *is_here = is_lost + n;
    for (size_t i = 0; i < n; i++) {
        is_lost[i] = !m->servers[i].lineage;
        is_here[i] = m->servers[i].welcomed;
    }
    bool is_borne = assign_replace(&m->assign, is_lost, is_here);
    free(is_lost);
    return is_borne;
}

bool master_assign(master *m)
{
    bool keeps = m->assign.copies ? (m->phase != GATHER || master_find_holders(m)) && replace_lost(m)
                                  : parts_fit(m);
    if (keeps && !m->assign.copies)
        m->era.lineage = m->servers[0].lineage;
    if (!keeps)
        assign_deal(&m->assign);
    return keeps;
}

void master_note_shards(const master *m, server *s, const Wire__Welcome *w)
{
    size_t n = (size_t)m->o->n_servers;
    s->era = w->era;
    free(s->holds);
    s->holds = xcalloc(n, sizeof *s->holds);
    for (size_t i = 0; i < w->n_shards; i++)
        if (w->shards[i] < n)
            s->holds[w->shards[i]] = true;
    free(s->assignment);
    s->assignment = xcalloc(n, sizeof *s->assignment);
    if (wire_shards_read(w->assignment, w->n_assignment, m->o->n_servers, s->assignment, NULL) == OK)
        return;
    free(s->assignment);
    s->assignment = NULL;
}

/* --- what makes a new era --- */

static const char *name_turned(int32_t s, char buffer[TASK_NAME])
{
    return s < 0 ? "all servers" : task_name((task){ROLE_PS, s}, buffer);
}

/* Nobody knows what there is to go back to while the job dir is away: it is waited for (disk.c). */
static status owe_turn(master *m, int32_t s, const char *why, const error *away, error *err)
{
    char name[TASK_NAME];
    if (!m->disk.owes_turn)
        LOG_W("TURN", "%s %s: that waits until the job dir is back", name_turned(s, name), why);
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
    if (m->era.keeps)
        LOG_W("TURN", "%s %s: nothing is lost, era=%u", name_turned(s, name), why, m->era.identity.era);
    else
        LOG_W("ROLLBACK", "%s %s: back to the last checkpoint", name_turned(s, name), why);
    return OK;
}

void master_forget_parts(master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        m->servers[i].lineage = 0;
}

status master_give_up(master *m, const char *why, error *err)
{
    master_forget_parts(m);
    return master_turn(m, -1, why, err);
}

double master_silence_s(const server *s, int64_t now_us)
{
    double silent_s = (double)(now_us - s->heard_us) / SECOND_US;
    double asked_s = (s->unanswered - 1) * BEAT_MS * 1e-3;
    return silent_s < asked_s ? silent_s : asked_s;
}

bool master_hears_servers(const master *m)
{
    return m->phase == RUN || (m->phase == SETUP && m->era.keeps);
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
    if (assign_back(&m->assign, (int32_t)shard))
        LOG_I("BACKED", "shard=%d acting=ps.%d standby=ps.%d", (int)shard, s, one->standby);
    return OK;
}

/* --- what is said of it --- */

void master_fill_shards(const master *m, Wire__Setup *ret)
{
    const assign *a = &m->assign;
    size_t n = (size_t)a->n;
    if (!a->copies)
        return;
    ret->shards = wire_shards_fill(a->shards, a->n);
    ret->n_shards = ret->n_addresses = n;
    ret->addresses = (char **)(uintptr_t)m->o->servers;
}

void master_clear_shards(Wire__Setup *s)
{
    wire_shards_clear(s->shards);
}

uint32_t *master_list_acting(const master *m, size_t *ret_n)
{
    *ret_n = m->assign.copies ? (size_t)m->assign.n : 0;
    uint32_t *acting = xcalloc(*ret_n + 1, sizeof *acting);
    for (size_t i = 0; i < *ret_n; i++)
        acting[i] = (uint32_t)m->assign.shards[i].acting;
    return acting;
}
