/* See video_index.h. */
#include "data/videos/video_index.h"

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "data/index/parallel.h"
#include "data/pictures/broken.h"
#include "data/pictures/picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VIDEOS, TIMES, CHECKSUMS, WHY, ARRAYS };

/* Frames that a decoder keeps to make others of, at most, and the one that becomes colours; bytes of a pixel. */
enum { DECODING = 18, PIXEL_BYTES = 3 };

static bool is_video(const char *path)
{
    static const char *const ends[] = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi"};
    size_t n = strlen(path);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (n > strlen(ends[i]) && strcasecmp(path + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

const picture_kind kind_of_videos = {
    .one = "video", .ends = ".mp4, .m4v, .mov, .mkv, .webm or .avi", .counts = is_video};

/* --- looking through one --- */

typedef struct found_video {
    indexed_video video;
    int64_t *times;                 /* [cap], of which video.frames are there */
    uint32_t *checksums;            /* [checksums_cap] likewise */
    size_t cap, checksums_cap;
    char *broken;                   /* NULL: nothing is wrong with it */
} found_video;

static void add_frame(found_video *v, const video_frame *f)
{
    size_t n = (size_t)v->video.frames;
    int32_t side = f->width < f->height ? f->width : f->height;
    GROW(v->times, v->cap, n + 1);
    GROW(v->checksums, v->checksums_cap, n + 1);
    v->times[n] = f->time;
    v->checksums[n] = f->checksum;
    v->video.seeks = (n == 0 || v->video.seeks) && f->has_time && (n == 0 || f->time > v->times[n - 1]);
    v->video.content = crc32c(v->video.content, &f->checksum, sizeof f->checksum);
    v->video.width = f->width > v->video.width ? f->width : v->video.width;
    v->video.height = f->height > v->video.height ? f->height : v->video.height;
    v->video.narrowest = n == 0 || side < v->video.narrowest ? side : v->video.narrowest;
    v->video.frames = n + 1;
}

/* What libswscale makes of it belongs to what the data are, too. */
static status add_colours(found_video *v, video_file *f, error *err)
{
    picture p;
    TRY(video_file_picture(f, &p, err));
    v->video.content = crc32c(v->video.content, p.pixels, (size_t)p.width * (size_t)p.height * (size_t)p.channels);
    picture_fini(&p);
    return OK;
}

static status look_through_frames(found_video *v, video_file *f, error *err)
{
    bool more = true;
    video_frame frame;
    for (;;) {
        TRY(video_file_next(f, &more, &frame, err));
        if (!more)
            break;
        add_frame(v, &frame);
        read_progress_add(0);
        TRY(read_progress_check(err));
        if (v->video.frames == 1)
            TRY(add_colours(v, f, err));
    }
    if (v->video.frames == 0)
        return FAIL(err, E_DATA, "has no frames");
    return v->video.frames <= INT32_MAX ? OK : FAIL(err, E_DATA, "has more than %d frames", INT32_MAX);
}

static status look_through(found_video *v, const char *path, error *err)
{
    video_file *f = NULL;
    TRY(video_file_open(path, &f, err));
    status st = look_through_frames(v, f, err);
    video_file_close(&f);
    return st;
}

/* --- all of them --- */

typedef struct making {
    picture_set *set;
    found_video *found;             /* [set->n] */
} making;

static status look_at_one(void *user, size_t i, error *err)
{
    making *m = user;
    fs_map file;
    char *path = picture_set_path(m->set, i);
    status st = picture_entry_open(&m->set->at[i], path, &file, err);
    if (st == OK)
        fs_map_close(&file);
    free(path);
    m->set->at[i].number = i;
    if (st == E_DATA) { /* which is said when it is decoded */
        *err = (error)ERROR_INIT;
        st = OK;
    }
    return st;
}

static status look_through_one(void *user, size_t i, error *err)
{
    making *m = user;
    found_video *v = &m->found[i];
    error why = ERROR_INIT;
    char *path = picture_set_path(m->set, i);
    status st = look_through(v, path, &why);
    free(path);
    read_progress_add(1);
    if (st == E_DATA)
        v->video = (indexed_video){.frames = 0};
    return picture_set_note(st, &why, &v->broken, err);
}

static status write_all(const making *m, kept_writer *w, error *err)
{
    uint64_t first = 0, why = 0;
    for (size_t i = 0; i < m->set->n; i++) {
        found_video *v = &m->found[i];
        v->video.first = first;
        v->video.why = why;
        v->video.why_bytes = v->broken ? (uint32_t)strlen(v->broken) : 0;
        first += v->video.frames;
        why += v->video.why_bytes;
        TRY(kept_write(w, VIDEOS, &v->video, 1, err));
    }
    for (size_t i = 0; i < m->set->n; i++)
        TRY(kept_write(w, TIMES, m->found[i].times, (size_t)m->found[i].video.frames, err));
    for (size_t i = 0; i < m->set->n; i++)
        TRY(kept_write(w, CHECKSUMS, m->found[i].checksums, (size_t)m->found[i].video.frames, err));
    for (size_t i = 0; i < m->set->n; i++)
        TRY(kept_write(w, WHY, m->found[i].broken, m->found[i].video.why_bytes, err));
    return OK;
}

static status make(void *user, kept_writer *w, error *err)
{
    making *m = user;
    m->found = xcalloc(m->set->n, sizeof *m->found);
    read_progress_begin("decoding all of", m->set->root, m->set->n, "videos");
    status st = parallel_for(m->set->n, 0, look_through_one, m, err);
    if (st == OK)
        st = write_all(m, w, err);
    for (size_t i = 0; i < m->set->n; i++) {
        free(m->found[i].times);
        free(m->found[i].checksums);
        free(m->found[i].broken);
    }
    free(m->found);
    return st;
}

static bool is_sound(const void *user, const kept_arrays *a)
{
    const making *m = user;
    const indexed_video *videos = a->at[VIDEOS].at;
    uint64_t frames = 0, why = 0;
    if (a->at[VIDEOS].n != m->set->n || a->at[TIMES].n != a->at[CHECKSUMS].n)
        return false;
    for (size_t i = 0; i < m->set->n; i++) {
        const indexed_video *v = &videos[i];
        if (v->first != frames || v->why != why || v->frames > a->at[TIMES].n - frames ||
            v->why_bytes > a->at[WHY].n - why)
            return false;
        frames += v->frames;
        why += v->why_bytes;
    }
    return frames == a->at[TIMES].n;
}

/* Of the files, and of what decodes them. */
static void make_key(const picture_set *s, cache_key *ret)
{
    sha256 name = {.context = NULL}, sample = {.context = NULL};
    memset(ret, 0, sizeof *ret); /* its padding too: keys are kept in files */
    sha256_begin(&name);
    sha256_begin(&sample);
    sha256_add(&name, "videos 1", sizeof "videos 1");
    sha256_add(&name, video_library_versions(), strlen(video_library_versions()) + 1);
    for (size_t i = 0; i < s->n; i++) {
        const picture_entry *e = &s->at[i];
        uint64_t said[3] = {e->bytes, e->sample, (uint64_t)e->changed_ns};
        char *path = picture_set_path(s, i);
        sha256_add(&name, path, strlen(path) + 1);
        sha256_add(&sample, said, sizeof said);
        ret->bytes += e->bytes;
        ret->changed_ns = e->changed_ns > ret->changed_ns ? e->changed_ns : ret->changed_ns;
        free(path);
    }
    sha256_end(&name, ret->name);
    sha256_end(&sample, ret->sample);
}

/* --- what becomes of it --- */

static status settle(picture_set *s, const video_index *x, bool skips, error *err)
{
    size_t n = s->n;
    char **broken = xcalloc(n, sizeof *broken);
    for (size_t i = 0; i < n; i++) {
        const indexed_video *v = &x->videos[i];
        if (v->frames == 0)
            broken[i] = xstrndup((const char *)x->arrays.at[WHY].at + v->why, v->why_bytes);
    }
    status st = picture_set_settle(s, broken, "videos", skips, err);
    for (size_t i = 0; i < n; i++)
        free(broken[i]);
    free(broken);
    return st;
}

static void tell(picture_set *s, const video_index *x, int64_t began_us)
{
    uint64_t frames = 0;
    int32_t narrowest = 0, widest = 0;
    for (size_t i = 0; i < s->n; i++) {
        const indexed_video *v = &x->videos[s->at[i].number];
        size_t reading = (size_t)v->width * (size_t)v->height * PIXEL_BYTES * DECODING;
        int32_t shorter = v->width < v->height ? v->width : v->height;
        frames += v->frames;
        narrowest = i == 0 || v->narrowest < narrowest ? v->narrowest : narrowest;
        widest = shorter > widest ? shorter : widest;
        s->reading = reading > s->reading ? reading : s->reading;
    }
    LOG_I("VIDEOS",
          "path=%s videos=%zu classes=%d frames=%" PRIu64 " sides=%d..%d bytes_of_one=%zu left_out=%" PRId64
          " were_decoded=%d seconds=%.3f by=%s",
          s->root, s->n, s->classes ? words_count(s->classes) : 0, frames, narrowest, widest, s->reading,
          s->n_left_out, x->arrays.is_new, (double)(clock_us() - began_us) * 1e-6, video_library_versions());
}

status video_index_open(picture_set *s, bool skips, video_index *ret, error *err)
{
    int64_t began_us = clock_us();
    making m = {.set = s};
    cache_key key;
    TRY(video_library_open(err));
    TRY(parallel_for(s->n, 0, look_at_one, &m, err));
    make_key(s, &key);
    const kept_recipe recipe = {.what = "videos",
                                .of = s->root,
                                .source_bytes = key.bytes,
                                .n = ARRAYS,
                                .width = {sizeof(indexed_video), sizeof(int64_t), sizeof(uint32_t), 1},
                                .make = make,
                                .is_sound = is_sound,
                                .user = &m};
    TRY(kept_arrays_open(&key, &recipe, &ret->arrays, err));
    ret->videos = ret->arrays.at[VIDEOS].at;
    ret->times = ret->arrays.at[TIMES].at;
    ret->checksums = ret->arrays.at[CHECKSUMS].at;
    TRY(settle(s, ret, skips, err));
    tell(s, ret, began_us);
    return OK;
}

void video_index_close(video_index *x)
{
    kept_arrays_close(&x->arrays);
}
