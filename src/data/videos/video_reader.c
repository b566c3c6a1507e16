#include "data/videos/readers.h"

#include <string.h>

status video_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    bool are_files = strcmp(config_str(request->reader, "video_is"), "file") == 0;
    return are_files ? files_reader_configure(request, ret, err) : frames_reader_configure(request, ret, err);
}
