/*
 * Who holds which shard in the era that begins, and what servers and workers hear of it.
 */
#include "master/state.h"

#include "common/base/alloc.h"
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

void master_forget_parts(master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        m->servers[i].lineage = 0;
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
