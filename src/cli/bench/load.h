/*
 * What `bench net` moves: parts of one size, dealt to servers as the product deals them.
 *
 * A flat vector is cut by its own rule (common/parts/flat.h), which makes parts of 256 KiB to 4 MiB
 * and about 32 of them; its length is chosen so that they have the size wanted. A smaller part
 * exists only where a whole vector is that small: then each server holds a vector of its own, and
 * what is in flight are the slots of a step, each from a client of its own.
 *
 * A client is one kv: one for all servers, or, of small parts, BENCH_IN_FLIGHT for each server.
 *
 * Immutable once made. `bench_page` is memory that all processes of one measurement share.
 */
#ifndef TEQUIO_CLI_BENCH_LOAD_H
#define TEQUIO_CLI_BENCH_LOAD_H

#include "common/base/error.h"
#include "common/base/jobkey.h"
#include "common/config/config.h"
#include "common/net/net.h"
#include "common/parts/flat.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BENCH_IN_FLIGHT = 10, BENCH_WORKERS = 16, BENCH_SERVERS = 16 };

enum { BENCH_BYTES_MIN = 4096, BENCH_BYTES_MAX = PART_MAX * 4 };

typedef enum bench_traffic { BENCH_PUSH, BENCH_PULL, BENCH_PUSHPULL, BENCH_TRAFFICS } bench_traffic;

const char *bench_traffic_name(bench_traffic t);

typedef struct bench_request {
    bench_traffic traffic;
    int64_t bytes;        /* of a part */
    int workers, servers; /* processes */
    bool copies;          /* every server has a standby, the next one */
    bool shares;          /* payloads go through shared memory */
    double seconds;
    const jobkey *key; /* of their connections; NULL: in the clear */
} bench_request;

typedef struct bench_load {
    bench_request request;
    flat *flat; /* of all servers together, or of each */
    config *config;
    bool is_small;
    int n_clients, client_servers; /* of a worker; servers of each of them */
    int n_slots;                   /* of a step */
} bench_load;

/* E_USAGE for a size no part can have. */
MUST_USE status bench_load_make(const bench_request *r, bench_load *ret, error *err);
void bench_load_fini(bench_load *l);

/* For one process of it. */
MUST_USE status bench_load_open_net(const bench_load *l, net **ret, error *err);

/* The first server of a client, and the slot it pushes as one of that worker's. */
int bench_load_server(const bench_load *l, int client);
uint32_t bench_load_slot(const bench_load *l, int worker, int client);

typedef struct bench_result {
    double seconds;
    int64_t parts; /* moved in that time, in each direction that is measured */
    error error;
} bench_result;

typedef struct bench_page {
    pthread_barrier_t turn; /* of the workers, after every round of parts */
    atomic_bool ready;      /* every server is set up */
    atomic_int_least64_t last;
    bench_result results[BENCH_WORKERS];
} bench_page;

#endif
