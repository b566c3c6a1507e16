/*
 * A list of contents: pieces of memory whose content is to be told by a short text, as the files
 * are of which a task makes its examples.
 *
 * The sampled hash costs milliseconds whatever there is: each piece that is longer than its share
 * of CONTENT_DIGEST_SAMPLE bytes gives its first and its last block, and one block of each of the
 * equal stretches in between, at a place drawn from a fixed seed. Shorter ones are hashed whole. So
 * a difference in many places, at an end or in the length is seen for certain or nearly so; one in
 * a few bytes of gigabytes is what the whole hash is for.
 *
 * Memory is borrowed. Pure functions but for the list. Threads: a list belongs to one at a time.
 */
#ifndef TEQUIO_COMMON_BASE_CONTENT_DIGEST_H
#define TEQUIO_COMMON_BASE_CONTENT_DIGEST_H

#include "common/base/hash.h"

enum { CONTENT_DIGEST_SAMPLE = 4 << 20, CONTENT_DIGEST_BLOCK = 16 << 10 };

typedef struct content_digest_piece {
    const void *data;
    size_t bytes;
} content_digest_piece;

typedef struct content_digest {
    content_digest_piece *at;
    size_t n, cap;
} content_digest;

void content_digest_add(content_digest *s, const void *data, size_t bytes);
void content_digest_fini(content_digest *s);

size_t content_digest_bytes(const content_digest *s);
/* SHA-256 over the lengths and the bytes of all pieces, or over those of their samples. */
void content_digest_whole(const content_digest *s, char ret_hex[SHA256_HEX]);
void content_digest_sampled(const content_digest *s, char ret_hex[SHA256_HEX]);

#endif
