/*
 * The assignment: which server acts for each shard and which stands by. Pure.
 *
 * As dealt, server i acts for shard i and the next server in the ring stands by. When a server is
 * lost its standbys act, if their copies are complete; a server that comes back empty stands by
 * where it was dealt to hold something, and once it is abreast acts again for its own shard.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SERVERS_ASSIGN_H
#define TEQUIO_MASTER_SERVERS_ASSIGN_H

#include "common/parts/holders.h"

typedef struct assign {
    int32_t n;       /* servers, and shards */
    bool copies;     /* shards have standbys */
    holders *shards; /* [n] */
} assign;

/* As dealt, every copy complete: all servers load the same version. */
void assign_init(assign *a, int32_t n, bool copies);
void assign_fini(assign *a);
void assign_deal(assign *a);

/* What a server says of itself after the master's start. */
typedef struct claim {
    uint32_t lineage;          /* of what it holds; 0: nothing */
    uint32_t era;              /* it was in last */
    const bool *holds;         /* [n] shards it holds completely */
    const holders *assignment; /* [n] of that era; NULL: it knows none */
} claim;

/* What is found of the newest era, by the claims of all n servers: whom its assignment names acts
 * and stands by as it did. That era may not have reached everybody: then it never began, nothing
 * was answered in it, and what the others hold since the one before is as good. False: some shard
 * is held by nobody who counts, and nothing was changed. */
bool assign_find(assign *a, const claim *claims);

/* `server` is gone with all it held. False: a shard has no complete copy left, and nothing was
 * changed: all must be loaded again. */
bool assign_lose(assign *a, int32_t server);
bool assign_bears(const assign *a, int32_t server); /* assign_lose would be true */

/* `server` is here: it stands by for what it was dealt to act or stand by for, where there is no
 * standby and it does not act itself. False: nothing changes. */
bool assign_return(assign *a, int32_t server);

/* As an era begins: servers that hold nothing any more are lost, then those that are here return
 * ([n] each). False: a loss cannot be borne. */
bool assign_replace(assign *a, const bool *is_lost, const bool *is_here);

/* The standby of `shard` is abreast. False: that was known, or it has no standby. */
bool assign_back(assign *a, int32_t shard);

/* The two do not reach each other: what the one that stands by holds for the other counts no
 * more. */
void assign_doubt(assign *a, int32_t acting, int32_t standby);

/* Servers act again for what they were dealt, where they stand by for it and all copies are
 * complete. False: nothing changes. */
bool assign_balance(assign *a);

/* Acts or stands by for some shard. */
bool assign_needs(const assign *a, int32_t server);
/* Acts for some shard. */
bool assign_acts(const assign *a, int32_t server);

#endif
