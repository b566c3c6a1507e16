#include "master/servers/assign.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void assign_init(assign *a, int32_t n, bool copies)
{
    *a = (assign){.n = n, .copies = copies && n > 1};
    a->shards = xcalloc((size_t)n, sizeof *a->shards);
    assign_deal(a);
}

void assign_fini(assign *a)
{
    free(a->shards);
    *a = (assign){.n = 0};
}

void assign_deal(assign *a)
{
    for (int32_t i = 0; i < a->n; i++)
        a->shards[i] = (holders){
            .acting = i,
            .standby = a->copies ? (i + 1) % a->n : HOLDER_NONE,
            .is_backed = a->copies,
        };
}

/* The newest era that anybody was in; NULL: nobody holds anything. */
static const claim *find_newest(const assign *a, const claim *claims)
{
    const claim *newest = NULL;
    for (int32_t i = 0; i < a->n; i++)
        if (claims[i].lineage && claims[i].assignment && (!newest || claims[i].era > newest->era))
            newest = &claims[i];
    return newest;
}

static bool has_shard(const claim *c, const claim *newest, int32_t shard)
{
    return c->lineage == newest->lineage && c->holds[shard];
}

/* The shard as it was assigned, of those who hold it whole. Who stands by may have become complete
 * since the era began, if it was in it. */
static holders assign_find_holders(const claim *claims, const claim *newest, int32_t shard)
{
    const holders *h = &newest->assignment[shard];
    bool acts = has_shard(&claims[h->acting], newest, shard), stands_by = false;
    if (h->standby != HOLDER_NONE) {
        const claim *c = &claims[h->standby];
        stands_by = has_shard(c, newest, shard) && (h->is_backed || c->era == newest->era);
    }
    if (acts)
        return (holders){h->acting, stands_by ? h->standby : HOLDER_NONE, stands_by};
    return (holders){stands_by ? h->standby : HOLDER_NONE, HOLDER_NONE, false};
}

bool assign_find(assign *a, const claim *claims)
{
    const claim *newest = find_newest(a, claims);
    for (int32_t i = 0; i < a->n; i++)
        if (!newest || assign_find_holders(claims, newest, i).acting == HOLDER_NONE)
            return false;
    for (int32_t i = 0; i < a->n; i++)
        a->shards[i] = assign_find_holders(claims, newest, i);
    return true;
}

static bool survives(const holders *h, int32_t server)
{
    return h->acting != server || (h->standby != HOLDER_NONE && h->is_backed);
}

bool assign_bears(const assign *a, int32_t server)
{
    for (int32_t i = 0; i < a->n; i++)
        if (!survives(&a->shards[i], server))
            return false;
    return true;
}

bool assign_lose(assign *a, int32_t server)
{
    if (!assign_bears(a, server))
        return false;
    for (int32_t i = 0; i < a->n; i++) {
        holders *h = &a->shards[i];
        if (h->acting == server)
            h->acting = h->standby;
        else if (h->standby != server)
            continue;
        h->standby = HOLDER_NONE;
        h->is_backed = false;
    }
    return true;
}

bool assign_return(assign *a, int32_t server)
{
    bool changed = false;
    for (int32_t i = 0; a->copies && i < a->n; i++) {
        holders *h = &a->shards[i];
        bool is_dealt = i == server || (i + 1) % a->n == server;
        if (h->standby != HOLDER_NONE || h->acting == server || !is_dealt)
            continue;
        h->standby = server;
        h->is_backed = false;
        changed = true;
    }
    return changed;
}

bool assign_replace(assign *a, const bool *is_lost, const bool *is_here)
{
    for (int32_t i = 0; i < a->n; i++)
        if (is_lost[i] && assign_needs(a, i) && !assign_lose(a, i))
            return false;
    for (int32_t i = 0; i < a->n; i++)
        if (is_here[i])
            (void)assign_return(a, i);
    return true;
}

bool assign_back(assign *a, int32_t shard)
{
    holders *h = &a->shards[shard];
    bool is_news = h->standby != HOLDER_NONE && !h->is_backed;
    h->is_backed |= is_news;
    return is_news;
}

void assign_doubt(assign *a, int32_t acting, int32_t standby)
{
    for (int32_t i = 0; i < a->n; i++)
        if (a->shards[i].acting == acting && a->shards[i].standby == standby)
            a->shards[i].is_backed = false;
}

bool assign_balance(assign *a)
{
    bool changed = false;
    for (int32_t i = 0; i < a->n; i++)
        if (!a->shards[i].is_backed)
            return false;
    for (int32_t i = 0; i < a->n; i++) {
        holders *h = &a->shards[i];
        if (h->standby != i)
            continue;
        h->standby = h->acting;
        h->acting = i;
        changed = true;
    }
    return changed;
}

bool assign_needs(const assign *a, int32_t server)
{
    for (int32_t i = 0; i < a->n; i++)
        if (a->shards[i].acting == server || a->shards[i].standby == server)
            return true;
    return false;
}

bool assign_acts(const assign *a, int32_t server)
{
    for (int32_t i = 0; i < a->n; i++)
        if (a->shards[i].acting == server)
            return true;
    return false;
}
