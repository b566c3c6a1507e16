/*
 * Colours of what people read on a terminal: a log line's level where it says that something is wrong, its id, and its
 * time and task, which are read last; the bar's full cells; the name of the program that fails. The text is the same
 * with and without. Colours are those of ECMA-48's SELECT GRAPHIC RENDITION, which the terminal's own palette decides.
 *
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_BASE_PAINT_H
#define TEQUIO_COMMON_BASE_PAINT_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* The terminal moves its cursor as the escape sequences say; false where `fd` is none. */
bool paint_can_move(int fd);
/* It does, and nobody set NO_COLOR to anything (https://no-color.org). */
bool paint_is_wanted(int fd);

/* The sequence that begins it, or "" where it is not wanted; `fd` takes "\033[0m" at the end of it. */
typedef enum paint_what { PAINT_PLAIN, PAINT_BOLD, PAINT_DIM, PAINT_WARN, PAINT_BAD } paint_what;
const char *paint_sequence(int fd, paint_what what);

/* Each adds the text, painted. A line that is none of the log stays as it is. */
void paint_line(const char *line, size_t bytes, buf *ret);
/* `bar`: what progress_fit made. */
void paint_bar(const char *bar, buf *ret);
/* "tequio: ", before the reason why it fails; plain where `fd` takes no colours. */
void paint_failure(int fd, buf *ret);

#endif
