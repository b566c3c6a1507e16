/*
 * Whether the connections of a cluster are encrypted, and where its key is found.
 *
 * distributed.security "curve" is always, "off" never. Without a word from there: unless every
 * address of the cluster is one of the loopback interface, judged by its text, so that all tasks
 * come to the same answer.
 *
 * The key is the first that is found of: TEQUIO_KEY (the key itself), the file that TEQUIO_KEY_FILE
 * names, the file that distributed.key_file names, JOB_DIR/key.
 *
 * Threads: the main thread, before it starts others.
 */
#ifndef TEQUIO_CLI_RUN_KEYS_H
#define TEQUIO_CLI_RUN_KEYS_H

#include "common/base/jobkey.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"

/* What TEQUIO_KEY held. */
typedef struct keys_given {
    bool any;
    char text[2 * JOBKEY_TEXT];
} keys_given;

/* Takes TEQUIO_KEY out of the environment, so that neither a process started later nor /proc shows
 * it. Wipe it (jobkey_wipe) when it is of no use any more. */
void keys_take_given(keys_given *ret);

bool keys_are_needed(const config *conf, const cluster *c);

/* E_CONFIG if there is none, and then the message says what can be done; or if it is no key. */
MUST_USE status keys_find(const keys_given *given, const config *conf, const char *job_dir,
                          jobkey *ret, error *err);

/* For a launcher: the same, or a new key if there is none. */
MUST_USE status keys_choose(const keys_given *given, const config *conf, const char *job_dir,
                            jobkey *ret, error *err);

/* The file for the tasks of a local cluster: the one that keys_find would read, JOB_DIR/key with
 * what was given, or a new key in it. The caller frees the path. E_CONFIG, E_IO. */
MUST_USE status keys_find_file(const keys_given *given, const config *conf, const char *job_dir,
                               char **ret, error *err);

#endif
