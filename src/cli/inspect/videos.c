/* Videos below a folder or in a list: how many of each class, how long they are, their sizes, and what is broken. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/media.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "data/pictures/figures.h"
#include "data/videos/frame_folders.h"
#include "data/videos/video_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct video_figures {
    char *broken;                   /* why; NULL: it is not, and what follows is known */
    uint64_t frames;                /* 0: nobody has looked */
    int32_t width, height;
    uint64_t bytes;
} video_figures;

static void figures_free(video_figures *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(f[i].broken);
    free(f);
}

/* --- files --- */

static void take_bytes(const picture_set *s, video_figures *ret)
{
    for (size_t i = 0; i < s->n; i++) {
        struct stat info;
        char *path = picture_set_path(s, i);
        if (stat(path, &info) == 0)
            ret[i].bytes = (uint64_t)info.st_size;
        else
            ret[i].broken = xstrdup("is not there");
        free(path);
    }
}

/* All are decoded, but for those of which it is known (video_index.h). */
static status look_at_files(picture_set *s, video_figures *ret, error *err)
{
    video_index x = {.n_decoded = 0};
    status st = video_index_look(s, &x, err);
    for (size_t i = 0; st == OK && i < s->n; i++) {
        const indexed_video *v = &x.videos[s->at[i].number];
        size_t n;
        const char *why = video_index_why(&x, s->at[i].number, &n);
        ret[i].frames = v->frames;
        ret[i].width = v->width;
        ret[i].height = v->height;
        if (!v->frames && !ret[i].broken)
            ret[i].broken = xstrndup(why, n);
    }
    video_index_close(&x);
    return st;
}

/* --- folders of frames --- */

/* The first frame that is broken says so of its video. */
static void take_frames(const picture_set *frames, const frame_folders *folders, const picture_figures *f,
                        video_figures *ret)
{
    for (size_t v = 0; v < folders->videos.n; v++) {
        ret[v].frames = folders->n[v];
        for (size_t i = folders->first[v]; i < folders->first[v] + folders->n[v]; i++) {
            ret[v].bytes += f[i].bytes;
            ret[v].width = f[i].head.width > ret[v].width ? f[i].head.width : ret[v].width;
            ret[v].height = f[i].head.height > ret[v].height ? f[i].head.height : ret[v].height;
            if (f[i].broken && !ret[v].broken)
                ret[v].broken = xasprintf("'%s': %s", frames->at[i].path, f[i].broken);
        }
    }
}

static status look_at_frames(const picture_set *frames, const frame_folders *folders, bool verify, video_figures *ret,
                             error *err)
{
    picture_figures *f = NULL;
    TRY(picture_figures_take(frames, verify, &f, err));
    take_frames(frames, folders, f, ret);
    picture_figures_free(f, frames->n);
    return OK;
}

/* --- the report --- */

static json_t *report(const char *path, const picture_set *s, const video_figures *f, bool are_files)
{
    extremes frames = {.n = 0}, widths = {.n = 0}, heights = {.n = 0}, bytes = {.n = 0};
    char **broken = xcalloc(s->n + 1, sizeof *broken);
    for (size_t i = 0; i < s->n; i++) {
        broken[i] = f[i].broken;
        if (f[i].broken)
            continue;
        extremes_add(&frames, (int64_t)f[i].frames);
        extremes_add(&widths, f[i].width);
        extremes_add(&heights, f[i].height);
        extremes_add(&bytes, (int64_t)f[i].bytes);
    }
    json_t *o = json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "kind", "videos", "path",
                          json_words(path), "are", are_files ? "files" : "folders of frames", "videos",
                          (json_int_t)frames.n, "all_frames", (json_int_t)frames.sum, "left_out",
                          (json_int_t)s->n_left_out, "bytes", extremes_report(&bytes), "classes",
                          media_classes(s, broken, "videos"), "broken", media_broken(s, broken));
    BUG_ON(!o);
    if (frames.most > 0) {
        json_object_set_new(o, "frames", extremes_report(&frames));
        json_object_set_new(o, "width", extremes_report(&widths));
        json_object_set_new(o, "height", extremes_report(&heights));
    }
    free(broken);
    return o;
}

static status report_files(const char *path, picture_set *s, bool verify, json_t **ret, error *err)
{
    size_t n = s->n;
    video_figures *f = xcalloc(n + 1, sizeof *f);
    take_bytes(s, f);
    status st = verify ? look_at_files(s, f, err) : OK;
    if (st == OK)
        *ret = report(path, s, f, true);
    figures_free(f, n);
    return st;
}

static status report_frames(const char *path, const picture_set *listed, bool verify, json_t **ret, error *err)
{
    picture_set frames = {.kind = &kind_of_pictures, .root = listed->root, .names = listed->names};
    frame_folders folders;
    status st = frame_folders_list(listed, &frames, &folders, err);
    video_figures *f = xcalloc(listed->n + 1, sizeof *f);
    if (st == OK)
        st = look_at_frames(&frames, &folders, verify, f, err);
    if (st == OK)
        *ret = report(path, listed, f, false);
    figures_free(f, listed->n);
    frame_folders_fini(&folders);
    free(frames.at);
    return st;
}

/* --- looking --- */

static size_t count_pictures(const char *path)
{
    picture_set s;
    if (picture_set_of_files(path, &kind_of_pictures, NULL, &s, NULL) != OK)
        return 0;
    size_t n = s.n;
    picture_set_fini(&s);
    return n;
}

status inspect_look_videos(const char *path, bool verify, json_t **ret, error *err)
{
    picture_set s;
    if (picture_set_of_files(path, &kind_of_videos, NULL, &s, NULL) != OK)
        return OK;
    status st = count_pictures(path) > s.n ? OK : report_files(path, &s, verify, ret, err);
    picture_set_fini(&s);
    return st;
}

static bool is_folder(const picture_set *s, size_t i)
{
    char *path = picture_set_path(s, i);
    bool is = fs_is_folder(path);
    free(path);
    return is;
}

status inspect_look_video_list(const char *path, bool verify, json_t **ret, error *err)
{
    picture_set s;
    status st = OK;
    if (!media_find_listed(path, &kind_of_videos, &s))
        return OK;
    if (is_folder(&s, 0))
        st = report_frames(path, &s, verify, ret, err);
    else if (kind_of_videos.counts(s.at[0].path))
        st = report_files(path, &s, verify, ret, err);
    picture_set_fini(&s);
    return st;
}

/* --- printing --- */

void inspect_print_videos(const json_t *report, buf *ret)
{
    const json_t *broken = json_object_get(report, "broken");
    buf_addf(ret, "%s: %lld videos (%s), %zu broken, %lld other files\n", inspect_str(report, "path"),
             inspect_int(report, "videos"), inspect_str(report, "are"), json_array_size(broken),
             inspect_int(report, "left_out"));
    if (json_object_get(report, "frames")) {
        media_print_extremes(report, "frames", ret);
        media_print_extremes(report, "width", ret);
        media_print_extremes(report, "height", ret);
    }
    media_print_extremes(report, "bytes", ret);
    media_print_classes(json_object_get(report, "classes"), "videos", ret);
    media_print_broken(broken, ret);
}
