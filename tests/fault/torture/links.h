/*
 * Impaired connections: a process that hands on TCP connections between tasks, each pair of
 * tasks through a port of its own, and does to them what it is told. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_LINKS_H
#define TEQUIO_TESTS_FAULT_TORTURE_LINKS_H

#include "fault/torture/plan.h"

#include <sys/types.h>

typedef struct links links;

/* Listens on loopback: what is dialled at ports[from * n + to] goes on to targets[to], for all
 * from != to below n <= MOST_TASKS. NULL if it cannot. */
links *links_start(int n, const int *ports, const int *targets);
void links_stop(links **l);

/* STALL: nothing passes, connections stay. BREAK: they are closed, and so is each new one. SLOW: 20
 * kB a second, in small pieces. Until links_restore. */
void links_impair(links *l, int from, int to, impairment how);
void links_restore(links *l, int from, int to);

#endif
