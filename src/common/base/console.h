/*
 * Standard error as a person sees it: whole lines and, below them, perhaps one bar, which is drawn
 * again after each line and never longer than the terminal is wide; both have colours there
 * (common/base/paint.h). Off a terminal a bar is written as "\r<text>ESC[K\r" and lines as they are: by that
 * the local launcher tells them apart.
 *
 * Whatever may speak while a bar is open writes through here. Any thread.
 */
#ifndef TEQUIO_COMMON_BASE_CONSOLE_H
#define TEQUIO_COMMON_BASE_CONSOLE_H

#include <stddef.h>

/* Makes of a bar's text, which is terminated, what fits into `columns`. */
typedef void console_fit(const char *text, int columns, char *ret, size_t bytes);

/* `line` ends with '\n'. */
void console_line(const char *line, size_t bytes);
/* Shows the bar, in the place of the one before. `fit` stays its own for all later drawings. */
void console_bar(const char *text, console_fit *fit);
/* Leaves the bar as the line it is; nothing if there is none. */
void console_end_bar(void);

#endif
