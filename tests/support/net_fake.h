/*
 * A transport made of locks: implements common/net/net.h inside one process, for programs that run
 * under the thread sanitizer, which cannot see into ZeroMQ.
 *
 * A program that links net_fake.c does not get ZeroMQ's side of net.h. Endpoints are names: inproc
 * ones belong to their net, a tcp one for all hosts hears what is dialled at any, and port 0
 * becomes a fresh number. A dial may come before its listener. What is sent arrives in order; lent
 * memory is read in place over inproc and copied on the receiver's thread over tcp, and given back
 * there. Every inbox has a lock of its own, so that the transport orders no more than it must.
 */
#ifndef TEQUIO_TESTS_SUPPORT_NET_FAKE_H
#define TEQUIO_TESTS_SUPPORT_NET_FAKE_H

#include <stddef.h>

/* Loses every connection dialled at `endpoint`, with what was not received yet; both sides hear
 * NET_DOWN. Returns how many there were. Any thread. */
size_t net_fake_cut(const char *endpoint);

#endif
