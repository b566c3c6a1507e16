/*
 * Videos as folders of frames (frame_folders.h), in a folder a class or by a list. Nothing is kept but where
 * frames lie; pictures/survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/videos/readers.h"

#include "common/base/alloc.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_find.h"
#include "data/pictures/picture_reader.h"
#include "data/pictures/survey.h"
#include "data/videos/clip.h"
#include "data/videos/frame_folders.h"

#include <stdlib.h>
#include <string.h>

typedef struct frames_reader {
    picture_reader base;            /* its files are frames */
    frame_folders folders;
    clip_options clip;
} frames_reader;

/* --- reading --- */

/* One video that is read. */
typedef struct frames_reading {
    const frames_reader *reader;
    size_t first;
    const picture_draws *draws;
} frames_reading;

static status take_frame(void *user, int64_t number, unsigned char *ret, error *err)
{
    const frames_reading *v = user;
    return picture_reader_view(&v->reader->base, v->first + (size_t)number, v->draws, ret, err);
}

static size_t files_of(const picture_reader *base, size_t example, size_t *ret_first)
{
    const frames_reader *r = (const frames_reader *)base;
    size_t number = r->folders.videos.at[example].number;
    *ret_first = r->folders.first[number];
    return r->folders.n[number];
}

static status view_clip(const picture_reader *base, size_t example, const picture_draws *draws, unsigned char *ret,
                        error *err)
{
    const frames_reader *r = (const frames_reader *)base;
    frames_reading v = {.reader = r, .draws = draws};
    int64_t n = (int64_t)files_of(base, example, &v.first);
    return clip_take(&r->clip, &base->options.view, n, draws, take_frame, &v, ret, err);
}

static void spread_clip(const picture_reader *base, void *field)
{
    clip_spread(&((const frames_reader *)base)->clip, &base->options, field);
}

static void close_folders(picture_reader *base)
{
    frame_folders_fini(&((frames_reader *)base)->folders);
}

static const picture_reader_kind clips_of_frames = {.view = view_clip,
                                                    .spread = spread_clip,
                                                    .files = files_of,
                                                    .close = close_folders};

/* --- opening --- */

static bool is_picture(const char *path)
{
    return kind_of_pictures.counts(path);
}

/* What a list names, or a path is that is none. */
static const picture_kind kind_of_folders = {
    .one = "video", .ends = ".jpg, .jpeg, .png or .webp", .counts = is_picture};

/* The frames take over all of the list but its entries. */
static status find_by_list(frames_reader *r, const reader_request *request, words *known, error *err)
{
    picture_set listed;
    TRY(picture_find(request, &kind_of_folders, known, &listed, err));
    r->base.files = (picture_set){.kind = &kind_of_folders,
                                  .root = listed.root,
                                  .classes = listed.classes,
                                  .names = listed.names};
    status st = frame_folders_list(&listed, &r->base.files, &r->folders, err);
    free(listed.at);
    return st;
}

static status find_in_folders(frames_reader *r, const reader_request *request, words *known, error *err)
{
    TRYF(picture_find(request, &kind_of_pictures, known, &r->base.files, err), err,
         "a video is a folder of frames, as 'ffmpeg -i x.mp4 x/%%05d.jpg' makes them, or with video_is: \"file\" "
         "a file");
    return frame_folders_find(&r->base.files, !request->without_labels, &r->folders, err);
}

static status check_errors(const config *reader, error *err)
{
    return strcmp(config_str(reader, "on_error"), "skip") != 0
               ? OK
               : FAIL(err, E_CONFIG, "%s.on_error: \"skip\" is of videos that are files; one that lacks a frame would "
                                     "be another video", config_path(reader));
}

static status open_set(frames_reader *r, const reader_request *request, error *err)
{
    words *known = NULL;
    TRY(check_errors(request->reader, err));
    TRY(picture_classes_known(request, &known, err));
    TRY(picture_find_is_list(request, &kind_of_folders) ? find_by_list(r, request, known, err)
                                                        : find_in_folders(r, request, known, err));
    TRY(picture_survey(&r->base.files, &r->base.options.view.decoding, false, err));
    return picture_reader_deal(request, &r->base, &r->folders.videos, err);
}

static status open_reader(frames_reader *r, const reader_request *request, error *err)
{
    data_field field;
    TRY(picture_reader_begin(request, &clips_of_frames, &r->base, err));
    r->clip = clip_options_read(request->reader);
    TRY(open_set(r, request, err));
    TRY(clip_field(&r->clip, &r->base.options, &field, err));
    r->base.prints = frame_folders_prints(&r->base.files, &r->folders);
    r->base.print_bytes = sizeof(frame_print);
    picture_reader_describe(&r->base, &field, request->without_labels);
    return OK;
}

status frames_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    frames_reader *r = xcalloc(1, sizeof *r);
    status st = open_reader(r, request, err);
    return picture_reader_end(request, st, &r->base, ret, err);
}
