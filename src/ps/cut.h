/*
 * Cuts: a server's side of checkpoints.
 *
 * The master announces a version ahead. As each part reaches it, its newest blocks are held
 * (frozen); the next update writes into others. When all parts of a shard are frozen a writer
 * thread streams them into the shard's file, unhurried while training goes on (throttle.h), and lets
 * the blocks go. A standby freezes too and keeps what is frozen until the checkpoint exists, so
 * that it can write it if it comes to act. Several cuts may be under way; they are written in the
 * order in which they became complete.
 *
 * Threads: belongs to the server's thread; the writer shares only finished cuts, under a lock.
 */
#ifndef TEQUIO_PS_CUT_H
#define TEQUIO_PS_CUT_H

#include "common/net/net.h"
#include "common/parts/holders.h"
#include "ps/table.h"

typedef struct cuts cuts;

typedef struct cuts_options {
    const flat *flat;
    const int32_t *placement;       /* [n_parts] the shard of each part */
    const holders *shards;          /* [n_servers]; copied, see cuts_hold */
    int32_t server, n_servers;
    const char *const *slot_names;
    size_t n_slots;
    bool lists_units;               /* shards say which batches parts have (common/parts/schedule.h) */
    const jobdir *dir;              /* they are written into; NULL: elsewhere */
    net_waker *waker;               /* woken when a shard is written */
} cuts_options;

MUST_USE status cuts_create(const cuts_options *options, cuts **ret, error *err);
void cuts_destroy(cuts **c);        /* finishes what is being written */

/* A new era: who holds which shard. What was frozen of those this server now acts for is written;
 * what it does not hold completely any more is let go, and what it kept as a standby of versions up to
 * `saved`, of which checkpoints exist (-1: of none). */
void cuts_hold(cuts *c, const holders *shards, int64_t saved);

typedef struct cut_call {
    uint32_t id;
    int64_t version;
    const char *dir;                /* the shards go there */
    uint32_t replaces;              /* withdraw this one if it is not complete; 0: none */
    int64_t saved;                  /* checkpoints exist up to here: standbys let theirs go */
    bool must;                      /* blocks that a disk did not take are kept, to be written later */
} cut_call;

/* A cut is announced, of every shard held. One that is known already goes on; if it is written its
 * result comes again, and if a disk did not take one that must be, it is written once more. Any that a
 * part went by unfrozen, having come as a copy past it, is let go.
 * *ret_late: some part this server acts for is past that version already, and of its shard nothing
 * is begun. */
void cuts_announce(cuts *c, table *t, const cut_call *call, bool *ret_late);

/* `part` has just reached `version`. */
void cuts_applied(cuts *c, table *t, int32_t part, int64_t version);

/* How often a part was frozen so far. */
uint64_t cuts_freezes(const cuts *c);

bool cuts_under_way(const cuts *c);
int64_t cuts_next(const cuts *c);   /* the lowest version of one that is not complete; -1: none */

typedef struct cut_result {
    uint32_t id;
    int32_t shard;
    int64_t version;
    char file[64];
    char sha256[65];
    uint64_t bytes;
    int64_t batches;                /* applied, the same for every live part; -1: holds none */
    loss_scale scale;               /* the same of these */
    status status;
    error error;                    /* of a failed write, or of a part that could not be read */
} cut_result;

/* A shard is written, or could not be by who acts for it still; false: nothing new. */
bool cuts_next_result(cuts *c, cut_result *ret);

#endif
