/*
 * One task of a job as a child process: how it is started, what it prints, how it ended.
 *
 * A child leads a process group of its own, so that the terminal's signals reach the launcher only
 * and the group can be killed whole; it dies with the launcher, whatever kills that. Its two
 * outputs are pipes, cut into lines here: a line ends with '\n', or with '\r' where a progress bar
 * was drawn.
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_PROCESS_CHILD_H
#define TEQUIO_JOB_PROCESS_CHILD_H

#include "common/base/buf.h"
#include "common/cluster/cluster.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { CHILD_STREAMS = 2, CHILD_LAST_LINES = 20, CHILD_LINE_MAX = 8192 };

typedef struct child_stream {
    int fd;   /* -1: closed, or not open yet */
    buf line; /* what has come of the line being read */
} child_stream;

typedef struct child {
    task task;
    char name[TASK_NAME];
    pid_t pid;       /* 0: not running */
    int wait_status; /* as of waitpid, once it has ended */
    bool has_ended;
    child_stream streams[CHILD_STREAMS]; /* standard output, standard error */
    int input_fd;                        /* its standard input; -1: it has none, or no more */
    buf input;                           /* what is still to be written there */
    FILE *log;                           /* every line, as it came; NULL: it could not be opened */
    bool log_fails;                      /* the last line did not get there */
    char *last[CHILD_LAST_LINES];        /* ring of its last lines */
    size_t n_lines;
} child;

typedef struct child_start {
    task task;
    const char *log_path;
    const char *program; /* looked for in PATH; NULL: this program */
    char *const *argv;   /* argv[0] included */
    char *const *envp;
    const char *input;   /* for its standard input, which then stays open; NULL: it has none */
    int listen_fd, metrics_fd; /* the descriptors it inherits, or -1 */
} child_start;

/* Tells a line: `stream` 0 or 1; a bar's redrawing is no line for logs. */
typedef void child_line(void *user, child *c, int stream, const char *line, bool is_bar);

/* In a child of `parent`, between fork and exec, by what POSIX allows there: it dies with its parent, leads a group of
 * its own, and no signal is blocked. */
void child_stand_apart(pid_t parent);

/* E_IO. On failure `ret` is as child_fini leaves it. */
MUST_USE status child_run(child *ret, const child_start *start, error *err);
void child_fini(child *c);

/* Reads once what is there, without waiting; at the end of the stream closes it, after a last line
 * if one is open. False when there was nothing (more) to read. */
bool child_read(child *c, int stream, child_line *tell, void *user);

/* Writes of its input what can be taken now. */
void child_write(child *c);

/* True once, when it has ended; whatever is left of its group is killed. */
bool child_reap(child *c);

/* Signals the whole group; nothing once it has ended. One that has a standard input is told of any
 * signal but SIGKILL there, by a line "signal 15": it stands for a process that we cannot reach. */
void child_kill(child *c, int signal);

/* The exit code, 128 + signal when a signal ended it. */
int child_exit_code(const child *c);

/* "exit 3", "killed by signal 9 (Killed)" */
void child_describe_end(const child *c, char *ret, size_t bytes);

/* How a program of ours begins what it says of its own failure, as its last line. */
#define CHILD_FAILURE "tequio: "
/* "exit 3: no such file", with that; free it. */
char *child_describe_failure(const child *c);
/* What it said of its failure, without that; NULL: it said nothing. Borrowed, until its next line. */
const char *child_failure(const child *c);

/* Its last lines, oldest first, indented, as many as fit into `bytes` from the end. */
void child_last_lines(const child *c, size_t bytes, buf *ret);

#endif
