/*
 * A file of video, decoded frame by frame in the order of display, by FFmpeg's libraries, which are opened when the
 * first file is. Containers: MP4 and QuickTime, Matroska and WebM, AVI. One thread decodes, bit-exact code alone is
 * used, and nothing but the file itself is read.
 *
 * What the libraries report as an error is one here, also where they would go on with a guess: E_DATA without the path,
 * which the caller prepends. After video_file_seek nothing but failing is an error: the caller compares checksums.
 *
 * Threads: a file belongs to one at a time.
 */
#ifndef TEQUIO_DATA_VIDEOS_VIDEO_FILE_H
#define TEQUIO_DATA_VIDEOS_VIDEO_FILE_H

#include "data/pictures/pixels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct video_file video_file;

typedef struct video_frame {
    int64_t time;                   /* of display, in the file's own units */
    bool has_time;
    uint32_t checksum;              /* of the frame as it was decoded, before it became red, green and blue */
    int32_t width, height;          /* before it is turned */
} video_frame;

/* E_CONFIG: the libraries are not here, or the program was built without them. */
MUST_USE status video_library_open(error *err);
/* "libavcodec 59.37.100, ...", once they are open. */
const char *video_library_versions(void);

/* E_CONFIG as above; E_DATA, E_IO, E_DISK, E_NOMEM. */
MUST_USE status video_file_open(const char *path, video_file **ret, error *err);
void video_file_close(video_file **f);

/* How it is to be turned: EXIF's 1 to 8. */
int32_t video_file_orientation(const video_file *f);
/* The next frame; *ret_more false: there is none. */
MUST_USE status video_file_next(video_file *f, bool *ret_more, video_frame *ret, error *err);
/* The frame that video_file_next has given, as red, green and blue; picture_fini frees it. */
MUST_USE status video_file_picture(video_file *f, picture *ret, error *err);
/* The next frame is one from which decoding can begin, at `time` or before it as far as the file knows; false: it
 * cannot be looked for. */
bool video_file_seek(video_file *f, int64_t time);

#endif
