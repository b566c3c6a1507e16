/*
 * A real server on a thread of its own, and peers that talk to it as a script says. The server
 * listens on inproc and on a TCP port of 127.0.0.1; every wait ends with a failed test.
 */
#ifndef TEQUIO_TESTS_UNIT_PS_SUPPORT_SERVER_H
#define TEQUIO_TESTS_UNIT_PS_SUPPORT_SERVER_H

#include "common/net/net.h"
#include "common/parts/holders.h"
#include "common/store/jobdir.h"
#include "common/wire/hello.h"
#include "ps/ps.h"
#include "unit/ps/support_table.h"

#include <pthread.h>

enum { JOB_ID = 4711, ERA = 3, TOTAL = 100 };

typedef struct server {
    char *folder; /* the job dir */
    config *config;
    jobdir *dir;
    shape shape; /* what it is set up for, by the config */
    net *net;
    char tcp[64];
    atomic_bool stop, abort;
    ps_options options;
    const char *endpoints[2];
    pthread_t thread;
    status outcome;
    error error;
} server;

/* `setting` over the configuration, "key=value" or NULL. */
server *server_start(const char *setting);
/* Waits for its end and what it returned. */
status server_end(server *s);
void server_fini(server *s);

typedef struct peer {
    server *server;
    net_socket *socket;
    wire_head head;            /* of what was heard last; job id and era for what is said */
    ProtobufCMessage *message; /* heard last; NULL where there was none */
    float *floats;             /* heard last, copied */
    size_t n;
} peer;

peer peer_dial(server *s, const char *endpoint);
void peer_close(peer *p);

void say(peer *p, wire_head h, const void *data, size_t bytes);
void say_proto(peer *p, wire_head h, const ProtobufCMessage *m);
void say_hello(peer *p, role r, const config *c, const char *master_address);
void say_setup(peer *p, uint32_t era, int64_t step, int32_t place, int32_t n_servers);
/* As the only server, go on with the parts of that lineage. */
void say_keep(peer *p, uint32_t era, uint32_t lineage);
/* From a checkpoint, as the only server; `token` of the master's job dir, NULL: the right one. */
void say_restore(peer *p, uint32_t era, int64_t step, const char *dir, const char *token);
/* As one of two servers: who holds which of the two shards, and where the servers listen. */
typedef struct assignment {
    uint32_t era, lineage;
    bool keep;
    int32_t place;
    holders shards[2];
    const char *addresses[2];
} assignment;
void say_assignment(peer *p, const assignment *a);
void say_stop(peer *p, status code, const char *text);

/* The next message must be of that type. */
void hear(peer *p, wire_type type);

/* All that was said has been taken, and it brought no answer: the heartbeat's comes first. */
void hear_nothing(peer *p);

/* Master and worker in, the server set up alone. */
void server_set_up(server *s, peer *ret_master, peer *ret_worker);

/* --- what most scripts say and hear --- */

const Wire__Welcome *welcome_of(const peer *p);
const Wire__Refused *refused_of(const peer *p);
extern uint32_t era_said; /* by head_of; ERA when a server starts */
wire_head head_of(wire_type type, int32_t part, int64_t step);
/* What the slots of a node measured: the loss of slot i is step + i. */
void say_measured(peer *p, int64_t step, tree_node node);
/* One node of part 0, as support_table draws it; a step is all its slots, acknowledged. */
void push(peer *p, int64_t step, tree_node node);
void hear_pushed(peer *p, int64_t step, tree_node node);
void push_step(peer *p, int64_t step);
/* Part 0 at the version of one process, bit for bit: awaited, or asked for. */
void hear_weights(peer *p, const whole *w);
void check_weights(peer *p, const whole *w);
/* The master says stop, all is well. */
void end_well(server *s, peer *master, peer *worker);
/* Says it, and is refused for that reason, with the era that holds. */
void check_refused(peer *p, wire_head h, const void *data, size_t bytes, status code,
                   const char *why);

#endif
