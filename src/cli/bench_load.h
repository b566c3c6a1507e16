/*
 * What `bench net` moves: parts of one size, dealt to servers as the product deals them.
 *
 * A flat vector is cut by its own rule (common/parts/flat.h), which makes parts of 256 KiB to 4 MiB
 * and about 32 of them; its length is chosen so that they have the size wanted. A smaller part
 * exists only where a whole vector is that small, so then every part is a vector of its own with
 * its own server loop: as many as are to be in flight, in each server process.
 *
 * A group is one such vector with its servers; a port is one server loop.
 *
 * Immutable once made. `bench_page` is memory that all processes of one measurement share.
 */
#ifndef TEQUIO_CLI_BENCH_LOAD_H
#define TEQUIO_CLI_BENCH_LOAD_H

#include "common/base/error.h"
#include "common/config/config.h"
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
    double seconds;
} bench_request;

typedef struct bench_load {
    bench_request request;
    flat *flat; /* of every group */
    config *config;
    int n_groups, group_servers; /* servers of a group */
    int n_ports;                 /* n_groups * group_servers; port p is of process p % servers */
} bench_load;

/* E_USAGE for a size no part can have. */
MUST_USE status bench_load_make(const bench_request *r, bench_load *ret, error *err);
void bench_load_fini(bench_load *l);

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
