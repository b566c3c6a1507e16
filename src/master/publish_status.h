/*
 * What tasks said of themselves by STATUS, as live.json has it.
 *
 * Threads: functions without shared state; they belong to the master's thread.
 */
#ifndef TEQUIO_MASTER_PUBLISH_STATUS_H
#define TEQUIO_MASTER_PUBLISH_STATUS_H

#include "common/base/wait_list.h"
#include "common/cluster/cluster.h"

#include <jansson.h>
#include <stdint.h>

typedef struct master master;

/* Into `o`, which tells of the task: its figures, and what goes between it and servers or which parts it holds. */
void master_publish_status(const master *m, task of, int64_t now_us, json_t *o);
/* The master's own figures. */
json_t *master_publish_self(void);
/* Into `o`: for what every task waits, the longest wait first; `own`: the master's. */
void master_publish_awaits(const master *m, const wait_list *own, int64_t now_us, json_t *o);

#endif
