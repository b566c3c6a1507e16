/*
 * Servers among themselves: who acts for which part, and who stands by.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_STANDBY_H
#define TEQUIO_PS_STANDBY_H

#include "common/parts/holders.h"
#include "common/wire/wire.h"
#include "ps/replicator.h"
#include "ps/table.h"

typedef struct ps ps;

enum { PEERS_MAX = 256 };

typedef struct assignment {
    int32_t server, n_servers;      /* which of them we are */
    int32_t *placement;             /* [n_parts] the shard of each part */
    holders *shards;                /* [n_servers] */
} assignment;

typedef struct standbys {
    replicator *replicator;         /* NULL: there are none */
    buf hello;                      /* for them */
    net_peer peers[PEERS_MAX];      /* servers that we may stand by for, as they came */
    size_t n_peers;
} standbys;

bool ps_acts_for(const ps *s, int32_t part);
bool ps_stands_by_for(const ps *s, int32_t part);
int64_t ps_visible(const ps *s, int32_t part);  /* the newest version that may be answered */
MUST_USE status ps_read_holders(ps *s, const Wire__Setup *m, error *err);
void ps_list_parts(const ps *s, part_hold *ret);
void ps_meet_peer(ps *s, const net_peer *from);
bool ps_is_peer(const ps *s, const net_peer *from);
/* Workers push to who acts, an acting server sums to its standby. NULL: it may. */
const char *ps_push_refusal(const ps *s, const net_message *m, const wire_head *h);

#endif
