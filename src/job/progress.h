/*
 * Progress on standard error: a bar that stays the last line, or plain lines. Of plain lines one comes a
 * minute, one at the ends of the first PROGRESS_EPOCHS epochs, for jobs that are over soon, and one at the last step.
 * They begin with PROGRESS_MARK; by that the local launcher tells them from log lines, and passes them on as they are.
 * Bars it draws anew (common/base/console.h).
 *
 * Threads: one at a time. Time is the caller's (clock_us), so nothing here waits.
 */
#ifndef TEQUIO_JOB_PROGRESS_H
#define TEQUIO_JOB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_MARK "progress "

typedef enum progress_mode { PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_BAR } progress_mode;

typedef struct progress_state {
    int64_t step, total_steps; /* total 0: unknown */
    int64_t epoch, epochs;     /* epoch counts from 0; epochs 0: unknown */
    double loss, accuracy, rate; /* of the newest step; NaN: unknown */
    double examples_per_s;     /* <= 0: unknown */
    double eta_s;              /* < 0: unknown */
} progress_state;

enum {
    PROGRESS_EPOCHS = 16,
    PROGRESS_LINE = 256,        /* bytes: no text is longer */
};

typedef struct progress {
    progress_mode mode;
    int epochs_left;    /* whose ends are shown */
    int64_t next_us;    /* nothing more is shown before */
    progress_state newest;
    bool is_newest_shown;
} progress;

/* "auto": a bar where `fd` is a terminal that can show one, plain lines otherwise. */
progress_mode progress_mode_of(const char *word, int fd);
const char *progress_mode_name(progress_mode mode);

void progress_init(progress *p, progress_mode mode);

void progress_show(progress *p, const progress_state *s, int64_t now_us);

/* Shows the newest state if that is still due, and leaves the bar's line. */
void progress_finish(progress *p);

/* What a state looks like: fields with two spaces between. */
void progress_text(const progress_state *s, char *ret, size_t bytes);
/* What of such a text fits, as console_fit: with cells in front that fill up where there is room, else
 * without the fields that tell least. */
void progress_fit(const char *text, int columns, char *ret, size_t bytes);

#endif
