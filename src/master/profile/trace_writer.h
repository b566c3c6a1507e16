/*
 * Writes traces into JOB_DIR/profile while training goes on: a thread that gives way to all others.
 *
 * Threads: belongs to its owner's, who hands over what each process told and never waits but in trace_writer_destroy,
 * and there for seconds: a thread that the disk does not let go stays, with what it needs, until the process ends.
 */
#ifndef TEQUIO_MASTER_PROFILE_TRACE_WRITER_H
#define TEQUIO_MASTER_PROFILE_TRACE_WRITER_H

#include "master/profile/source.h"

typedef struct trace_writer trace_writer;

/* `path` is replaced when all is written; its folder is made. */
MUST_USE status trace_writer_create(const char *path, trace_window steps, trace_writer **ret, error *err);
/* What is still being written is given up. */
void trace_writer_destroy(trace_writer **w);

void trace_writer_add(trace_writer *w, trace_source *s);    /* moves in */
void trace_writer_miss(trace_writer *w, const char *task, const char *why);
size_t trace_writer_waiting(trace_writer *w);               /* of both, those it has not begun with */
uint64_t trace_writer_progress(trace_writer *w);            /* another one each time: it gets on */
void trace_writer_end(trace_writer *w);                     /* no more comes */
/* After trace_writer_end: whether it is over, and how; the file is there after OK. */
bool trace_writer_is_over(trace_writer *w, status *ret, error *err);

#endif
