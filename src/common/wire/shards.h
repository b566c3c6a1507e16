/*
 * An assignment, who holds which shard, as messages carry it. Pure functions.
 */
#ifndef TEQUIO_COMMON_WIRE_SHARDS_H
#define TEQUIO_COMMON_WIRE_SHARDS_H

#include "common/parts/holders.h"
#include "common/wire/wire.h"

/* The list for a message's field, [n]; release with wire_shards_clear. */
Wire__Holders **wire_shards_fill(const holders *shards, int32_t n);
void wire_shards_clear(Wire__Holders **list);

/* Of n servers: ret[n]. E_PROTOCOL: not so many, or one that no two servers can hold; nothing is
 * written then. */
MUST_USE status wire_shards_read(Wire__Holders *const *list, size_t n_list, int32_t n, holders *ret,
                                 error *err);

#endif
