/* See frame_folders.h. */
#include "data/videos/frame_folders.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

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

static status find_videos(picture_set *s, bool has_labels, picture_set *v, error *err)
{
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

static void find_frames(const picture_set *frames, frame_folders *f)
{
    size_t n = f->videos.n;
    f->first = xcalloc(n, sizeof *f->first);
    f->n = xcalloc(n, sizeof *f->n);
    for (size_t v = 0; v < n; v++) {
        const char *folder = f->videos.at[v].path;
        size_t i = f->first[v] = find_first(frames, folder);
        for (; i < frames->n; i++) {
            size_t length = folder_length(frames->at[i].path);
            if (length != strlen(folder) || memcmp(frames->at[i].path, folder, length) != 0)
                break;
        }
        f->n[v] = i - f->first[v];
    }
}

status frame_folders_find(picture_set *frames, bool has_labels, frame_folders *ret, error *err)
{
    *ret = (frame_folders){.first = NULL};
    TRY(find_videos(frames, has_labels, &ret->videos, err));
    find_frames(frames, ret);
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
        uint64_t hash = 0;
        for (size_t i = f->first[v]; i < f->first[v] + f->n[v]; i++) {
            uint64_t parts[3] = {hash, frames->at[i].bytes, frames->at[i].sample};
            hash = fnv1a(parts, sizeof parts);
        }
        prints[v] = (frame_print){hash, (uint64_t)f->videos.at[v].label};
    }
    return prints;
}
