/* The readers of videos, by dataset_reader.video_is (reader.h). Threads: as there. */
#ifndef TEQUIO_DATA_VIDEOS_READERS_H
#define TEQUIO_DATA_VIDEOS_READERS_H

#include "data/reader.h"

/* A folder of frames each. */
MUST_USE status frames_reader_configure(const reader_request *request, dataset **ret, error *err);
/* A file each. */
MUST_USE status files_reader_configure(const reader_request *request, dataset **ret, error *err);

#endif
