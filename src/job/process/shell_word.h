/* Words for scripts of a shell. Pure functions. */
#ifndef TEQUIO_JOB_PROCESS_SHELL_WORD_H
#define TEQUIO_JOB_PROCESS_SHELL_WORD_H

#include "common/base/buf.h"

/* Appends the text as one word, whatever is in it. */
void shell_word_add(const char *text, buf *ret);

#endif
