/*
 * What must be known of files of video before the first is used: how many frames each has, when each of them is shown,
 * and what it is once decoded. All are decoded once, from beginning to end, by all processors, which also finds those
 * that are damaged. What is found is kept in the user's cache (index/kept_arrays.h), 12 bytes a frame; where some files
 * of a set have changed, been added or removed, only those are decoded that are new.
 *
 * A clip is read by seeking: a frame is taken by its time, and only if its checksum is the one that was found; else the
 * file is decoded from its beginning. So where decoding began makes no difference.
 *
 * Threads: immutable once open; a reading belongs to one.
 */
#ifndef TEQUIO_DATA_VIDEOS_VIDEO_INDEX_H
#define TEQUIO_DATA_VIDEOS_VIDEO_INDEX_H

#include "data/index/kept_arrays.h"
#include "data/pictures/picture_set.h"
#include "data/videos/video_file.h"

/* A file; numbers are those of picture_entry. */
typedef struct indexed_video {
    uint64_t first;                 /* of its frames among all */
    uint64_t frames;                /* 0: it is broken, and `why` says so */
    uint64_t why;                   /* where that begins among all such texts, and */
    uint32_t why_bytes;
    uint32_t content;               /* a checksum of all frames, and of the first one's red, green and blue */
    int32_t width, height;          /* the largest there are */
    int32_t narrowest;              /* side */
    uint32_t seeks;                 /* times are there and increase: 1 */
    uint64_t file;                  /* a hash of its path, size, time and bytes at both ends */
} indexed_video;

typedef struct video_index {
    kept_arrays arrays;
    const indexed_video *videos;    /* [n] */
    const int64_t *times;           /* [frames of all] */
    const uint32_t *checksums;      /* likewise */
    size_t n_decoded;               /* files that were decoded for it now */
} video_index;

/* Of all files of a set, which get their numbers. Broken ones are E_DATA, or leave the set (pictures/broken.h). The
 * log says what there is (VIDEOS). Sets s->reading. */
MUST_USE status video_index_open(picture_set *s, bool skips, video_index *ret, error *err);
/* The same, but broken ones stay in the set, and nothing is told of them. */
MUST_USE status video_index_look(picture_set *s, video_index *ret, error *err);
/* Why one without frames is broken, [*ret_bytes]; borrowed. */
const char *video_index_why(const video_index *x, size_t number, size_t *ret_bytes);
void video_index_close(video_index *x);

extern const picture_kind kind_of_videos;

/* One file that is read. */
typedef struct video_reading {
    video_file *file;
    const char *path;
    const indexed_video *video;
    const int64_t *times;           /* of the video's frames, and so is what follows */
    const uint32_t *checksums;
    int64_t at;                     /* the frame at hand; -1: none */
    bool is_sought;                 /* decoding began in the middle */
} video_reading;

/* `path` is kept. */
void video_reading_begin(const video_index *x, size_t number, const char *path, video_reading *ret);
void video_reading_end(video_reading *r);
/* Red, green and blue of a frame, turned if `turns`; numbers do not fall from one call to the next. E_DATA: the file is
 * another one than it was, or damaged by now. */
MUST_USE status video_reading_take(video_reading *r, int64_t number, bool turns, picture *ret, error *err);

#endif
