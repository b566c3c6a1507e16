/*
 * The faults of one task of this process, at work. The transport asks at every message; where there
 * is no plan for the task there is no `fault`, and nothing is asked.
 *
 * A kill is SIGKILL to this process, a freeze SIGSTOP: all its roles die or stop together.
 * What fires says so first (FAULT ...), and at its end a task names the kills and freezes for which
 * the moment never came.
 *
 * Threads: a fault may be shared; what the transport asks may be asked by any thread.
 */
#ifndef TEQUIO_COMMON_FAULT_FAULT_H
#define TEQUIO_COMMON_FAULT_FAULT_H

#include "common/base/error.h"
#include "common/cluster/cluster.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fault fault;
struct fault_plan;

/* What `plan` (kept by reference; NULL: none) has for that life of the task, from now on. *ret is
 * NULL when that is nothing. E_FAIL: no thread to be had. */
MUST_USE status fault_begin(const struct fault_plan *plan, task who, int life, fault **ret,
                            error *err);
void fault_end(fault **f);

/* The sockets that this thread opens from now on are those of that task; NULL: of none. */
void fault_enter(fault *f);
fault *fault_current(void);

/* A message with that head is about to go, or has come. The process may end or stop here. */
bool fault_on_send(fault *f, const unsigned char *head); /* true: it shall be lost */
void fault_on_receive(fault *f, const unsigned char *head);

/* For how long what the task sends shall be held back. */
int64_t fault_delay_us(const fault *f);

#endif
