/*
 * A kv, the servers it talks to and what both hear, all on one thread; every wait ends with a
 * failed test.
 */
#ifndef TEQUIO_TESTS_UNIT_KV_SUPPORT_SCENE_H
#define TEQUIO_TESTS_UNIT_KV_SUPPORT_SCENE_H

#include "common/base/clock.h"
#include "kv/kv.h"

#include <stdatomic.h>

enum { SERVERS = 2, PARTS = 4, PART_N = PART_MIN, LIMIT_US = 20000000 };

typedef struct push {
    span span;
    atomic_int n_back;
    float *data;
} push;

typedef struct answer {
    int n_parts, n_gone, n_refused, n_welcomes, n_taken;
    int32_t part;
    int64_t version;
    float first;
    loss_scale scale;
    kv_taking taking;       /* the last one */
} answer;

typedef struct scene {
    net *net;
    net_socket *listener[SERVERS];
    char endpoint[SERVERS][64];
    net_peer peer[SERVERS]; /* the kv, as each server last heard it */
    flat *flat;
    int32_t placement[PARTS];
    const uint32_t *acting; /* who acts for each shard, when an era begins; NULL: as dealt */
    buf hello;
    kv *kv;
    answer answer;
    push pushes[PARTS];
} scene;

static const uint64_t job_id = 77;
static const uint32_t era = 3, incarnation = 9;

/* Serves until what the kv heard satisfies. */
#define SERVE_UNTIL(s, condition)                                                                  \
    do {                                                                                           \
        int64_t until_ = clock_us() + LIMIT_US;                                                    \
        while (!(condition)) {                                                                     \
            serve(s);                                                                              \
            assert_int_equal(net_poll(kv_sockets((s)->kv), SERVERS, NULL, 5, NULL), OK);           \
            assert_true(clock_us() < until_);                                                      \
        }                                                                                          \
    } while (0)

/* Endpoints begin with `endpoint`; a server by that number. */
void listen_at(scene *s, int i, const char *endpoint);
scene *scene_make(const char *endpoint, size_t credit_bytes);
/* One over tcp whose servers were greeted; of[] are the parts of server 0. */
scene *scene_greeted(size_t credit_bytes, int32_t of[PARTS]);
/* The memory of a push as what is pushed, and waiting till it has come back, once. */
span *lend(push *p);
void wait_back(const push *p);
void scene_fini(scene *s);
/* What server `i` says to the kv. */
void say(scene *s, int i, wire_head h, const void *data, size_t bytes);
void say_proto(scene *s, int i, wire_head h, const ProtobufCMessage *m);
wire_head head_of(wire_type type, int32_t part, int64_t step);
void say_part(scene *s, int i, wire_head h, float first);
void welcome(scene *s, int i, bool ready);
/* The kv takes what is there; what server `i` hears next, false when there is nothing for `ms`. */
void serve(scene *s);
bool hear(scene *s, int i, int ms, wire_head *ret, float *ret_first);
wire_head expect(scene *s, int i, wire_type type);
/* Server `i` heard all that was said to it. */
void expect_nothing(scene *s, int i);
/* The era begins; greet: all servers are ready before that. */
void begin(scene *s, uint32_t in_era, const flat *f);
void greet(scene *s);
/* A push of node (1,1) of four slots, and its acknowledgement, by which it was with the server for SERVER_US. */
enum { SERVER_US = 70 };
void do_push(scene *s, int32_t part, int64_t step);
void pushed(scene *s, int i, wire_head h);
/* Parts of one server, in order. */
void parts_of(const scene *s, int i, int32_t ret[PARTS]);

#endif
