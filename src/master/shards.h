/*
 * Who holds which shard: what the servers' coming and going makes of the assignment.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SHARDS_H
#define TEQUIO_MASTER_SHARDS_H

#include "common/wire/wire.h"
#include "master/server.h"

/* Who acts and stands by in the era that begins. True: all is held, and goes on; m->era.lineage is
 * what they have in common. False: all must be loaded, as dealt. */
bool master_assign(master *m);
void master_note_shards(const master *m, server *s, const Wire__Welcome *w);
/* After a master's start: those that are here hold every part, and the others are silent. */
bool master_can_spare(master *m, double waited_s);
/* What the servers hold is of no use. */
void master_forget_parts(master *m);
void master_fill_shards(const master *m, Wire__Setup *ret);
void master_clear_shards(Wire__Setup *s);
uint32_t *master_list_acting(const master *m, size_t *ret_n);   /* free it; none without copies */

#endif
