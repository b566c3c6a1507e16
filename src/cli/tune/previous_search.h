/*
 * The trials of another search, from which a new one begins: AI Platform's resumePreviousJobId. Both have the same
 * parameters and the same objective. Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_PREVIOUS_SEARCH_H
#define TEQUIO_CLI_TUNE_PREVIOUS_SEARCH_H

#include "tune/study.h"

/* Its folder: `asked` is a path if it has a '/', else the name of a folder beside `dir`. The caller frees it. */
char *previous_search_dir(const char *asked, const char *dir);

/* Records of what is known of its trials, for the journal whose first record is `head`; the caller decrefs them. A
 * warning tells if it had another configuration. E_DATA: it is not there, or damaged; E_CONFIG: it searches something
 * else. */
MUST_USE status previous_search_read(const char *asked, const char *dir, const json_t *head, const space *searched,
                                     json_t **ret, error *err);

#endif
