/*
 * What the master's Setup makes of a server: the job and era it serves, and what it trains.
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_SETUP_H
#define TEQUIO_PS_SETUP_H

#include "common/config/training.h"
#include "common/store/jobdir.h"
#include "common/wire/wire.h"
#include "optim/optim.h"
#include "ps/spool.h"

typedef struct ps ps;

/* The master, as far as it is known. */
typedef struct chief {
    bool is_known;
    net_peer peer;
    int64_t heard_us;
    char *address;                  /* for workers; NULL: it did not say */
    int64_t differs_us;             /* since ours came with another configuration; 0: it did not */
    error differs;
} chief;

typedef struct server_era {
    wire_head identity;             /* job id and era of the job we serve */
    uint32_t lineage;               /* era in which the parts were loaded */
    uint32_t begun;                 /* the era that began here; 0: none */
} server_era;

/* What is trained. */
typedef struct server_plan {
    wire_declaration declaration;
    schedule schedule;
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
} server_plan;

/* Parts that are restored. */
typedef struct loading {
    bool is_damaged;                /* the checkpoint that was to be loaded */
    bool by_master;                 /* as its job dir is not seen here */
    int32_t part;                   /* the vector asked for */
    uint64_t row;
} loading;

/* Of our job, but from before the era it is in. */
bool ps_is_over(const ps *s, const wire_head *h);
void ps_take_hello(ps *s, const net_message *m, const wire_head *h, const Wire__Hello *hello);
MUST_USE status ps_take_setup(ps *s, const net_message *m, const wire_head *h, const Wire__Setup *setup,
                              error *err);
MUST_USE status ps_take_loaded(ps *s, const net_message *m, const wire_head *h, error *err);
void ps_setup_clear(ps *s);

#endif
