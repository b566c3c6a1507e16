/*
 * The servers as the master knows them, and what their coming and going makes of the assignment.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SHARDS_H
#define TEQUIO_MASTER_SHARDS_H

#include "common/parts/holders.h"
#include "common/wire/wire.h"

typedef struct master master;

typedef struct server {
    net_socket *socket;
    uint64_t life;                  /* of the process that answered; 0: none yet */
    uint32_t lineage;               /* of the parts it holds; 0: none of this job's */
    uint32_t era;                   /* it was in last */
    bool *holds;                    /* [n] shards it holds completely; NULL: it never said */
    holders *assignment;            /* [n] of that era; NULL: it said none */
    bool welcomed, ready;
    bool sees_dir;                  /* the job dir: there it reads how the job ended */
    bool told;                      /* how it ended */
    int64_t refuses_us;             /* since when it answers that we do not fit together; 0: it does not */
    const char *refused;            /* why it could not be connected to; NULL: nothing is wrong */
    int64_t lowest, newest;         /* versions of the parts it acts for; -1: none */
    int64_t heard_us;
    int32_t unanswered;             /* heartbeats since then */
    bool hangs;                     /* said so, and not heard since */
    int64_t left_us;                /* when its connection was lost */
} server;

/* Who acts and stands by in the era that begins. True: all is held, and goes on; m->era.lineage is
 * what they have in common. False: all must be loaded, as dealt. */
bool master_assign(master *m);
void master_note_shards(const master *m, server *s, const Wire__Welcome *w);
/* After a master's start: those that are here hold every part, and the others are silent. */
bool master_can_spare(master *m, double waited_s);
/* Something happened to server `s`, or to all (-1): a new era. */
MUST_USE status master_turn(master *m, int32_t s, const char *why, error *err);
/* What the servers hold is of no use. */
void master_forget_parts(master *m);
/* The same, and all go back, as two losses at once may have it. */
MUST_USE status master_give_up(master *m, const char *why, error *err);
/* After each heartbeat: a lost server that has a standby is not waited for, one that is abreast again
 * acts again. */
MUST_USE status master_watch_servers(master *m, int64_t now_us, error *err);
/* As our heartbeats have it, too, the last of which had no time to be answered: after a freeze of our own
 * nobody has been silent. */
double master_silence_s(const server *s, int64_t now_us);
/* False while they may load a checkpoint, which keeps a server longer than any message does. */
bool master_hears_servers(const master *m);
/* A standby is abreast, or (head.step) does not answer whom it stands by for. */
MUST_USE status master_take_backed(master *m, int32_t s, const wire_head *h, error *err);
void master_fill_shards(const master *m, Wire__Setup *ret);
void master_clear_shards(Wire__Setup *s);
uint32_t *master_list_acting(const master *m, size_t *ret_n);   /* free it; none without copies */

#endif
