/*
 * Strangers: connections of a listener whose peer has not said who it is, that is, which its role
 * has not admitted yet. Innards of net, for the files of this room.
 *
 * libzmq accepts whoever comes and keeps what they send until it is a whole message, so a stranger
 * could fill the memory. Therefore the kernel takes only STRANGER_BYTES of each (byte_limit.h), only
 * so many are here at a time, and each has STRANGER_MS to be admitted. When one comes too many, the
 * oldest of the address that has most goes: a crowd from one address keeps out nobody else, and
 * silent ones no peer that speaks at once. An admitted peer costs nothing from then on.
 *
 * A thread of its own reads the socket's monitor, for roles may be busy for seconds. It hands on
 * what the socket's owner has to know: the ends of connections that were admitted, and the first
 * refusal of each cause.
 *
 * Threads: strangers_admit is the socket's owner's; the rest as the socket.
 */
#ifndef TEQUIO_COMMON_NET_STRANGERS_H
#define TEQUIO_COMMON_NET_STRANGERS_H

#include "common/net/net.h"

/* Greeting, READY and HELLO take less than half of these bytes; a frame of no bytes takes 2 there
 * and 64 here, so a stranger costs a quarter of a megabyte at the most. */
enum { STRANGER_BYTES = 8192, STRANGER_MS = 10000 };
enum { STRANGERS_MIN = 64, STRANGERS_MAX = 192, STRANGERS_PORTS = 8 };

typedef struct strangers strangers;

/* How many at a time, of a cluster of so many tasks: all of a small one may come at once. */
int strangers_at_once(int tasks);

/* Takes the socket's monitor, after it was bound, and leaves another in its place. */
MUST_USE status strangers_watch(net *n, net_socket *s, strangers **ret, error *err);
void strangers_end(strangers **s); /* after the monitor was stopped */

void strangers_admit(strangers *s, int connection);

#endif
