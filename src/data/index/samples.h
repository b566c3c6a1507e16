/*
 * Samples of a tar file, by WebDataset's naming: a member is "PATH/KEY.EXT", where EXT begins behind the first dot of
 * the last part of its name, and members of one PATH/KEY that follow each other are a sample. Names whose last part
 * begins with "." or "_" are no data.
 *
 * Errors: E_DATA with the tar's name and the byte. Pure functions of the bytes.
 */
#ifndef TEQUIO_DATA_INDEX_SAMPLES_H
#define TEQUIO_DATA_INDEX_SAMPLES_H

#include "data/index/records.h"

/* For the table of records.c. */
MUST_USE status samples_cut(const record_source *source, int threads, record_list *ret, error *err);
void samples_place(const record_source *source, uint64_t at, size_t n, buf *ret);

typedef struct sample_member {
    char *extension;                /* "cls", "seg.png" */
    const unsigned char *data;
    size_t bytes;
} sample_member;

typedef struct sample {
    sample_member *at;              /* [n] */
    size_t n, cap;
} sample;

/* Of the record's bytes. E_DATA: an extension stands there twice. */
MUST_USE status sample_read(const unsigned char *data, size_t bytes, sample *ret, error *err);
void sample_fini(sample *s);

#endif
