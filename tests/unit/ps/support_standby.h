/*
 * A standby played by hand over a real socket, and the scenes that tests of standbys begin with.
 * Threads: the test's only one. Whatever does not come within 20 s fails the test.
 */
#ifndef TEQUIO_TESTS_UNIT_PS_SUPPORT_STANDBY_H
#define TEQUIO_TESTS_UNIT_PS_SUPPORT_STANDBY_H

#include "unit/ps/support_server.h"

enum { LEAVES = 4 };                 /* of a step's tree */
extern const tree_node standby_root; /* its node that is sent to standbys */

typedef struct fake {
    net *net;
    net_socket *socket;
    char endpoint[64];
    net_peer from; /* who spoke last */
    wire_head head;
    float *floats;
    size_t n;
    uint32_t n_reports; /* that came in front of it */
} fake;

fake fake_make(server *s);
void fake_fini(fake *f);
void fake_listen(fake *f, const char *endpoint); /* again, after it was closed */

bool fake_receive(fake *f, int ms); /* false: nothing came */
void fake_hear(fake *f, wire_type type);
/* Hellos that are still on their way do not count, nor rows said again on a busy machine. */
void fake_hear_beside_hellos(fake *f, wire_type type);
bool fake_hears_hello(fake *f, int ms); /* nothing else may come */

void fake_say(fake *f, wire_head h, const ProtobufCMessage *m);
void fake_welcome(fake *f, uint32_t era);
void fake_open(fake *f); /* hears a hello and welcomes it in the era of the server */
void fake_acknowledge(fake *f);
void check_sum(const fake *f, const shape *s, int64_t step); /* what was heard last */

/* Shard 0 at the first server, shard 1 at the second, each backed by the other. */
assignment dealt(const char *first, const char *second);
/* A master that says that, and a worker, greet the server. */
void meet(server *s, const assignment *a, peer *ret_master, peer *ret_worker);
void push_leaves(peer *worker, int64_t step);
void push_sum(peer *p, const shape *s, int64_t step); /* as a server that acts does */

#endif
