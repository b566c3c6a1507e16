/*
 * Threads of our own. Share nothing where you can; what is shared is named in the header of the
 * thing and guarded by its lock.
 */
#ifndef TEQUIO_COMMON_BASE_THREAD_H
#define TEQUIO_COMMON_BASE_THREAD_H

#include "common/base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* `task` names the thread's log lines (kept by reference) and, cut to 15 bytes, the thread. */
MUST_USE status thread_start(pthread_t *ret, const char *task, void *(*run)(void *), void *arg,
                             error *err);

/* A condition whose waits may have a limit. */
void thread_cond_init(pthread_cond_t *c);
/* Until somebody wakes it, or the moment by clock_us; false: that is there. */
bool thread_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_us);

/* From now on the calling thread leaves the processor to every other that wants it. */
void thread_give_way(void);

/* The same, and more: it has the processor and the disk when nobody else wants them. It may hardly run for
 * long: nobody may wait for more than a little of its work, nor for what it holds. */
void thread_idle(void);

/* CPUs this process may use: affinity mask and cgroup quota, at least 1. */
int thread_cpus(void);

#endif
