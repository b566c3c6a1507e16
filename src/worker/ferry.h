/*
 * A ferry: brings parts that arrive from servers to the devices of the lanes that share a board.
 * They are taken from where they lie if that is memory a server of this host shares with us, which
 * the devices are told of: what was received is kept until all devices have their copy, while the
 * next parts arrive. What came another way is copied once, to memory that devices know.
 *
 * Parts on their way are few, so that servers soon have their memory back.
 *
 * Threads: ferry_create and ferry_join the lanes', while they are built, one after another; all
 * else the worker's.
 */
#ifndef TEQUIO_WORKER_FERRY_H
#define TEQUIO_WORKER_FERRY_H

#include "exec/exec.h"
#include "kv/kv.h"

typedef struct ferry ferry;

MUST_USE status ferry_create(const flat *f, ferry **ret, error *err);   /* f is kept */
/* Waits for what is on its way. Before any of the engines ends. */
void ferry_destroy(ferry **f);
void ferry_join(ferry *f, exec *e);         /* to which weights are brought */

/* Who hears of memory that servers share. It may be asked as long as the ferry stands. */
net_memory ferry_memory(ferry *f);

/* As exec_bring, for all engines; p->from is the ferry's then, or may go. E_DEVICE. */
MUST_USE status ferry_bring(ferry *f, const kv_part *p, error *err);
/* All that was brought is there, and what it lay in was given back. */
MUST_USE status ferry_settle(ferry *f, error *err);

#endif
