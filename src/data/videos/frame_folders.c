/* See frame_folders.h. */
#include "data/videos/frame_folders.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/natural.h"

#include <stdlib.h>
#include <string.h>

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
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
        order = natural_compare(a + n, b + m);
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

/* A video whose frames begin behind those that there are. */
static void add_video(frame_folders *f, picture_entry e, size_t first)
{
    picture_set *v = &f->videos;
    GROW(v->at, v->cap, v->n + 1);
    GROW(f->first, f->first_cap, v->n + 1);
    GROW(f->n, f->n_cap, v->n + 1);
    e.number = v->n;
    f->first[v->n] = first;
    f->n[v->n] = 0;
    v->at[v->n++] = e;
}

static void begin(const picture_set *frames, frame_folders *ret)
{
    *ret = (frame_folders){.videos = {.root = frames->root, .classes = frames->classes, .names = frames->names}};
}

status frame_folders_find(picture_set *frames, bool has_labels, frame_folders *ret, error *err)
{
    begin(frames, ret);
    picture_set *v = &ret->videos;
    qsort(frames->at, frames->n, sizeof *frames->at, compare_frames);
    for (size_t i = 0; i < frames->n; i++) {
        const char *path = frames->at[i].path, *last = v->n ? v->at[v->n - 1].path : NULL;
        size_t n = folder_length(path);
        TRY(check_folder(frames, &frames->at[i], has_labels, err));
        if (!last || strlen(last) != n || memcmp(last, path, n) != 0)
            add_video(ret, (picture_entry){.path = arena_strndup(frames->names, path, n),
                                           .label = frames->at[i].label}, i);
        ret->n[v->n - 1]++;
    }
    return OK;
}

status frame_folders_list(const picture_set *listed, picture_set *frames, frame_folders *ret, error *err)
{
    begin(frames, ret);
    for (size_t i = 0; i < listed->n; i++) {
        const picture_entry *e = &listed->at[i];
        size_t first = frames->n;
        TRY(picture_set_add_files(frames, e->path, e->label, err));
        if (frames->n == first)
            return FAIL(err, E_DATA, "'%s': the video '%s' is a folder without pictures", frames->root, e->path);
        qsort(frames->at + first, frames->n - first, sizeof *frames->at, compare_frames);
        add_video(ret, *e, first);
        ret->n[i] = frames->n - first;
    }
    return OK;
}

void frame_folders_fini(frame_folders *f)
{
    free(f->videos.at);
    free(f->first);
    free(f->n);
}

frame_print *frame_folders_prints(const picture_set *frames, const frame_folders *f)
{
    frame_print *prints = xcalloc(f->videos.n, sizeof *prints);
    for (size_t v = 0; v < f->videos.n; v++) {
        const picture_entry *e = &f->videos.at[v];
        uint64_t hash = 0;
        for (size_t i = f->first[e->number]; i < f->first[e->number] + f->n[e->number]; i++) {
            uint64_t parts[3] = {hash, frames->at[i].bytes, frames->at[i].sample};
            hash = fnv1a(parts, sizeof parts);
        }
        prints[v] = (frame_print){hash, e->labels ? picture_entry_labels(e) : (uint64_t)e->label};
    }
    return prints;
}
