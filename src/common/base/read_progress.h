/*
 * How far a long reading of data is, and that it goes on, for those who wait for it: a first start reads all data
 * before its first step, and may take an hour for that. Whoever reads says so here as it goes along; a line of the log
 * tells every ten seconds (READING).
 *
 * A thread reads for what it has entered, with the helpers of its loops (data/index/parallel.h), or, where it has
 * entered nothing, for the process. Threads: any.
 */
#ifndef TEQUIO_COMMON_BASE_READ_PROGRESS_H
#define TEQUIO_COMMON_BASE_READ_PROGRESS_H

#include "common/base/error.h"

#include <stdatomic.h>
#include <stdint.h>

enum { READ_PROGRESS_TEXT = 192, READ_PROGRESS_STEP = 1 << 20 };

typedef struct read_progress read_progress;

read_progress *read_progress_create(void);
void read_progress_destroy(read_progress **p);
/* From now on the calling thread reads for it; NULL: for the process. */
void read_progress_enter(read_progress *p);
read_progress *read_progress_here(void);

/* --- who reads --- */

/* What follows is "indexing" of the file or folder `of`, n bytes or, with a `unit` (kept), so many of these; 0: nobody
 * knows. */
void read_progress_begin(const char *what, const char *of, uint64_t n, const char *unit);
/* So much more is read; 0: it goes on. */
void read_progress_add(uint64_t n);
/* In a loop over bytes or things that are short: adds what lies between *told and `at`, once that is worth it. */
static inline void read_progress_reach(uint64_t *told, uint64_t at)
{
    if (at - *told < READ_PROGRESS_STEP)
        return;
    read_progress_add(at - *told);
    *told = at;
}
/* E_ABORTED once it is to stop. */
MUST_USE status read_progress_check(error *err);

/* --- who waits --- */

typedef struct read_state {
    uint64_t moves;                 /* grows as long as it goes on */
    char text[READ_PROGRESS_TEXT];  /* "indexing 'train.jsonl': 3.1 of 10.2 GB"; "": nothing has begun */
} read_state;

void read_progress_look(read_progress *p, read_state *ret);
void read_progress_stop(read_progress *p);
/* It is to stop once *flag, which is kept, is true. Before anybody reads for it. */
void read_progress_stop_by(read_progress *p, const atomic_bool *flag);

/* --- other processes, which wait for a file that is made here (data/index/cache.h) --- */

/* We make it, and how far it is stands in this file about four times a second, until it is taken back. */
void read_progress_share(int fd);
void read_progress_unshare(int fd);
/* What the maker says there is ours, as we wait for it; that it says more is progress. */
void read_progress_follow(int fd);

#endif
