/*
 * manifest.json, the text form of a checkpoint's manifest. Its last line is the SHA-256 of all
 * bytes before that line, so a manifest vouches for itself and then for every shard.
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_COMMON_STORE_MANIFEST_H
#define TEQUIO_COMMON_STORE_MANIFEST_H

#include "common/store/checkpoint.h"

/* Writes `path` atomically. */
MUST_USE status manifest_write(const manifest *m, const char *path, error *err);

/* Is it what is written there, word by word? */
bool manifest_is_at(const manifest *m, const char *path);

/* E_DATA names the file and what is wrong. Everything in *ret hangs together afterwards: the flat
 * vector has the digest and the parts that are stated, every part names a shard that is listed. */
MUST_USE status manifest_read(const char *path, manifest *ret, error *err);

/* "part.000007.weights", or the slot's name in place of `weights`; `ret` holds 64 bytes or more. */
void manifest_part_name(int32_t part, const char *slot, char *ret, size_t bytes);

#endif
