/* WebP by libwebp (picture.h), which is opened when the first is read. */
#include "data/pictures/decoders.h"

#include "common/base/alloc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <webp/decode.h>

#define CALLS(X) X(WebPGetDecoderVersion) X(WebPGetFeaturesInternal) X(WebPDecodeRGBInto)

static struct {
    pthread_once_t once;
    status st;
    error why;
    char version[16];
#define CALL(name) __typeof__(&name) name;
    CALLS(CALL)
#undef CALL
} webp = {.once = PTHREAD_ONCE_INIT, .version = "none"};

static status find_calls(void *library, error *err)
{
    static const struct {
        const char *name;
        void *place;
    } calls[] = {
#define CALL(name) {#name, &webp.name},
        CALLS(CALL)
#undef CALL
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        void *found = dlsym(library, calls[i].name);
        if (!found)
            return FAIL(err, E_CONFIG, "libwebp lacks %s", calls[i].name);
        memcpy(calls[i].place, &found, sizeof found);
    }
    return OK;
}

static status open_library(error *err)
{
    void *library = dlopen("libwebp.so.7", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return FAIL(err, E_CONFIG, "a WebP is read by libwebp, which is not here: %s; Debian has it in libwebp7",
                    dlerror());
    return find_calls(library, err);
}

static void open_once(void)
{
    webp.st = open_library(&webp.why);
    if (webp.st != OK)
        return;
    int version = webp.WebPGetDecoderVersion();
    snprintf(webp.version, sizeof webp.version, "%d.%d.%d", version >> 16 & 255, version >> 8 & 255, version & 255);
}

static status need_library(error *err)
{
    pthread_once(&webp.once, open_once);
    return webp.st == OK ? OK : error_set(err, webp.st, "%s", webp.why.text);
}

status decode_webp_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err)
{
    WebPBitstreamFeatures f;
    TRY(need_library(err));
    if (webp.WebPGetFeaturesInternal(data, bytes, &f, WEBP_DECODER_ABI_VERSION) != VP8_STATUS_OK)
        return FAIL(err, E_DATA, "its head is damaged or cut off");
    if (f.has_animation)
        return FAIL(err, E_DATA, "it is an animation, which is no picture");
    ret->width = f.width;
    ret->height = f.height;
    ret->channels = PICTURE_CHANNELS;
    ret->bits = 8;
    ret->is_whole = true;
    return OK;
}

status decode_webp(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret, error *err)
{
    picture_head head = {.orientation = 1};
    (void)how;
    TRY(decode_webp_head(data, bytes, &head, err));
    ret->width = head.width;
    ret->height = head.height;
    ret->channels = head.channels;
    TRY(picture_make_room(ret, err));
    size_t stride = (size_t)ret->width * (size_t)ret->channels;
    if (!webp.WebPDecodeRGBInto(data, bytes, ret->pixels, stride * (size_t)ret->height, (int)stride))
        return FAIL(err, E_DATA, "its pixels are damaged or cut off");
    return OK;
}

const char *decode_webp_version(void)
{
    pthread_once(&webp.once, open_once);
    return webp.version;
}
