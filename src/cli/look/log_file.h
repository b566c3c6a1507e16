/*
 * The log of one task, line by line, as it grows. A line's time is that of the day; what goes back by more than half a
 * day is the next day's. Lines that have none, such as what a library printed, have that of the line before.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_CLI_LOOK_LOG_FILE_H
#define TEQUIO_CLI_LOOK_LOG_FILE_H

#include "common/base/error.h"
#include "common/base/log.h"

#include <stdio.h>

typedef struct log_file {
    char *name;             /* of the task: "worker.0" */
    FILE *file;
    char *line;             /* the one to be printed next, without its end; NULL: there is none now */
    size_t cap;
    int64_t time_ms;        /* of that line, since the beginning of the first day */
    log_level level;
    bool has_head;          /* it is a line of our log: time, task, level */
    long next;              /* where the line after it begins */
} log_file;

/* "worker.0" of "worker.0.log"; NULL: it is another file. Free it. */
char *log_file_task(const char *name);

MUST_USE status log_file_open(const char *folder, const char *name, log_file *ret, error *err);
void log_file_close(log_file *l);

/* Reads the next whole line, if there is one; half a line is read again later. False: none. */
bool log_file_next(log_file *l);

/* Goes on with the first whole line of the file's last `bytes`. */
void log_file_skip(log_file *l, long bytes);

#endif
