/*
 * Waits as values: for whom somebody waits, for what and since when, in words. The lines of the log and what a job
 * tells of itself are made from them. Plain data, pure functions but for wait_list_log.
 */
#ifndef TEQUIO_COMMON_BASE_WAIT_LIST_H
#define TEQUIO_COMMON_BASE_WAIT_LIST_H

#include "common/base/log.h"

#include <stddef.h>

enum { WAIT_TEXT = 256, WAIT_WORDS = 160, WAIT_WHOM = 24, WAITS_MOST = 32 };

#define WAIT_LISTED_S 1.0   /* a shorter one is no news */

typedef struct wait_said {
    log_level level;
    double since_s;             /* so long ago it began */
    char text[WAIT_TEXT];       /* for logs: "for=ps.1 to be ready since=7.2s" */
    char words[WAIT_WORDS];     /* for people, behind "waits for": "ps.1 to be ready" */
    char whom[WAIT_WHOM];       /* "ps.1"; empty: no task by name */
} wait_said;

typedef struct wait_list {
    size_t n, left_out;     /* left_out: there was no room for so many more */
    wait_said at[WAITS_MOST];
} wait_list;

#define WAIT_LIST_INIT {.n = 0}

void wait_list_add(wait_list *l, log_level level, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same wait in words, right after it was added; `whom` NULL: no task by name. */
void wait_list_words(wait_list *l, double since_s, const char *whom, const char *format, ...) PRINTF_LIKE(4, 5);
/* A line WAIT for each, and one that counts those left out. */
void wait_list_log(const wait_list *l);

#endif
