/*
 * What must be known of all records before the first is used: that each is what the configuration says,
 * how many classes its labels have, and which words, and how long it is, where fields vary. Every record is
 * read once, by all processors; what was found is kept in the cache beside the index (index/cache.h), so the
 * next start, and every other process of the host, reads none.
 *
 * Threads: the calling one, and those it starts and ends.
 */
#ifndef TEQUIO_DATA_RECORD_SURVEY_H
#define TEQUIO_DATA_RECORD_SURVEY_H

#include "data/index/record_set.h"
#include "data/record/field.h"
#include "data/record/kept_lengths.h"

/* Fills in the classes and words that `fields` lacks, and gives the length of each record (none: no
 * field varies), and how many bytes of memory the images of one and decoding them take at most. The first record
 * that is wrong, or whose class is none of those that are known, is E_DATA, with its place; of images the heads are
 * looked at. */
MUST_USE status survey_take(const record_set *set, const record_format *format, record_fields *fields,
                            kept_lengths *ret_lengths, size_t *ret_reading, error *err);

#endif
