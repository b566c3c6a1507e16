/*
 * What a job of the torture runs in: a process that inherits every orphan, where permitted with a
 * network of its own, so that ports are nobody else's, and with mounts of its own.
 * Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_SANDBOX_H
#define TEQUIO_TESTS_FAULT_TORTURE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* This process from now on. */
void sandbox_enter(void);

/* Whether a small file system can be mounted; tries it in a process of its own. */
bool sandbox_can_mount(void);

/* A file system of so many bytes at `dir`, which exists; it goes with the process. */
bool sandbox_mount(const char *dir, int64_t bytes);

/* So many ports of the loopback interface that are free, as tools/free_ports prints them. */
bool sandbox_ports(const char *free_ports, int *ret, int n);

/* Processes below this one, zombies not among them; up to `most`. Returns how many. */
int sandbox_processes(pid_t *ret, int most);

/* Kills them all and reaps them. */
void sandbox_kill_all(void);

/* Whether the environment of a process has the text in an entry of that name. */
bool sandbox_has_variable(pid_t pid, const char *name, const char *text);

/* How much slower than on an idle machine a process runs now; at least 1. Takes a few ms. */
double sandbox_load(void);

#endif
