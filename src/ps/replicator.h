/*
 * The replicator: keeps the standbys abreast of the parts this server acts for.
 *
 * A standby is dialled. The complete sum of a step is sent to it from where it lies, before it is
 * applied here, and kept until it is acknowledged; until then the version it makes is not answered
 * to anybody (replicator_visible). A standby that holds nothing is sent a copy first, part by part, and
 * from the moment a part's copy is on its way that part's versions wait for acknowledgement too.
 *
 * A lost connection is dialled anew and what was not acknowledged is said again, also after a
 * while of silence; standbys take a sum once. That a standby is gone is for the master to say; it
 * may reach one that we do not, so it hears when none of what is owed is acknowledged. A standby
 * that was given up so is left alone for a while, longer each time, before it is sent a copy.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_REPLICATOR_H
#define TEQUIO_PS_REPLICATOR_H

#include "common/base/buf.h"
#include "common/net/net.h"
#include "common/parts/holders.h"
#include "common/wire/wire.h"
#include "ps/standby_link.h"
#include "ps/table.h"

typedef struct replicator replicator;

typedef struct replicator_hooks {
    /* A later version of `part` may be answered, or voted for. */
    void (*visible)(void *user, int32_t part);
    /* The sum of the reporting part is about to go to `to`: what its slots measured goes in front. */
    void (*sending)(void *user, int64_t step, uint32_t n_slots, const standby_link *to);
    /* The standby of `shard` holds all of it. */
    void (*backed)(void *user, int32_t shard);
    /* The standby of `shard` has acknowledged nothing for era.limit_us, though it should: nothing
     * of what it stands by for can go on. Called again as long as that lasts. */
    void (*stuck)(void *user, int32_t shard);
    void *user;
} replicator_hooks;

replicator *replicator_create(net *n, const buf *hello, const replicator_hooks *hooks); /* hello is kept */
void replicator_destroy(replicator **m);

/* What an era says. All is kept until the next era or replicator_destroy, but `addresses`. */
typedef struct replicator_era {
    wire_head identity; /* job id and era */
    table *table;
    const flat *flat;
    const int32_t *placement;     /* [n_parts] the shard of each part */
    const holders *shards;        /* [n] */
    const char *const *addresses; /* [n] endpoints of the servers */
    int32_t n, self, first_index; /* server 0 is the task ps.<first_index> */
    int64_t limit_us; /* how long a standby may owe every acknowledgement */
    bool keeps;       /* the parts are those of the era before */
} replicator_era;

MUST_USE status replicator_begin(replicator *m, const replicator_era *era, error *err);

/* The table's hook `summed`. */
void replicator_summed(replicator *m, int32_t part, int64_t step, uint32_t n_slots, span *root);

/* The newest version of `part` that may be answered, when `applied` is here. */
int64_t replicator_visible(const replicator *m, int32_t part, int64_t applied);

/* The master's accounts are complete below `step`. A standby does not hold all of a shard before they are
 * up to the version that was copied: what was measured earlier is not copied. */
void replicator_recorded(replicator *m, int64_t step);

/* Says hooks.backed again for what the era has completed. */
void replicator_say_backed(const replicator *m);

/* The connections to poll, [n], NULL where there is none. */
net_socket *const *replicator_sockets(const replicator *m, size_t *ret_n);
/* Handles what arrived. Never blocks. */
MUST_USE status replicator_serve(replicator *m, error *err);
/* Says again what was not answered; call several times a second. */
void replicator_tick(replicator *m, int64_t now_us);

/* For messages about waiting: the standby that has not acknowledged `part`; HOLDER_NONE. */
int32_t replicator_awaits(const replicator *m, int32_t part);

#endif
