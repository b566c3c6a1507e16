#include "common/wire/shards.h"

#include "common/base/alloc.h"

#include <stdlib.h>

Wire__Holders **wire_shards_fill(const holders *shards, int32_t n)
{
    Wire__Holders *all = xcalloc((size_t)n, sizeof *all);
    Wire__Holders **list = xcalloc((size_t)n, sizeof *list);
    for (int32_t i = 0; i < n; i++) {
        const holders *h = &shards[i];
        wire__holders__init(&all[i]);
        all[i].acting = (uint32_t)h->acting;
        all[i].has_standby = h->standby != HOLDER_NONE;
        all[i].standby = all[i].has_standby ? (uint32_t)h->standby : 0;
        all[i].is_backed = h->is_backed;
        list[i] = &all[i];
    }
    return list;
}

void wire_shards_clear(Wire__Holders **list)
{
    if (list)
        free(list[0]);
    free(list);
}

static bool is_possible(const Wire__Holders *h, uint32_t n)
{
    return h->acting < n && (!h->has_standby || (h->standby < n && h->standby != h->acting));
}

status wire_shards_read(Wire__Holders *const *list, size_t n_list, int32_t n, holders *ret,
                        error *err)
{
    if (n_list != (size_t)n)
        return FAIL(err, E_PROTOCOL, "%zu shards of %d servers", n_list, n);
    for (int32_t i = 0; i < n; i++)
        if (!is_possible(list[i], (uint32_t)n))
            return FAIL(err, E_PROTOCOL, "shard %d is held by no server", i);
    for (int32_t i = 0; i < n; i++)
        ret[i] = (holders){
            .acting = (int32_t)list[i]->acting,
            .standby = list[i]->has_standby ? (int32_t)list[i]->standby : HOLDER_NONE,
            .is_backed = list[i]->has_standby && list[i]->is_backed,
        };
    return OK;
}
