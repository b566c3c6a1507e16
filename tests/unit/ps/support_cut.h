/*
 * Servers, each with its table and its cuts, and what a master does with the shards they write.
 * Threads: the test's only one, and each cuts' own writer.
 */
#ifndef TEQUIO_TESTS_UNIT_PS_SUPPORT_CUT_H
#define TEQUIO_TESTS_UNIT_PS_SUPPORT_CUT_H

#include "common/store/checkpoint.h"
#include "ps/cut.h"
#include "unit/ps/support_table.h"

/* Where a group of tests writes; its set-up and tear-down. */

/* Servers whose every update is told to their cuts, as the server's loop does it. */
typedef struct server_set {
    shape shape;
    servers servers;
    cuts *cuts[SERVERS_MAX];
    holders holders[SERVERS_MAX];
    net_waker *waker;
} server_set;

/* Takes the shape over. `restore` may be NULL. */
void server_set_make(server_set *v, shape s, int32_t n, int64_t step, const checkpoint *restore);
void server_set_fini(server_set *v);

/* Tells server i of a cut, in place of another one; whether it is too late for it. */
bool replace(server_set *v, int32_t i, uint32_t id, int64_t version, const char *dir,
             uint32_t replaces);
bool announce(server_set *v, int32_t i, uint32_t id, int64_t version, const char *dir);
cut_result wait_result(server_set *v, int32_t i);

/* What the master does with the shards; the checkpoint is open. */
checkpoint *commit(server_set *v, const char *job, int64_t step, const cut_result *results);
bool holds_live(const server_set *v, int32_t server); /* parts that move */

#endif
