/*
 * The outbox: how many bytes of parts are on their way to each peer. A peer that does not read must
 * not hold more of a server's memory than that, so a peer over the limit waits until earlier parts
 * have left; then the waker is woken. Nothing is copied.
 * Threads: belongs to the server's thread; the transport drops what it sent on a thread of its own,
 * also after the outbox was closed.
 */
#ifndef TEQUIO_PS_OUTBOX_H
#define TEQUIO_PS_OUTBOX_H

#include "common/net/net.h"

/* Far more than a connection needs to be kept busy, and any part fits many times. */
enum { OUTBOX_LIMIT = 64 << 20 };

typedef struct outbox outbox;

outbox *outbox_create(size_t limit, net_waker *waker);
void outbox_close(outbox **o); /* what is still on its way is given back all the same */

/* Is there room for `bytes` more to that peer? One message always fits. A peer that is told no is
 * remembered until it has room. */
bool outbox_has_room(outbox *o, const net_peer *to, size_t bytes);

/* What is on its way: a part, and the version (or batch) that was asked for. */
typedef struct outbox_label {
    int32_t part;
    int64_t asked;
} outbox_label;

/* `held` moves in. What is returned, held for the caller, is the same memory on its way to that peer:
 * with its last drop it has left. */
span *outbox_add(outbox *o, const net_peer *to, outbox_label what, span *held);

/* It has not left yet. */
bool outbox_has(outbox *o, const net_peer *to, outbox_label what);

/* True once after a peer that was told no has room again. */
bool outbox_has_news(outbox *o);

#endif
