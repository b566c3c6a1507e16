/*
 * A server as the master knows it: the connection, what it holds, and its silence.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SERVER_H
#define TEQUIO_MASTER_SERVER_H

#include "common/cluster/cluster.h"
#include "common/live/clock_offset.h"
#include "common/net/net.h"
#include "common/parts/holders.h"

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
    clock_offset clock;             /* its, by HEARTBEAT and ALIVE; of this life */
    bool hangs;                     /* said so, and not heard since */
    int64_t left_us;                /* when its connection was lost */
} server;

/* The name of our server `s` in the cluster, whose first one need not be ours. */
const char *master_server_name(const master *m, int32_t s, char ret[TASK_NAME]);
void master_say_hello(master *m, server *s);
/* Whatever connection there was to that server, it counts no more. */
MUST_USE status master_dial(master *m, int32_t server, error *err);
MUST_USE status master_redial(master *m, int32_t server, error *err);
/* As our heartbeats have it, too, the last of which had no time to be answered: after a freeze of our own
 * nobody has been silent. */
double master_silence_s(const server *s, int64_t now_us);
/* False while they may load a checkpoint, which keeps a server longer than any message does. */
bool master_hears_servers(const master *m);

#endif
