/*
 * The records of a data set, over all files that hold it (shards.h), each with its index (index.h): record
 * i is found without reading any other. Files may be uneven, and some empty. It takes 16 bytes a record,
 * which all processes of a host share where the index is kept, and no copy of the data.
 *
 * Threads: any, once it is open.
 */
#ifndef TEQUIO_DATA_INDEX_RECORD_SET_H
#define TEQUIO_DATA_INDEX_RECORD_SET_H

#include "common/base/content_digest.h"
#include "data/index/records.h"

#include <stdbool.h>

typedef struct record_set record_set;

/* The log says how many there are and what it took (INDEX), and names empty files. E_DATA if nothing is
 * there, if all is empty, or if something is damaged. */
MUST_USE status record_set_open(record_kind kind, const char *path, record_set **ret, error *err);
void record_set_close(record_set **s);

int64_t record_set_count(const record_set *s);
size_t record_set_bytes(const record_set *s);       /* of all files, inflated */
size_t record_set_files(const record_set *s);
/* File `i`: its name (borrowed), how many records it has and, inflated, how many bytes. */
const char *record_set_file(const record_set *s, size_t i, int64_t *ret_records, size_t *ret_bytes);

/* The bytes of record `i`, borrowed. */
const unsigned char *record_set_at(const record_set *s, int64_t i, size_t *ret_bytes);
/* The same for an example: they count as read. */
const unsigned char *record_set_read(const record_set *s, int64_t i, size_t *ret_bytes);
int64_t record_set_bytes_read(const record_set *s);

/* Appends where record `i` stands: "'part-3.jsonl': line 17 (byte 1234)". */
void record_set_place(const record_set *s, int64_t i, buf *ret);

/* Adds the bytes that records first .. first+n-1 are made from. */
void record_set_contents(const record_set *s, int64_t first, int64_t n, content_digest *ret);
/* A hash of where these records begin and end within their files: one that is split or longer is seen for
 * certain. */
void record_set_lengths(const record_set *s, int64_t first, int64_t n, char ret_hex[SHA256_HEX]);
/* Names this very data set among all: of where its files lie, their sizes, times and samples. */
void record_set_name(const record_set *s, char ret_hex[SHA256_HEX]);

#endif
