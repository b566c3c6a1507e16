/*
 * Payloads in shared memory, for a peer on this host: how the two ends of a tcp connection come to
 * have a segment (segment.h), and what they do with it. Innards of net, for the files of this room.
 *
 *     dial                                listener
 *       │ ── ASK ───────────────────────────> │   over ZeroMQ, once the connection is up
 *       │ <─────────────── DOOR name, token ── │   over ZeroMQ
 *       │ == token, segment =================> │   over a unix socket of that name (fd_pass.h)
 *       │ ── KNOCK ─────────────────────────> │   over ZeroMQ
 *       │ <──────────────────────────── OPEN ── │  over ZeroMQ
 *
 * It is an abstract socket with a random name, so only a process that was told it finds it, and only on
 * this host and in this network namespace. The token stands for this one connection and is told
 * over nothing else: a peer that is let in here was let in there, by CURVE where there is a key.
 * Both ends see to it besides that the other runs as the same user. Whatever does not come about,
 * for want of descriptors or memory or because the peer is elsewhere or older, leaves payloads
 * where they were.
 *
 * The unix connection stays open and says nothing. When it ends the peer is gone, and a listener
 * drops the segment, after it has read what had arrived. Threads: the socket's.
 */
#ifndef TEQUIO_COMMON_NET_SHARED_H
#define TEQUIO_COMMON_NET_SHARED_H

#include "common/net/net.h"
#include "common/net/segment.h"

/* Smaller payloads are as quick without. */
enum { SHARED_BYTES_MIN = 4096 };

typedef struct shared shared;

/* Opens that socket for a listener; NULL for lack of something. */
shared *shared_listen(void);
shared *shared_dial(void);
void shared_end(shared **s);            /* of a dial also when it is down: a new one shares anew */
int shared_descriptor(const shared *s); /* readable: shared_sweep has something to do; -1: none */
void shared_sweep(shared *s);           /* drops the segments of peers that are gone */

void shared_ask(net_socket *s); /* the dial is up */

/* A message of one frame: was it a word of the above? Then it was heeded. */
bool shared_take_word(net_socket *s, const net_peer *from, const void *frame, size_t bytes);

/* Copies a payload to where `to` will read it, and drops it; false: it was left alone.
 * shared_unlend: the message did not leave. */
bool shared_lend(shared *s, const net_peer *to, span *payload, extent *ret);
void shared_unlend(shared *s, const net_peer *to, const extent *lent);

/* What `from` lent, held for the caller; NULL: it lent us no such thing. */
span *shared_borrow(shared *s, const net_peer *from, const extent *what);

#endif
