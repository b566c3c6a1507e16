/*
 * The key of a job: 32 random bytes that all its tasks share and nobody else has. From it the key
 * pairs of its connections are derived (by libsodium), so that one line of text is all there is to
 * keep and to hand on.
 *
 * As text: 64 hexadecimal digits. No message and no log line repeats any of it. Any thread.
 */
#ifndef TEQUIO_COMMON_BASE_JOBKEY_H
#define TEQUIO_COMMON_BASE_JOBKEY_H

#include "common/base/error.h"

#include <stdbool.h>

enum { JOBKEY_BYTES = 32, JOBKEY_TEXT = 65 };

typedef struct jobkey {
    unsigned char bytes[JOBKEY_BYTES];
} jobkey;

/* Of Curve25519, as CURVE wants them. */
typedef struct jobkey_pair {
    unsigned char public[JOBKEY_BYTES], secret[JOBKEY_BYTES];
} jobkey_pair;

typedef enum jobkey_use { JOBKEY_LISTENERS = 1, JOBKEY_DIALLERS, JOBKEY_PAGE, JOBKEY_METRICS } jobkey_use;

MUST_USE status jobkey_make(jobkey *ret, error *err);
void jobkey_text(const jobkey *k, char ret[JOBKEY_TEXT]);

/* White space around it is fine. E_CONFIG. */
MUST_USE status jobkey_parse(const char *text, jobkey *ret, error *err);
bool jobkey_equal(const jobkey *a, const jobkey *b);
bool jobkey_equal_bytes(const void *a, const void *b, size_t bytes); /* in constant time */

/* The same pair for the same key and use, on every host. */
void jobkey_derive(const jobkey *k, jobkey_use use, jobkey_pair *ret);

/* Likewise a text of digits that is shown where the key itself must not be; nothing of the key follows from it. */
void jobkey_derive_token(const jobkey *k, jobkey_use use, char ret[JOBKEY_TEXT]);

/* Leaves nothing of it in memory; for keys, pairs and texts. */
void jobkey_wipe(void *data, size_t bytes);

/* E_CONFIG for a file that somebody else may read, or that holds no key. */
MUST_USE status jobkey_read(const char *path, jobkey *ret, error *err);

/* A new file that only its owner may read; E_CONFIG if there is one already. */
MUST_USE status jobkey_write(const char *path, const jobkey *k, error *err);

#endif
