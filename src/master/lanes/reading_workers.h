/*
 * Workers that still read their data: they are no members yet, and nobody waits for them as for one that is absent as
 * long as they get on.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_READING_WORKERS_H
#define TEQUIO_MASTER_LANES_READING_WORKERS_H

#include "common/base/read_progress.h"
#include "common/net/net.h"
#include "common/wire/wire.h"

#include <stdbool.h>

typedef struct reading_worker {
    bool trainer;
    uint32_t index;
    uint64_t life;
    net_peer peer;
    int connection;                 /* -1: within this process */
    read_state state;               /* as it said last */
    int64_t moved_us;               /* when it had got on, or came */
    char host[64];
} reading_worker;

typedef struct reading_workers {
    reading_worker *at;             /* [n] */
    size_t n, cap;
    int64_t moved_us;               /* when any of them had got on, also one that has come since; 0: none was here */
} reading_workers;

void reading_workers_fini(reading_workers *r);
/* Whether the worker reads still; one that does not is forgotten. */
bool reading_workers_hello(reading_workers *r, const Wire__Hello *hello, const net_message *message,
                           int64_t now_us);
void reading_workers_lost(reading_workers *r, int connection);
/* For how long those that are awaited since then have been absent: or since one that reads has last got on. */
double reading_workers_absence_s(const reading_workers *r, int64_t since_us, int64_t now_us);
/* "worker.1" */
const char *reading_worker_name(const reading_worker *one, char buffer[TASK_NAME]);

#endif
