#include "master/assign.h"

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

/* The server beside `but` that holds `shard`, its own first; HOLDER_NONE. */
static int32_t find_holder(const assign *a, const uint32_t *eras, const bool *holds, uint32_t era,
                           int32_t shard, int32_t but)
{
    for (int32_t k = 0; k < a->n; k++) {
        int32_t i = (shard + k) % a->n;
        if (i != but && eras[i] == era && holds[(size_t)i * (size_t)a->n + (size_t)shard])
            return i;
    }
    return HOLDER_NONE;
}

bool assign_find(assign *a, const uint32_t *eras, const bool *holds)
{
    uint32_t newest = 0;
    for (int32_t i = 0; i < a->n; i++)
        newest = eras[i] > newest ? eras[i] : newest;
    for (int32_t i = 0; i < a->n; i++)
        if (!newest || find_holder(a, eras, holds, newest, i, HOLDER_NONE) == HOLDER_NONE)
            return false;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t acting = find_holder(a, eras, holds, newest, i, HOLDER_NONE);
        int32_t standby = find_holder(a, eras, holds, newest, i, acting);
        a->shards[i] = (holders){acting, standby, standby != HOLDER_NONE};
    }
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
