/*
 * Files. Whatever must not be seen half written is written beside its place, synced and renamed.
 * Any thread.
 */
#ifndef TEQUIO_COMMON_BASE_FS_H
#define TEQUIO_COMMON_BASE_FS_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a file that is to be read could not be, at `what` ("open"): errno. E_DATA if it is not there or may
 * not be read, which another name or file would mend; else fs_cause. */
status fs_fail_input(const char *what, const char *path, error *err);

/* E_DISK of what may pass: no room, a used up quota, a device or file server that fails; else E_IO. */
status fs_cause(int failure);
/* What a file operation failed by, from errno: "<what> '<path>': <why>". */
status fs_fail(error *err, const char *what, const char *path);
/* Either of them. */
bool fs_is_cause(status st);

/* Appends the file's bytes; E_DATA as above, also when it holds more than `limit` bytes, and then nothing is
 * appended. */
MUST_USE status fs_read(const char *path, size_t limit, buf *ret, error *err);

/* The same of a file that says what is to be done, `what` in messages: E_CONFIG whatever is wrong. */
MUST_USE status fs_read_config(const char *what, const char *path, size_t limit, buf *ret, error *err);

/* Temporary file in the same folder, fsync, rename, fsync of the folder. Old content stays on
 * failure. Several threads may write one path: it is always wholly of one of them. */
MUST_USE status fs_write_atomic(const char *path, const void *data, size_t bytes, error *err);

/* The same; `guard` is asked right before the rename, after all that takes long, whether the file
 * may still be written. When it does not say OK nothing is, and that is returned. */
typedef status fs_guard(const void *user, error *err);
MUST_USE status fs_write_guarded(const char *path, const void *data, size_t bytes, fs_guard *guard,
                                 const void *user, error *err);

/* The same of what may be lost with the machine's power, and is not synced; the file may be empty then. */
MUST_USE status fs_write_unsynced(const char *path, const void *data, size_t bytes, error *err);

/* The folder that a path lies in; "." or "/" where it names none. Free it. */
char *fs_parent(const char *path);
/* A name beside `path` that nobody else has, on any host: for what is renamed to it when it is
 * whole. Free it. */
char *fs_beside(const char *path);
/* Whether `end` is what such a name adds. */
bool fs_is_beside(const char *end);
/* Removes, as far as it can, what killed writers left in a folder beside the files whose names begin with
 * one of names[n]. A writer at work loses what it has written, and writes it again. */
void fs_remove_beside(const char *folder, const char *const *names, size_t n);

/* write(2) until all is out */
MUST_USE status fs_write_all(int fd, const void *data, size_t bytes, const char *path, error *err);
MUST_USE status fs_sync_dir(const char *dir, error *err);

/* Whether rename(2) failed because folders cannot be renamed there at all: in Cloud Storage behind
 * FUSE they are only beginnings of names. */
bool fs_names_no_folders(int failure);
/* Renames a folder of plain files; where that cannot be, they move one by one, and the one called
 * `last` is the last, so that a folder which lacks it is not whole. `to` must not be there. */
MUST_USE status fs_move_folder(const char *from, const char *to, const char *last, error *err);

MUST_USE status fs_mkdirs(const char *dir, error *err);       /* as `mkdir -p` */
/* The last `levels` folders of a path, which may be there; what is above them must be: for folders of a job
 * dir, which nobody makes anew. */
MUST_USE status fs_mkdir(const char *dir, int levels, error *err);
/* A fresh one below $TMPDIR, or /tmp, whose name begins with tequio-<what>. Free its path. */
MUST_USE status fs_make_temporary(const char *what, char **ret, error *err);
MUST_USE status fs_remove_tree(const char *path, error *err); /* as `rm -rf`; absent is fine */
bool fs_exists(const char *path);
bool fs_is_folder(const char *path);     /* or a link to one */

/* Names in `dir`, sorted, without "." and "..". Free each and the array. */
MUST_USE status fs_list(const char *dir, char ***ret_names, size_t *ret_n, error *err);
void fs_list_free(char **names, size_t n);

/* A whole file, read only, mapped. `data` is NULL for an empty file. E_DATA also if it is no regular
 * file. */
typedef struct fs_map {
    const unsigned char *data;
    size_t bytes;
} fs_map;
MUST_USE status fs_map_open(const char *path, fs_map *ret, error *err);
void fs_map_close(fs_map *m);
/* These bytes of a map, or of any memory, are about to be read: they are fetched meanwhile. */
void fs_map_fetch(const void *data, size_t bytes);

#endif
