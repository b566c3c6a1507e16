/*
 * Progress on standard error: a bar that stays on its line, or plain lines.
 *
 * A bar is written as "\r<text>ESC[K\r": the cursor waits at the start of the line, so that a log
 * line simply takes its place. Plain lines come at most every 10 seconds, at every epoch's end and
 * at the last step, and begin with PROGRESS_MARK. By these two signs the local launcher tells
 * progress from log lines and passes it on as it is.
 *
 * Threads: one at a time. Time is the caller's (clock_us), so nothing here waits.
 */
#ifndef TEQUIO_CLI_TRAIN_PROGRESS_H
#define TEQUIO_CLI_TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROGRESS_MARK "progress "

typedef enum progress_mode { PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_BAR } progress_mode;

typedef struct progress_state {
    int64_t step, total_steps; /* total 0: unknown */
    int64_t epoch, epochs;     /* epoch counts from 0; epochs 0: unknown */
    double loss, rate;         /* NaN: unknown */
    double examples_per_s;     /* <= 0: unknown */
    double eta_s;              /* < 0: unknown */
} progress_state;

typedef struct progress {
    progress_mode mode;
    FILE *out;
    int64_t next_us; /* nothing more is shown before */
    progress_state newest;
    bool is_newest_shown, is_bar_open;
} progress;

/* "auto": a bar where `fd` is a terminal that can show one, plain lines otherwise. */
progress_mode progress_mode_of(const char *word, int fd);
const char *progress_mode_name(progress_mode mode);

void progress_init(progress *p, progress_mode mode, FILE *out);

void progress_show(progress *p, const progress_state *s, int64_t now_us);

/* Shows the newest state if that is still due, and leaves the bar's line. */
void progress_finish(progress *p);

/* What a state looks like, without the signs above. */
void progress_text(const progress_state *s, char *ret, size_t bytes);

#endif
