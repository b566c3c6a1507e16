/* Without FFmpeg's headers at build time (video_file.h). */
#include "data/videos/video_file.h"

#include "common/base/alloc.h"

status video_library_open(error *err)
{
    return FAIL(err, E_CONFIG, "files of video are read by FFmpeg's libraries, whose headers were not there when this "
                               "program was built; Debian has them in libavformat-dev and libswscale-dev");
}

const char *video_library_versions(void)
{
    return "none";
}

status video_file_open(const char *path, video_file **ret, error *err)
{
    (void)path;
    *ret = NULL;
    return video_library_open(err);
}

void video_file_close(video_file **f)
{
    *f = NULL;
}

int32_t video_file_orientation(const video_file *f)
{
    (void)f;
    return 1;
}

status video_file_next(video_file *f, bool *ret_more, video_frame *ret, error *err)
{
    (void)f;
    (void)ret_more;
    (void)ret;
    return video_library_open(err);
}

status video_file_picture(video_file *f, picture *ret, error *err)
{
    (void)f;
    (void)ret;
    return video_library_open(err);
}

bool video_file_seek(video_file *f, int64_t time)
{
    (void)f;
    (void)time;
    return false;
}
