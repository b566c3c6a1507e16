/*
 * Hello: how two tasks make sure they belong together before they exchange anything else.
 * Pure functions.
 */
#ifndef TEQUIO_COMMON_WIRE_HELLO_H
#define TEQUIO_COMMON_WIRE_HELLO_H

#include "common/config/config.h"
#include "common/wire/wire.h"

typedef struct hello_facts {
    const config *config;
    task task;
    uint64_t life;              /* hello_life() of this process */
    uint64_t job_id;            /* 0: not known yet */
    const char *fingerprint;    /* NULL: makes no bits */
    uint32_t lanes;
    const char *master_address; /* NULL: not said */
    const char *flat_digest;    /* NULL: declares nothing */
    uint32_t servers;           /* a worker's: of how many it was told; 0: not said */
    const char *files;          /* what it reads (common/store/facts.h); NULL: it does not say */
    bool trainer;               /* the lanes of the master's own process */
    uint32_t ranks;             /* at the rendezvous: of how many this is one */
    const char *address;        /* at the rendezvous: where it listens */
    const char *reads;          /* a worker that still reads its data: what, and how far; NULL: it has */
    uint64_t moves;             /* then: grows as long as that goes on */
} hello_facts;

uint64_t hello_life(void);      /* a fresh random number, never 0 */

/* The packed Hello. */
void hello_pack(const hello_facts *facts, buf *ret);

/* Does the other side's hello fit the config of ours, who is `self`? E_CONFIG names both, the key
 * that differs and its values, E_PROTOCOL a version we do not speak. *ret_task: who it is. */
MUST_USE status hello_check(const Wire__Hello *hello, const config *ours, task self, task *ret_task,
                            error *err);

/* The task whose process says it, of `who` as above: of lanes beside the master the master. */
task hello_process(const Wire__Hello *hello, task who);

/* Whom a dialler expects to answer its HELLO is in that message's head: server `index` by its list
 * of them. The listener, who is `self`, refuses what is meant for another (E_CONFIG). */
MUST_USE status hello_check_server(const Wire__Hello *hello, const wire_head *head, task self,
                                   error *err);

#endif
