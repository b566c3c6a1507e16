/*
 * An upload: parts that arrive from servers go to the devices of the lanes that share a board.
 * They are taken from where they lie if that is memory a server of this host shares with us, which
 * the devices are told of: what was received is kept until all devices have their copy, while the
 * next parts arrive. What came another way is copied once, to memory that devices know.
 *
 * Parts on their way are few, so that servers soon have their memory back.
 *
 * Threads: upload_create and upload_join the lanes', while they are built, one after another; all
 * else the worker's.
 */
#ifndef TEQUIO_WORKER_UPLOAD_H
#define TEQUIO_WORKER_UPLOAD_H

#include "exec/exec.h"
#include "kv/kv.h"

typedef struct upload upload;

MUST_USE status upload_create(const flat *f, upload **ret, error *err); /* f is kept */
/* Waits for what is on its way. Before any of the engines ends. */
void upload_destroy(upload **f);
void upload_join(upload *f, exec *e);       /* a device that they go to */

/* Who hears of memory that servers share. It may be asked as long as the upload stands. */
net_memory upload_memory(upload *f);

/* As exec_upload_part, for all engines; p->from is the upload's then, or may go. E_DEVICE. */
MUST_USE status upload_part(upload *f, const kv_part *p, error *err);
/* All that was sent is there, and what it lay in was given back. */
MUST_USE status upload_settle(upload *f, error *err);

#endif
