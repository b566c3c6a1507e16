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
#include <stdatomic.h>
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

/* Which video of an index before this one that file was. */
typedef struct old_video {
    uint64_t file;
    size_t at;
} old_video;

typedef struct making {
    picture_set *set;
    found_video *found;             /* [set->n] */
    const kept_arrays *old;         /* NULL: none */
    old_video *known;               /* [n_known], by their files */
    size_t n_known;
    atomic_size_t n_decoded;
} making;

static uint64_t file_of(const picture_entry *e)
{
    const uint64_t said[] = {e->bytes, e->sample, (uint64_t)e->changed_ns};
    return fnv1a(said, sizeof said);
}

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

/* --- what is known of some --- */

static int compare_files(const void *x, const void *y)
{
    uint64_t a = ((const old_video *)x)->file, b = ((const old_video *)y)->file;
    return (a > b) - (a < b);
}

/* Does each video lie behind the one before it, and all of them fill the arrays? */
static bool is_whole(const kept_arrays *a)
{
    const indexed_video *videos = a->at[VIDEOS].at;
    uint64_t frames = 0, why = 0;
    for (size_t i = 0; i < a->at[VIDEOS].n; i++) {
        const indexed_video *v = &videos[i];
        if (v->first != frames || v->why != why || v->frames > a->at[TIMES].n - frames ||
            v->why_bytes > a->at[WHY].n - why)
            return false;
        frames += v->frames;
        why += v->why_bytes;
    }
    return frames == a->at[TIMES].n && a->at[TIMES].n == a->at[CHECKSUMS].n;
}

static void take_old(void *user, const kept_arrays *old)
{
    making *m = user;
    free(m->known);
    m->known = NULL;
    m->n_known = 0;
    m->old = old && is_whole(old) ? old : NULL;
    if (!m->old)
        return;
    const indexed_video *videos = old->at[VIDEOS].at;
    m->n_known = old->at[VIDEOS].n;
    m->known = xcalloc(m->n_known + 1, sizeof *m->known);
    for (size_t i = 0; i < m->n_known; i++)
        m->known[i] = (old_video){videos[i].file, i};
    qsort(m->known, m->n_known, sizeof *m->known, compare_files);
}

/* False: the file was not there, or another one. One without bytes has no hash of its own. */
static bool take_known(const making *m, const picture_entry *e, found_video *ret)
{
    const old_video wanted = {file_of(e), 0};
    const old_video *found =
        m->old && e->bytes ? bsearch(&wanted, m->known, m->n_known, sizeof *m->known, compare_files) : NULL;
    if (!found)
        return false;
    const indexed_video *v = (const indexed_video *)m->old->at[VIDEOS].at + found->at;
    size_t n = (size_t)v->frames;
    *ret = (found_video){.video = *v, .cap = n, .checksums_cap = n};
    ret->times = xcalloc(n + 1, sizeof *ret->times);
    ret->checksums = xcalloc(n + 1, sizeof *ret->checksums);
    if (n) {
        memcpy(ret->times, (const int64_t *)m->old->at[TIMES].at + v->first, n * sizeof *ret->times);
        memcpy(ret->checksums, (const uint32_t *)m->old->at[CHECKSUMS].at + v->first, n * sizeof *ret->checksums);
    } else
        ret->broken = xstrndup((const char *)m->old->at[WHY].at + v->why, v->why_bytes);
    return true;
}

/* --- making --- */

static status look_through_one(void *user, size_t i, error *err)
{
    making *m = user;
    found_video *v = &m->found[i];
    error why = ERROR_INIT;
    read_progress_add(1);
    if (take_known(m, &m->set->at[i], v))
        return OK;
    atomic_fetch_add(&m->n_decoded, 1);
    char *path = picture_set_path(m->set, i);
    status st = look_through(v, path, &why);
    free(path);
    if (st == E_DATA)
        v->video = (indexed_video){.frames = 0};
    v->video.file = file_of(&m->set->at[i]);
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
    atomic_store(&m->n_decoded, 0);
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
    return a->at[VIDEOS].n == m->set->n && is_whole(a);
}

/* Where they were asked for, and what decodes them; then of the files. */
static void make_key(const picture_set *s, cache_key *ret)
{
    sha256 name = {.context = NULL}, sample = {.context = NULL};
    memset(ret, 0, sizeof *ret); /* its padding too: keys are kept in files */
    sha256_begin(&name);
    sha256_begin(&sample);
    sha256_add(&name, "videos 2", sizeof "videos 2");
    sha256_add(&name, video_library_versions(), strlen(video_library_versions()) + 1);
    char *real = s->origin ? realpath(s->origin, NULL) : NULL;
    const char *origin = real ? real : s->root;
    sha256_add(&name, origin, strlen(origin) + 1);
    free(real);
    for (size_t i = 0; i < s->n; i++) {
        const picture_entry *e = &s->at[i];
        uint64_t said[3] = {e->bytes, e->sample, (uint64_t)e->changed_ns};
        char *path = picture_set_path(s, i);
        sha256_add(&sample, path, strlen(path) + 1);
        sha256_add(&sample, said, sizeof said);
        ret->bytes += e->bytes;
        ret->changed_ns = e->changed_ns > ret->changed_ns ? e->changed_ns : ret->changed_ns;
        free(path);
    }
    sha256_end(&name, ret->name);
    sha256_end(&sample, ret->sample);
}

/* --- what becomes of it --- */

const char *video_index_why(const video_index *x, size_t number, size_t *ret_bytes)
{
    const indexed_video *v = &x->videos[number];
    *ret_bytes = v->why_bytes;
    return (const char *)x->arrays.at[WHY].at + v->why;
}

static status settle(picture_set *s, const video_index *x, bool skips, error *err)
{
    size_t n = s->n;
    char **broken = xcalloc(n, sizeof *broken);
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        const char *why = video_index_why(x, i, &bytes);
        if (x->videos[i].frames == 0)
            broken[i] = xstrndup(why, bytes);
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
          " were_decoded=%zu seconds=%.3f by=%s",
          s->root, s->n, s->classes ? words_count(s->classes) : 0, frames, narrowest, widest, s->reading,
          s->n_left_out, x->n_decoded, (double)(clock_us() - began_us) * 1e-6, video_library_versions());
}

status video_index_look(picture_set *s, video_index *ret, error *err)
{
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
                                .take_old = take_old,
                                .user = &m};
    TRY(kept_arrays_open(&key, &recipe, &ret->arrays, err));
    ret->n_decoded = m.n_decoded;
    ret->videos = ret->arrays.at[VIDEOS].at;
    ret->times = ret->arrays.at[TIMES].at;
    ret->checksums = ret->arrays.at[CHECKSUMS].at;
    return OK;
}

status video_index_open(picture_set *s, bool skips, video_index *ret, error *err)
{
    int64_t began_us = clock_us();
    TRY(video_index_look(s, ret, err));
    TRY(settle(s, ret, skips, err));
    tell(s, ret, began_us);
    return OK;
}

void video_index_close(video_index *x)
{
    kept_arrays_close(&x->arrays);
}
