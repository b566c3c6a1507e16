/*
 * Why a slot gave a number that is not finite: its batch is computed once more, node by node, on the
 * CPU whatever the lane computes on.
 * Threads: the lane's.
 */
#ifndef TEQUIO_WORKER_BLAME_H
#define TEQUIO_WORKER_BLAME_H

#include "common/base/buf.h"
#include "worker/lane.h"

/* Appends a sentence: the first node that made such a number, its place in the model's file, and the
 * range of what it reads; or which weight is none any more. Nothing where it cannot be found out: the
 * memory is not there, or the CPU finds nothing. */
void blame(const lane_options *o, exec *e, const lane_next *what, buf *ret);

#endif
