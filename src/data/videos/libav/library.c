#include "data/videos/libav/library.h"

#include "common/base/alloc.h"
#include "data/videos/video_file.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

libav_calls libav;

/* --- what they report --- */

static _Thread_local struct {
    bool any;
    char line[160];
} heard;

/* The decoder of a sound, which files of video have too. */
static bool is_of_sound(void *who)
{
    const AVClass *class = who ? *(const AVClass *const *)who : NULL;
    return class && strcmp(class->class_name, "AVCodecContext") == 0 &&
           ((const AVCodecContext *)who)->codec_type == AVMEDIA_TYPE_AUDIO;
}

/* An error is what libav calls so: something "cannot losslessly be recovered". */
static void hear(void *who, int level, const char *format, va_list values)
{
    if (level > AV_LOG_ERROR || heard.any || is_of_sound(who))
        return;
    vsnprintf(heard.line, sizeof heard.line, format, values);
    heard.line[strcspn(heard.line, "\n")] = '\0';
    heard.any = heard.line[0] != '\0';
}

void libav_hear(void)
{
    heard.any = false;
}

const char *libav_heard(void)
{
    return heard.any ? heard.line : NULL;
}

/* --- opening --- */

#define NAME_OF(library, major) "lib" library ".so." AV_STRINGIFY(major)

/* In this order, for each needs those before it. */
static const char *const names[] = {
    NAME_OF("avutil", LIBAVUTIL_VERSION_MAJOR),
    NAME_OF("swscale", LIBSWSCALE_VERSION_MAJOR),
    NAME_OF("avcodec", LIBAVCODEC_VERSION_MAJOR),
    NAME_OF("avformat", LIBAVFORMAT_VERSION_MAJOR),
};

static const struct {
    const char *name;
    void *place;
} calls[] = {
#define CALL(name) {#name, &libav.name},
    LIBAV_CALLS(CALL)
#undef CALL
};

static struct {
    pthread_once_t once;
    status st;
    error why;
    char versions[80];
} opened = {.once = PTHREAD_ONCE_INIT};

static status find_call(void *const *libraries, size_t call, error *err)
{
    void *found = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && !found; i++)
        found = dlsym(libraries[i], calls[call].name);
    if (!found)
        return FAIL(err, E_CONFIG, "FFmpeg's libraries lack %s", calls[call].name);
    memcpy(calls[call].place, &found, sizeof found);
    return OK;
}

static status open_all(error *err)
{
    void *libraries[COUNT_OF(names)];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        libraries[i] = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!libraries[i])
            return FAIL(err, E_CONFIG,
                        "files of video are read by FFmpeg's libraries, those that this program was built with, which "
                        "are not here: %s; Debian has them in libavformat%d and libswscale%d",
                        dlerror(), LIBAVFORMAT_VERSION_MAJOR, LIBSWSCALE_VERSION_MAJOR);
    }
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        TRY(find_call(libraries, i, err));
    return OK;
}

static int say_version(char *to, size_t room, const char *name, unsigned version)
{
    return snprintf(to, room, "%s %u.%u.%u", name, AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
                    AV_VERSION_MICRO(version));
}

static void open_once(void)
{
    opened.st = open_all(&opened.why);
    if (opened.st != OK)
        return;
    libav.av_log_set_callback(hear);
    int n = say_version(opened.versions, sizeof opened.versions, "libavcodec", libav.avcodec_version());
    say_version(opened.versions + n, sizeof opened.versions - (size_t)n, ", libswscale", libav.swscale_version());
}

status video_library_open(error *err)
{
    pthread_once(&opened.once, open_once);
    return opened.st == OK ? OK : error_set(err, opened.st, "%s", opened.why.text);
}

const char *video_library_versions(void)
{
    return opened.versions;
}
