/*
 * A terminal as a screen of lines, and its keys, without the echo of what is typed. The screen that was there comes
 * back at the end, by whatever signal that ends, but by SIGKILL.
 *
 * By ECMA-48's sequences and xterm's alternate screen, which every terminal has that paint.h writes to (decision 043).
 *
 * Threads: one; a process has one screen. SIGINT, SIGTERM, SIGHUP and SIGWINCH are its own while it is open.
 */
#ifndef TEQUIO_CLI_LOOK_SCREEN_H
#define TEQUIO_CLI_LOOK_SCREEN_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What was pressed: a letter, or one of these. */
typedef enum screen_key {
    SCREEN_NOTHING = 0,     /* the time is over, or `fd` can be read */
    SCREEN_UP = 256,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_RESIZED,
    SCREEN_LEAVE,           /* a signal asks for it, or the terminal is gone */
} screen_key;

/* E_CONFIG: standard input and output are no terminal that moves its cursor. */
MUST_USE status screen_open(error *err);
void screen_close(void);

void screen_size(int *ret_columns, int *ret_rows);

/* `colour`: a sequence of paint.h's, or "". Lines are cut to the screen's width, by characters, and to its height. */
typedef struct screen_line {
    const char *text, *colour;
} screen_line;
void screen_draw(const screen_line *lines, size_t n);

/* Waits so long for a key, or until `fd` (-1: none) can be read. */
int screen_wait(int ms, int fd);

#endif
