/*
 * Videos as folders of frames, in a folder a class (reader.h): a folder that holds pictures is a video, its frames are
 * in the order of their names, where numbers count by their value. An example is a clip of it: `frames` frames, every
 * `frame_stride`-th; the middle of the video, or in training one that begins where the batch's draws say. Of a video
 * that is too short the last frame is repeated. All frames of a clip are cropped alike.
 *
 * Nothing is kept but where frames lie; survey.h says what is found wrong at opening, and what only when it is read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "data/pictures/picture_classes.h"
#include "data/pictures/picture_options.h"
#include "data/pictures/survey.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_VIDEO, FIELD_LABEL };

/* What two readers must have alike. */
typedef struct video_print {
    uint64_t frames, label;
} video_print;

typedef struct video_reader {
    dataset base;
    picture_set frames;             /* those of a video stand together */
    picture_set videos;             /* folders; root, names and classes are those of `frames` */
    size_t *first;                  /* [videos.n] of `frames` */
    size_t *n_frames;               /* [videos.n] */
    video_print *prints;            /* [videos.n] */
    picture_options options;
    int64_t length, stride;         /* of a clip */
    bool frames_first, draws_clips;
    char *vocabulary;
} video_reader;

static void close_reader(dataset *d)
{
    video_reader *r = (video_reader *)d;
    picture_set_fini(&r->frames);
    free(r->videos.at);
    free(r->first);
    free(r->n_frames);
    free(r->prints);
    free(r->vocabulary);
    free(r);
}

/* --- reading --- */

/* The first frame of the clip. */
static int64_t begin_of(const video_reader *r, int64_t n, const picture_draws *draws)
{
    int64_t spare = n - ((r->length - 1) * r->stride + 1);
    if (spare <= 0)
        return 0;
    return draws && r->draws_clips ? picture_draw_below(draws, DRAW_CLIP, (int32_t)spare + 1) : spare / 2;
}

static status take_frame(const video_reader *r, size_t frame, const picture_draws *draws, unsigned char *ret,
                         error *err)
{
    buf file = BUF_INIT;
    TRY(picture_set_read(&r->frames, frame, &file, err));
    status st = picture_view_take(&r->options.view, draws, (const unsigned char *)file.data, file.size, ret, err);
    buf_fini(&file);
    if (st != OK) {
        char *path = picture_set_path(&r->frames, frame);
        error_prepend(err, "'%s'", path);
        free(path);
    }
    return st;
}

/* The planes of frame `t` get their places among those of the others. */
static void place_frame(const video_reader *r, int64_t t, const unsigned char *planes, unsigned char *ret)
{
    size_t plane = (size_t)r->options.view.width * (size_t)r->options.view.height;
    int64_t channels = r->options.view.channels;
    for (int64_t c = 0; c < channels; c++) {
        int64_t at = r->frames_first ? t * channels + c : c * r->length + t;
        memcpy(ret + (size_t)at * plane, planes + (size_t)c * plane, plane);
    }
}

static status take_clip(const video_reader *r, size_t video, const picture_draws *draws, unsigned char *ret, error *err)
{
    int64_t n = (int64_t)r->n_frames[video], begin = begin_of(r, n, draws);
    size_t plane = (size_t)r->options.view.width * (size_t)r->options.view.height;
    void *room = NULL;
    TRY(mem_alloc(plane * (size_t)r->options.view.channels, "a frame", &room, err));
    status st = OK;
    for (int64_t t = 0; t < r->length && st == OK; t++) {
        int64_t frame = begin + t * r->stride;
        st = take_frame(r, r->first[video] + (size_t)(frame < n ? frame : n - 1), draws, room, err);
        if (st == OK)
            place_frame(r, t, room, ret);
    }
    mem_free(room);
    return st;
}

/* In place, from the last: a float32 is longer than its byte. */
static void spread_frames(const video_reader *r, void *video)
{
    const unsigned char *bytes = video;
    float *out = video;
    size_t plane = (size_t)r->options.view.width * (size_t)r->options.view.height;
    size_t channels = (size_t)r->options.view.channels;
    for (size_t p = channels * (size_t)r->length; p-- > 0;) {
        size_t c = r->frames_first ? p % channels : p / (size_t)r->length;
        for (size_t i = (p + 1) * plane; i-- > p * plane;)
            out[i] = (float)bytes[i] * r->options.scale[c] + r->options.offset[c];
    }
}

static status read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                         void *const *ret, error *err)
{
    const video_reader *r = (const video_reader *)d;
    bool stays = as_bytes && d->fields[FIELD_VIDEO].bytes.channels;
    TRY(take_clip(r, (size_t)example, draws, ret[FIELD_VIDEO], err));
    if (!stays)
        spread_frames(r, ret[FIELD_VIDEO]);
    if (d->n_fields > FIELD_LABEL)
        *(int64_t *)ret[FIELD_LABEL] = r->videos.at[example].label;
    return OK;
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_drawn(d, example, NULL, true, ret, err);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_drawn(d, example, NULL, false, ret, err);
}

static const char *vocabulary(const dataset *d)
{
    return ((const video_reader *)d)->vocabulary;
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const words *classes = ((const video_reader *)d)->frames.classes;
    if (!classes || label < 0 || label >= words_count(classes))
        return false;
    buf_adds(to, words_at(classes, (int32_t)label));
    return true;
}

static bool example_name(const dataset *d, int64_t example, buf *to)
{
    const picture_set *videos = &((const video_reader *)d)->videos;
    if (*videos->at[example].path)
        picture_set_name(videos, (size_t)example, to);
    else
        buf_adds(to, "."); /* its frames lie right in the folder that was given */
    return true;
}

static void contents(const dataset *d, content_digest *ret)
{
    const video_reader *r = (const video_reader *)d;
    content_digest_add(ret, r->prints + d->first, (size_t)d->examples * sizeof *r->prints);
}

/* Of a file that cannot be read any more there is nothing, so the hash is another. */
static void whole_contents(const dataset *d, char ret_hex[SHA256_HEX])
{
    const video_reader *r = (const video_reader *)d;
    sha256 h = {.context = NULL};
    sha256_begin(&h);
    for (int64_t v = d->first; v < d->first + d->examples; v++)
        for (size_t i = 0; i < r->n_frames[v]; i++) {
            buf file = BUF_INIT;
            if (picture_set_read(&r->frames, r->first[v] + i, &file, NULL) == OK)
                sha256_add(&h, file.data, file.size);
            buf_fini(&file);
        }
    sha256_end(&h, ret_hex);
}

static const reader_ops video_reader_ops = {.read = read_example,
                                            .read_bytes = read_bytes,
                                            .read_drawn = read_drawn,
                                            .close = close_reader,
                                            .vocabulary = vocabulary,
                                            .label_word = label_word,
                                            .example_name = example_name,
                                            .contents = contents,
                                            .whole_contents = whole_contents};

/* --- which frames are whose --- */

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* By bytes, but numbers by their value: "f2.jpg" comes before "f10.jpg". */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order)
                return order;
            a += n;
            b += m;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int compare_folders(const char *a, size_t n, const char *b, size_t m)
{
    int order = memcmp(a, b, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

static int compare_frames(const void *x, const void *y)
{
    const char *a = ((const picture_entry *)x)->path, *b = ((const picture_entry *)y)->path;
    size_t n = folder_length(a), m = folder_length(b);
    int order = compare_folders(a, n, b, m);
    if (!order)
        order = compare_names(a + n, b + m);
    return order ? order : strcmp(a, b);
}

/* A class has a folder for each video: frames that lie right in it are nobody's. */
static status check_folder(const picture_set *s, const picture_entry *e, bool has_labels, error *err)
{
    size_t n = folder_length(e->path);
    return !has_labels || memchr(e->path, '/', n) ? OK
                                                  : FAIL(err, E_DATA,
                                                         "'%s/%s': lies in the folder of its class; expected a folder "
                                                         "for each video there, with its frames", s->root, e->path);
}

static status find_videos(video_reader *r, bool has_labels, error *err)
{
    picture_set *s = &r->frames, *v = &r->videos;
    qsort(s->at, s->n, sizeof *s->at, compare_frames);
    *v = (picture_set){.root = s->root, .classes = s->classes, .names = s->names};
    for (size_t i = 0; i < s->n; i++) {
        const char *path = s->at[i].path, *last = v->n ? v->at[v->n - 1].path : NULL;
        size_t n = folder_length(path);
        TRY(check_folder(s, &s->at[i], has_labels, err));
        if (last && strlen(last) == n && memcmp(last, path, n) == 0)
            continue;
        GROW(v->at, v->cap, v->n + 1);
        v->at[v->n++] = (picture_entry){.path = arena_strndup(s->names, path, n), .label = s->at[i].label};
    }
    if (has_labels)
        picture_set_deal(v);
    return OK;
}

/* The first frame in a folder. */
static size_t find_first(const picture_set *frames, const char *folder)
{
    size_t low = 0, high = frames->n, n = strlen(folder);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *path = frames->at[middle].path;
        if (compare_folders(path, folder_length(path), folder, n) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_frames(video_reader *r)
{
    size_t n = r->videos.n;
    r->first = xcalloc(n, sizeof *r->first);
    r->n_frames = xcalloc(n, sizeof *r->n_frames);
    r->prints = xcalloc(n, sizeof *r->prints);
    for (size_t v = 0; v < n; v++) {
        const char *folder = r->videos.at[v].path;
        size_t i = r->first[v] = find_first(&r->frames, folder);
        uint64_t hash = 0;
        for (; i < r->frames.n; i++) {
            const picture_entry *e = &r->frames.at[i];
            size_t length = folder_length(e->path);
            if (length != strlen(folder) || memcmp(e->path, folder, length) != 0)
                break;
            uint64_t parts[3] = {hash, e->bytes, e->sample};
            hash = fnv1a(parts, sizeof parts);
        }
        r->n_frames[v] = i - r->first[v];
        r->prints[v] = (video_print){hash, (uint64_t)r->videos.at[v].label};
    }
}

/* --- opening --- */

static void take_clip_options(const reader_request *request, video_reader *r)
{
    const config *reader = request->reader;
    r->length = config_int(reader, "frames");
    r->stride = config_int(reader, "frame_stride");
    r->frames_first = strcmp(config_str(reader, "layout"), "frames_first") == 0;
    r->draws_clips = config_has(reader, "augment") && config_bool(config_section(reader, "augment"), "random_clip");
}

/* With frames first the channels are no axis of their own in front, by which bytes could be told. */
static status describe_fields(video_reader *r, bool without_labels, error *err)
{
    data_field f = picture_options_field(&r->options, "video");
    int64_t channels = f.dim[0], pixels = f.dim[1] * f.dim[2];
    if (channels * pixels > INT32_MAX / r->length)
        return FAIL(err, E_CONFIG, "dataset_reader.frames: a clip of %lld frames has more than %d values",
                    (long long)r->length, INT32_MAX);
    f.rank = 4;
    f.dim[3] = f.dim[2];
    f.dim[2] = f.dim[1];
    f.dim[0] = r->frames_first ? r->length : channels;
    f.dim[1] = r->frames_first ? channels : r->length;
    if (r->frames_first)
        f.bytes = (data_bytes){.channels = 0};
    r->base.fields[FIELD_VIDEO] = f;
    r->base.n_fields = 1;
    r->base.examples = (int64_t)r->videos.n;
    r->base.reading = picture_options_reading(&r->options, r->frames.reading);
    if (without_labels)
        return OK;
    r->base.fields[FIELD_LABEL] =
        (data_field){.name = "label", .dtype = DT_I64, .classes = words_count(r->frames.classes)};
    r->base.n_fields = 2;
    return OK;
}

static status open_set(video_reader *r, const reader_request *request, error *err)
{
    bool has_labels = !request->without_labels;
    words *known = NULL;
    TRY(picture_classes_known(request, &known, err));
    TRYF(has_labels ? picture_set_of_folders(request->path, known, &r->frames, err)
                    : picture_set_of_files(request->path, known, &r->frames, err),
         err, "a video is a folder of frames, as 'ffmpeg -i x.mp4 x/%%05d.jpg' makes them");
    TRY(picture_survey(&r->frames, &r->options.view.decoding, false, err));
    if (has_labels && !request->vocabulary)
        TRY(picture_classes_check(&r->frames, err));
    TRY(find_videos(r, has_labels, err));
    find_frames(r);
    r->vocabulary = r->frames.classes ? picture_classes_vocabulary(r->frames.classes) : NULL;
    return describe_fields(r, request->without_labels, err);
}

status video_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader, *augment = NULL;
    video_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &video_reader_ops;
    if (config_has(reader, "augment"))
        augment = config_section(reader, "augment");
    status st;
    TRY_OUT(st, picture_options_read(reader, augment, &r->options, err));
    take_clip_options(request, r);
    TRY_OUT(st, open_set(r, request, err));
out:
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    return dataset_cut(request, &r->base, ret, err);
}
