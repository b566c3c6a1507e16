/*
 * Who holds a shard. Parts are dealt to shards (placement.h), one a server. The server that acts
 * for a shard sums its gradients, answers pulls and writes its cuts; a standby holds a copy that is
 * never behind what was answered. At first server i acts for shard i; that changes with an era.
 * Plain data, pure functions.
 */
#ifndef TEQUIO_COMMON_PARTS_HOLDERS_H
#define TEQUIO_COMMON_PARTS_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

enum { HOLDER_NONE = -1 };

typedef struct holders {
    int32_t acting;  /* HOLDER_NONE: lost */
    int32_t standby; /* HOLDER_NONE: there is no copy */
    bool is_backed;  /* the standby's copy is complete: it may act */
} holders;

#endif
