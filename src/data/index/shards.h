/*
 * The files that hold a data set. A path names one file; a folder, whose files they are; a pattern
 * ("train-*.jsonl", where no file is called so); or an archive (tar or zip), whose members they are. Each
 * may be gzip, and an archive may be too (.tar.gz). They are taken in the order of their names, byte by
 * byte.
 *
 * In a folder or an archive, names that begin with "." or "_" are no data (_SUCCESS, .crc files): they are
 * left out, and the log says how many. A folder within a folder is refused: nobody could say whether its
 * files belong.
 *
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_INDEX_SHARDS_H
#define TEQUIO_DATA_INDEX_SHARDS_H

#include "data/index/inflated.h"
#include "data/index/records.h"

typedef struct shard {
    char *path, *member, *name;     /* "FILE" and no member, or "ARCHIVE!MEMBER" */
    packed from;
    inflated plain;
    record_source source;           /* its inflated bytes, by its name */
    cache_key key;                  /* of these */
} shard;

typedef struct shards {
    shard *at;                      /* [n] */
    size_t n, cap;
    size_t n_left_out;
    fs_map *maps;                   /* [n_maps] of the files themselves */
    size_t n_maps, maps_cap;
    inflated archive;               /* of a compressed archive */
    bool tars_are_files;
} shards;

/* `tars_are_files`: a tar, packed or not, is not looked into. E_DATA: nothing is there, or something is damaged. */
MUST_USE status shards_open(const char *path, bool tars_are_files, shards *ret, error *err);
void shards_close(shards *s);
size_t shards_bytes(const shards *s);   /* of all files, inflated */
/* Of what is made of these files; `made` tells what, with all that decides it but for the files, and the program's
 * version is added. The key's name is of `made` and of where the files lie, the rest of what they are. */
void shards_key(const shards *s, const char *made, cache_key *ret);

/* Whether a path that is no file is a pattern of some. */
bool shards_is_pattern(const char *path);

#endif
