/* See picture_set.h. */
#include "data/pictures/picture_set.h"

#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/utf8.h"
#include "data/pictures/picture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 32, SAMPLE = 512 /* bytes at each end */ };

static bool is_picture(const char *path)
{
    bool is_other = false;
    return picture_format_of_name(path, &is_other) >= 0 || is_other;
}

const picture_kind kind_of_pictures = {.one = "picture", .ends = ".jpg, .jpeg, .png or .webp", .counts = is_picture};

void picture_set_fini(picture_set *s)
{
    words_destroy(&s->classes);
    arena_destroy(&s->names);
    free(s->at);
    free(s->root);
    *s = (picture_set){.root = NULL};
}

char *picture_path(const char *root, const char *path)
{
    return path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", root, path);
}

char *picture_set_path(const picture_set *s, size_t i)
{
    return picture_path(s->root, s->at[i].path);
}

void picture_set_name(const picture_set *s, size_t i, buf *ret)
{
    uint32_t code;
    for (const char *path = s->at[i].path, *next; *path; path = next) {
        size_t n = utf8_decode((const unsigned char *)path, strlen(path), &code);
        buf_add(ret, n ? path : "?", n ? n : 1);
        next = path + (n ? n : 1);
    }
}

/* --- a file --- */

static uint64_t sample_of(const char *path, const fs_map *file)
{
    size_t n = file->bytes < SAMPLE ? file->bytes : SAMPLE;
    uint64_t parts[3] = {fnv1a(path, strlen(path))};
    if (n > 0) {
        parts[1] = fnv1a(file->data, n);
        parts[2] = fnv1a(file->data + file->bytes - n, n);
    }
    return fnv1a(parts, sizeof parts);
}

status picture_entry_open(picture_entry *e, const char *path, fs_map *ret, error *err)
{
    struct stat info;
    fs_map file;
    TRY(fs_map_open(path, &file, err));
    e->bytes = file.bytes;
    e->sample = sample_of(e->path, &file);
    if (stat(path, &info) == 0)
        e->changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    *ret = file;
    return OK;
}

uint64_t picture_entry_labels(const picture_entry *e)
{
    return e->labels ? fnv1a(e->labels, (size_t)e->n_labels * sizeof *e->labels) : fnv1a(&e->label, sizeof e->label);
}

/* --- looking through folders --- */

static void add_file(picture_set *s, const char *path, int32_t label)
{
    if (!s->kind->counts(path)) {
        s->n_left_out++;
        return;
    }
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = (picture_entry){.path = arena_strdup(s->names, path), .label = label};
}

static status add_folder(picture_set *s, const char *below, int32_t label, int depth, error *err);

/* `below` is a path below the root. */
static status add_path(picture_set *s, const char *below, int32_t label, int depth, error *err)
{
    struct stat info;
    char *path = xasprintf("%s/%s", s->root, below);
    bool is_there = stat(path, &info) == 0;
    free(path);
    if (is_there && S_ISDIR(info.st_mode))
        return add_folder(s, below, label, depth + 1, err);
    add_file(s, below, label); /* a link that leads nowhere is found when it is read */
    return OK;
}

static status add_folder(picture_set *s, const char *below, int32_t label, int depth, error *err)
{
    if (depth > DEEPEST)
        return FAIL(err, E_DATA, "'%s/%s': folders lie more than %d deep: is one a link to a folder above it?",
                    s->root, below, DEEPEST);
    char *path = *below ? xasprintf("%s/%s", s->root, below) : xstrdup(s->root);
    char **names = NULL;
    size_t n = 0;
    status st = fs_list(path, &names, &n, err);
    for (size_t i = 0; st == OK && i < n; i++) {
        char *one = *below ? xasprintf("%s/%s", below, names[i]) : xstrdup(names[i]);
        if (names[i][0] != '.')
            st = add_path(s, one, label, depth, err);
        free(one);
    }
    if (n > 0 || names)
        fs_list_free(names, n);
    free(path);
    return st;
}

status picture_set_add_files(picture_set *s, const char *folder, int32_t label, error *err)
{
    char *path = picture_path(s->root, folder), **names = NULL;
    size_t n = 0;
    status st = fs_list(path, &names, &n, err);
    free(path);
    if (st != OK)
        return st;
    for (size_t i = 0; i < n; i++) {
        char *one = xasprintf("%s/%s", folder, names[i]);
        if (names[i][0] != '.')
            add_file(s, one, label);
        free(one);
    }
    fs_list_free(names, n);
    return OK;
}

/* --- classes --- */

static bool is_folder(const char *root, const char *name)
{
    char *path = xasprintf("%s/%s", root, name);
    bool is = fs_is_folder(path);
    free(path);
    return is;
}

static status check_class(const picture_set *s, const char *name, bool is_known, error *err)
{
    if (!utf8_valid(name))
        return FAIL(err, E_DATA, "'%s': the name of the folder '%s' is no UTF-8", s->root, name);
    if (!is_known || words_find(s->classes, name) >= 0)
        return OK;
    return FAIL(err, E_DATA, "'%s/%s': '%s' is none of the %d classes that are known ('%s' and so on)", s->root, name,
                name, words_count(s->classes), words_at(s->classes, 0));
}

static status add_classes(picture_set *s, char *const *names, size_t n, bool is_known, error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.')
            continue;
        if (!is_folder(s->root, names[i])) {
            s->n_left_out++;
            continue;
        }
        TRY(check_class(s, names[i], is_known, err));
        size_t before = s->n;
        TRY(add_folder(s, names[i], is_known ? words_find(s->classes, names[i]) : words_add(s->classes, names[i]), 1,
                       err));
        if (s->n == before)
            return FAIL(err, E_DATA, "'%s/%s': the class '%s' has no %s: no file there ends with %s; remove the folder "
                                     "or fill it", s->root, names[i], names[i], s->kind->one, s->kind->ends);
    }
    return OK;
}

/* --- dealing --- */

typedef struct card {
    picture_entry entry;
    uint64_t rank, of;              /* which of its class, of how many */
} card;

/* By (rank + 1/2) / of, then by class. */
static int compare_cards(const void *a, const void *b)
{
    const card *x = a, *y = b;
    uint64_t left = (2 * x->rank + 1) * y->of, right = (2 * y->rank + 1) * x->of;
    if (left != right)
        return left < right ? -1 : 1;
    return x->entry.label < y->entry.label ? -1 : x->entry.label > y->entry.label;
}

void picture_set_deal(picture_set *s)
{
    card *cards = xcalloc(s->n + 1, sizeof *cards);
    uint64_t *counts = xcalloc((size_t)words_count(s->classes) + 1, sizeof *counts);
    for (size_t i = 0; i < s->n; i++)
        cards[i] = (card){.entry = s->at[i], .rank = counts[s->at[i].label]++};
    for (size_t i = 0; i < s->n; i++)
        cards[i].of = counts[s->at[i].label];
    qsort(cards, s->n, sizeof *cards, compare_cards);
    for (size_t i = 0; i < s->n; i++)
        s->at[i] = cards[i].entry;
    free(counts);
    free(cards);
}

/* --- opening --- */

static int compare_paths(const void *a, const void *b)
{
    const picture_entry *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* Whether a path is a folder, or a file; E_DATA where there is nothing. */
static status look(const char *path, bool *ret_is_folder, error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fs_fail_input("look at", path, err);
    *ret_is_folder = S_ISDIR(info.st_mode);
    return OK;
}

static status add_folders_of_classes(picture_set *s, bool is_known, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(s->root, &names, &n, err));
    status st = add_classes(s, names, n, is_known, err);
    fs_list_free(names, n);
    if (st == OK && s->n == 0)
        st = FAIL(err, E_DATA, "'%s': has no folders, one a class, with %ss in them ('%s/cats/1%.*s'); %lld files lie "
                               "there beside each other", s->root, s->kind->one, s->root,
                  (int)strcspn(s->kind->ends, ","), s->kind->ends, (long long)s->n_left_out);
    return st;
}

status picture_set_of_folders(const char *path, const picture_kind *kind, words *known, picture_set *ret, error *err)
{
    bool is_folder = false;
    picture_set s = {.kind = kind,
                     .root = xstrdup(path),
                     .names = arena_create(),
                     .classes = known ? known : words_create()};
    s.origin = arena_strdup(s.names, path);
    status st = look(path, &is_folder, err);
    if (st == OK && !is_folder)
        st = FAIL(err, E_DATA, "'%s': is a file; expected a folder that has a folder a class", path);
    if (st == OK)
        st = add_folders_of_classes(&s, known != NULL, err);
    if (st != OK) {
        picture_set_fini(&s);
        return st;
    }
    qsort(s.at, s.n, sizeof *s.at, compare_paths);
    *ret = s;
    return OK;
}

status picture_set_of_files(const char *path, const picture_kind *kind, words *known, picture_set *ret, error *err)
{
    bool is_folder = false;
    const char *slash = strrchr(path, '/');
    status st = look(path, &is_folder, err);
    picture_set s = {.kind = kind,
                     .root = is_folder ? xstrdup(path) : fs_parent(path),
                     .names = arena_create(),
                     .classes = known};
    s.origin = arena_strdup(s.names, path);
    if (st == OK && is_folder)
        st = add_folder(&s, "", 0, 0, err);
    else if (st == OK)
        add_file(&s, slash ? slash + 1 : path, 0);
    if (st == OK && s.n == 0)
        st = FAIL(err, E_DATA, "'%s': holds no %s: no file there ends with %s", path, kind->one, kind->ends);
    if (st != OK) {
        picture_set_fini(&s);
        return st;
    }
    qsort(s.at, s.n, sizeof *s.at, compare_paths);
    *ret = s;
    return OK;
}
