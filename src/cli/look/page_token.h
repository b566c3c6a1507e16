/*
 * The token of a page: that of a key file; else that of the job's key, where the page is of one job that has one; else
 * a random one. A token is derived from the key (common/base/jobkey.h), and tells nothing of it. Threads: any.
 */
#ifndef TEQUIO_CLI_LOOK_PAGE_TOKEN_H
#define TEQUIO_CLI_LOOK_PAGE_TOKEN_H

#include "common/base/jobkey.h"

#include <stddef.h>

/* `file` may be NULL. E_CONFIG: it, or JOB_DIR/key, holds no key, or is others' to read. */
MUST_USE status page_token_choose(const char *file, char *const *dirs, size_t n, char ret[JOBKEY_TEXT], error *err);

#endif
