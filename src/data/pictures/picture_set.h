/*
 * The files of a data set of pictures or videos: where they lie, and the class of each.
 *
 * Of a folder that has a folder a class (torchvision's ImageFolder, Keras' image_dataset_from_directory) classes are
 * numbered in the order of their names, byte by byte. Files are those whose names end as those of their kind do, at
 * any depth below the class; others are left out, and counted, and so are names that begin with ".". Without labels the
 * tree may have any shape, and a single file is a set of one.
 *
 * Threads: immutable once open and dealt.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_SET_H
#define TEQUIO_DATA_PICTURES_PICTURE_SET_H

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "data/words.h"

enum { PICTURE_FILE_MOST = 1 << 30 };

typedef struct picture_entry {
    const char *path;               /* as of picture_path */
    int32_t label;                  /* 0 without labels */
    const int32_t *labels;          /* [n_labels], where pictures may have any number of them */
    int32_t n_labels;
    uint64_t bytes;                 /* of the file; found by picture_entry_open, as is what follows */
    uint64_t sample;                /* a hash of the path and of bytes at both ends */
    int64_t changed_ns;
    size_t number;                  /* the reader's own */
} picture_entry;

/* What its files are. */
typedef struct picture_kind {
    const char *one;                /* "picture" */
    const char *ends;               /* of their names, for messages: ".jpg, .jpeg, .png or .webp" */
    bool (*counts)(const char *path); /* by the name, also one that cannot be read, which is said when it is */
} picture_kind;

extern const picture_kind kind_of_pictures;

typedef struct picture_set {
    const picture_kind *kind;
    char *root;                     /* a folder */
    const char *origin;             /* the folder, list or file that was asked for; NULL: none was */
    picture_entry *at;
    size_t n, cap;
    words *classes;                 /* NULL: none are known */
    size_t reading;                 /* bytes that reading and decoding one takes at most; found by picture_survey */
    int64_t n_left_out;             /* files that do not count by their names */
    arena *names;
} picture_set;

/* `known`: the classes there are, in their order, taken over also on failure; NULL: those of the folders. E_DATA: there
 * are no folders of classes, one of them is empty, or none of those that are known. */
MUST_USE status picture_set_of_folders(const char *path, const picture_kind *kind, words *known, picture_set *ret,
                                       error *err);
/* All that is there, without labels; `known`, which may be NULL, are classes to be told of. */
MUST_USE status picture_set_of_files(const char *path, const picture_kind *kind, words *known, picture_set *ret,
                                     error *err);
/* Adds those that lie right in a folder, a path as of picture_path. */
MUST_USE status picture_set_add_files(picture_set *s, const char *folder, int32_t label, error *err);
void picture_set_fini(picture_set *s);

/* Pictures come in the order of their paths, byte by byte. Dealt, the r-th of a class of n stands at (r + 1/2) / n of
 * the whole, so that any part of a set has all classes in their proportion. */
void picture_set_deal(picture_set *s);

/* Maps a file, which lies at `path`, and fills in what is found by looking at it. E_DATA. */
MUST_USE status picture_entry_open(picture_entry *e, const char *path, fs_map *ret, error *err);

/* A hash of the class or the classes of an entry. */
uint64_t picture_entry_labels(const picture_entry *e);

/* Where file `i` lies; free it. */
char *picture_set_path(const picture_set *s, size_t i);
/* Appends its path as of picture_entry; a byte that is no UTF-8 becomes a question mark. */
void picture_set_name(const picture_set *s, size_t i, buf *ret);
/* `path` below `root`; one that begins with "/" is itself. Free it. */
char *picture_path(const char *root, const char *path);

#endif
