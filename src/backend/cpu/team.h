/*
 * A lane's OpenMP team. Work is cut into pieces of `grain` items whose edges do not depend on the
 * number of threads; a kernel that sums does so inside pieces, so its bits do not either.
 *
 * Threads: call from the thread that opened the backend.
 */
#ifndef TEQUIO_BACKEND_CPU_TEAM_H
#define TEQUIO_BACKEND_CPU_TEAM_H

#include <stddef.h>
#include <stdint.h>

/* Makes `threads` the team size for this thread, for oneDNN and for team_for. */
void team_set(int threads);
int team_size(void);

typedef void (*team_body)(int64_t begin, int64_t end, void *arg);

/* Calls body for ranges that cover [0, n), each at a multiple of grain; body may be called from
 * several threads at once when n > grain. */
void team_for(int64_t n, int64_t grain, team_body body, void *arg);

/* memcpy and clearing by the whole team. */
void team_copy(void *to, const void *from, size_t bytes);
void team_zero(void *to, size_t bytes);

typedef void (*team_item)(int64_t item, int member, void *arg);

/* Calls body for every item of [0, n), each by one member of the team alone (0 .. team_size() - 1):
 * for bodies with scratch memory of their own, and for matrix products that shall not be shared. */
void team_each(int64_t n, team_item body, void *arg);

#endif
