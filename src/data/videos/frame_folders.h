/*
 * Videos as folders of frames: a folder that holds pictures is a video, its frames are in the order of their names,
 * where numbers count by their value. Threads: pure functions.
 */
#ifndef TEQUIO_DATA_VIDEOS_FRAME_FOLDERS_H
#define TEQUIO_DATA_VIDEOS_FRAME_FOLDERS_H

#include "data/pictures/picture_set.h"

/* What two readers must have alike. */
typedef struct frame_print {
    uint64_t frames, label;
} frame_print;

typedef struct frame_folders {
    picture_set videos;             /* folders; root, names and classes are those of the frames */
    size_t *first, *n;              /* which frames are a video's, by the number of its entry */
    size_t first_cap, n_cap;
} frame_folders;

/* Those of frames that were found, which are sorted so that those of a video stand together. A frame that lies right in
 * the folder of its class is E_DATA. frame_folders_fini also after a failure. */
MUST_USE status frame_folders_find(picture_set *frames, bool has_labels, frame_folders *ret, error *err);
/* Those that a list names, in its order: their frames, which are the pictures right in them, are added to `frames`. */
MUST_USE status frame_folders_list(const picture_set *listed, picture_set *frames, frame_folders *ret, error *err);
void frame_folders_fini(frame_folders *f);

/* [videos.n], of frames that were surveyed; free it. */
frame_print *frame_folders_prints(const picture_set *frames, const frame_folders *f);

#endif
