/*
 * Videos as files (video_file.h), in a folder a class or by a list. What is kept of them is where their frames are
 * (video_index.h).
 */
#include "data/videos/readers.h"

#include "common/base/alloc.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_find.h"
#include "data/pictures/picture_reader.h"
#include "data/videos/clip.h"
#include "data/videos/video_index.h"

#include <stdlib.h>
#include <string.h>

/* What two readers must have alike. */
typedef struct file_print {
    uint64_t bytes, sample, labels, frames, content;
} file_print;

typedef struct files_reader {
    picture_reader base;            /* its files are videos */
    video_index index;
    clip_options clip;
} files_reader;

/* --- reading --- */

/* One video that is read. */
typedef struct file_clip {
    const picture_view *view;
    const picture_draws *draws;
    video_reading reading;
} file_clip;

static status take_frame(void *user, int64_t number, unsigned char *ret, error *err)
{
    file_clip *c = user;
    picture p;
    TRY(video_reading_take(&c->reading, number, c->view->decoding.turn, &p, err));
    status st = picture_view_show(c->view, c->draws, &p, ret, err);
    picture_fini(&p);
    return st;
}

static status view_clip(const picture_reader *base, size_t example, const picture_draws *draws, unsigned char *ret,
                        error *err)
{
    const files_reader *r = (const files_reader *)base;
    size_t number = base->files.at[example].number;
    char *path = picture_set_path(&base->files, example);
    file_clip c = {.view = &base->options.view, .draws = draws};
    video_reading_begin(&r->index, number, path, &c.reading);
    status st = clip_take(&r->clip, c.view, (int64_t)r->index.videos[number].frames, draws, take_frame, &c, ret, err);
    video_reading_end(&c.reading);
    if (st != OK)
        error_prepend(err, "'%s'", path);
    free(path);
    return st;
}

static void spread_clip(const picture_reader *base, void *field)
{
    clip_spread(&((const files_reader *)base)->clip, &base->options, field);
}

static void close_index(picture_reader *base)
{
    video_index_close(&((files_reader *)base)->index);
}

static const picture_reader_kind clips_of_files = {.view = view_clip, .spread = spread_clip, .close = close_index};

/* --- opening --- */

static void take_prints(files_reader *r)
{
    const picture_set *s = &r->base.files;
    file_print *prints = xcalloc(s->n, sizeof *prints);
    for (size_t i = 0; i < s->n; i++) {
        const picture_entry *e = &s->at[i];
        const indexed_video *v = &r->index.videos[e->number];
        prints[i] = (file_print){e->bytes, e->sample, picture_entry_labels(e), v->frames, v->content};
    }
    r->base.prints = prints;
    r->base.print_bytes = sizeof *prints;
}

static status open_set(files_reader *r, const reader_request *request, error *err)
{
    picture_set *s = &r->base.files;
    words *known = NULL;
    bool skips = strcmp(config_str(request->reader, "on_error"), "skip") == 0;
    TRY(picture_classes_known(request, &known, err));
    TRY(picture_find(request, &kind_of_videos, known, s, err));
    TRY(video_index_open(s, skips, &r->index, err));
    TRY(picture_reader_deal(request, &r->base, s, err));
    take_prints(r);
    return OK;
}

static status open_reader(files_reader *r, const reader_request *request, error *err)
{
    data_field field;
    TRY(picture_reader_begin(request, &clips_of_files, &r->base, err));
    r->clip = clip_options_read(request->reader);
    TRY(open_set(r, request, err));
    TRY(clip_field(&r->clip, &r->base.options, &field, err));
    picture_reader_describe(&r->base, &field, request->without_labels);
    return OK;
}

status files_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    files_reader *r = xcalloc(1, sizeof *r);
    status st = open_reader(r, request, err);
    return picture_reader_end(request, st, &r->base, ret, err);
}
