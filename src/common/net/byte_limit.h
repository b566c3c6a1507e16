/*
 * A limit on the bytes that arrive over a TCP connection, kept by the kernel: what the peer sends
 * beyond it is cut off before it is received, so it costs no memory here, and comes again by itself
 * once the limit is lifted. It is a socket filter (BPF) that reads the sequence numbers of segments;
 * the first one is known from the SYN, which the kernel keeps where the listening socket asked for
 * it. Needs no privileges.
 *
 * Threads: any; a descriptor belongs to one at a time.
 */
#ifndef TEQUIO_COMMON_NET_BYTE_LIMIT_H
#define TEQUIO_COMMON_NET_BYTE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Of a socket that listens, or will: the kernel keeps the SYNs of connections from now on, which
 * byte_limit_set needs. false: this kernel cannot. */
bool byte_limit_keep_syns(int listening);

/* Of a listening socket: connections it accepts keep their SYN and take little of each segment, until
 * a limit is set or lifted. false: this kernel cannot. */
bool byte_limit_prepare(int listening);

/* The same socket takes nobody in any more, until it is prepared again: a peer that tries will try again. */
void byte_limit_close(int listening);

/* Of an accepted connection, once. false: there is none now, and any number arrives; the kernel is
 * not able to, or was flooded and kept no SYN. */
bool byte_limit_set(int connection, uint32_t bytes);
void byte_limit_lift(int connection);

/* Received so far, whether it was read or not. */
uint64_t byte_limit_received(int connection);

#endif
