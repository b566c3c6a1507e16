/*
 * A list of spans: pieces of memory whose content is to be told by a short text, as the files are of which a
 * task makes its examples.
 *
 * The sampled hash costs milliseconds whatever there is: each span that is longer than its share of
 * SPAN_LIST_SAMPLE bytes gives its first and its last block, and one block of each of the equal stretches in
 * between, at a place drawn from a fixed seed. Shorter ones are hashed whole. So a difference in many
 * places, at an end or in the length is seen for certain or nearly so; one in a few bytes of gigabytes is
 * what the whole hash is for.
 *
 * Memory is borrowed. Pure functions but for the list. Threads: a list belongs to one at a time.
 */
#ifndef TEQUIO_COMMON_BASE_SPAN_LIST_H
#define TEQUIO_COMMON_BASE_SPAN_LIST_H

#include "common/base/hash.h"

enum { SPAN_LIST_SAMPLE = 4 << 20, SPAN_LIST_BLOCK = 16 << 10 };

typedef struct span_list_item {
    const void *data;
    size_t bytes;
} span_list_item;

typedef struct span_list {
    span_list_item *at;
    size_t n, cap;
} span_list;

void span_list_add(span_list *s, const void *data, size_t bytes);
void span_list_fini(span_list *s);

size_t span_list_total(const span_list *s);
/* SHA-256 over the lengths and the bytes of all spans, or over those of their samples. */
void span_list_hash(const span_list *s, char ret_hex[SHA256_HEX]);
void span_list_sample(const span_list *s, char ret_hex[SHA256_HEX]);

#endif
