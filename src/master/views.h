/*
 * Views: what workers are told of who computes what, and how far they may go.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_VIEWS_H
#define TEQUIO_MASTER_VIEWS_H

#include "common/net/net.h"
#include "master/lanes/deal.h"

typedef struct master master;

typedef struct views {
    deal *deal;
    uint32_t id;                    /* of the last one */
    bool is_due;                    /* lanes came or went */
    int64_t limit;                  /* last said to workers */
    int64_t looked_us;              /* when the lanes' pace was last looked at */
} views;

/* Deals slots to the lanes that are there and says it to all workers. */
void master_deal(master *m);
void master_send_view(master *m, const net_peer *only);     /* as it stands; NULL: to all */
/* It has changed: the same, under a new number. */
void master_say_new_view(master *m);

#endif
