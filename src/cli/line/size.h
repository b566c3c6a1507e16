/* Bytes for people: "512 B", "1.5 kB", "93.2 MB"; a thousand of one unit are the next. Pure. */
#ifndef TEQUIO_CLI_LINE_SIZE_H
#define TEQUIO_CLI_LINE_SIZE_H

enum { SIZE_TEXT = 32 };

/* Returns `ret`. */
const char *size_text(double bytes, char ret[SIZE_TEXT]);

#endif
