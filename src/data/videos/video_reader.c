/*
 * Videos as folders of frames (frame_folders.h), in a folder a class. Nothing is kept but where frames lie;
 * pictures/survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_reader.h"
#include "data/pictures/survey.h"
#include "data/videos/clip.h"
#include "data/videos/frame_folders.h"

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

static status view_clip(const picture_reader *base, size_t example, const picture_draws *draws, unsigned char *ret,
                        error *err)
{
    const frames_reader *r = (const frames_reader *)base;
    frames_reading v = {.reader = r, .first = r->folders.first[example], .draws = draws};
    return clip_take(&r->clip, &base->options.view, (int64_t)r->folders.n[example], draws, take_frame, &v, ret, err);
}

static void spread_clip(const picture_reader *base, void *field)
{
    clip_spread(&((const frames_reader *)base)->clip, &base->options, field);
}

static size_t files_of(const picture_reader *base, size_t example, size_t *ret_first)
{
    const frames_reader *r = (const frames_reader *)base;
    *ret_first = r->folders.first[example];
    return r->folders.n[example];
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

static status open_set(frames_reader *r, const reader_request *request, error *err)
{
    picture_set *frames = &r->base.files;
    bool has_labels = !request->without_labels;
    words *known = NULL;
    TRY(picture_classes_known(request, &known, err));
    TRYF(has_labels ? picture_set_of_folders(request->path, known, frames, err)
                    : picture_set_of_files(request->path, known, frames, err),
         err, "a video is a folder of frames, as 'ffmpeg -i x.mp4 x/%%05d.jpg' makes them");
    TRY(picture_survey(frames, &r->base.options.view.decoding, false, err));
    if (has_labels && !request->vocabulary)
        TRY(picture_classes_check(frames, err));
    return frame_folders_find(frames, has_labels, &r->folders, err);
}

static status open_reader(frames_reader *r, const reader_request *request, error *err)
{
    data_field field;
    TRY(picture_reader_begin(request, &clips_of_frames, &r->base, err));
    r->clip = clip_options_read(request->reader);
    TRY(open_set(r, request, err));
    TRY(clip_field(&r->clip, &r->base.options, &field, err));
    r->base.examples = &r->folders.videos;
    r->base.prints = frame_folders_prints(&r->base.files, &r->folders);
    r->base.print_bytes = sizeof(frame_print);
    picture_reader_describe(&r->base, &field, request->without_labels);
    return OK;
}

status video_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    frames_reader *r = xcalloc(1, sizeof *r);
    status st = open_reader(r, request, err);
    return picture_reader_end(request, st, &r->base, ret, err);
}
