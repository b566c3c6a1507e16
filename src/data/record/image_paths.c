#include "data/record/image_paths.h"

#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/read_progress.h"
#include "data/index/shards.h"
#include "data/pictures/survey.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_EVERY = 256 }; /* records: whether to go on */

bool image_paths_any(const record_fields *fields)
{
    bool any = false;
    for (size_t i = 0; i < fields->n; i++)
        any = any || record_field_is_path(&fields->at[i]);
    return any;
}

status image_paths_root(const reader_request *request, arena *memory, const char **ret, error *err)
{
    const char *path = request->path, *slash = strrchr(path, '/');
    const char *folder = fs_is_folder(path) ? path : !slash ? "." : slash == path ? "/" : NULL;
    *ret = config_has(request->reader, "root") ? config_str(request->reader, "root") : folder;
    if (!*ret)
        *ret = arena_strndup(memory, path, (size_t)(slash - path));
    *ret = arena_strdup(memory, *ret);
    if (config_has(request->reader, "root") || !shards_is_pattern(*ret))
        return OK;
    return FAIL(err, E_CONFIG, "%s.root: '%s' stands for several folders; name the one that the paths of images lie in",
                config_path(request->reader), *ret);
}

/* --- all of them as a set --- */

static status add_record(const record_format *format, const record_fields *fields, const void *parsed, int64_t record,
                         picture_set *ret, error *err)
{
    for (size_t i = 0; i < fields->n; i++) {
        char *path;
        if (!record_field_is_path(&fields->at[i]))
            continue;
        TRY(record_field_path(&fields->at[i], format, parsed, &path, err));
        GROW(ret->at, ret->cap, ret->n + 1);
        ret->at[ret->n++] = (picture_entry){.path = arena_strdup(ret->names, path), .number = (size_t)record};
        free(path);
    }
    return OK;
}

static status parse_record(const record_set *set, const record_format *format, const record_fields *fields,
                           int64_t record, picture_set *ret, error *err)
{
    size_t bytes;
    void *parsed = NULL;
    const unsigned char *data = record_set_at(set, record, &bytes);
    status st = format->parse(data, bytes, &parsed, err);
    if (st == OK) {
        st = add_record(format, fields, parsed, record, ret, err);
        format->drop(parsed);
    }
    if (st != OK && err) {
        buf place = BUF_INIT;
        record_set_place(set, record, &place);
        error_prepend(err, "%s", place.data);
        buf_fini(&place);
    }
    return st;
}

/* In their order, which a broken one is told by. */
static status name_all(const record_set *set, const record_format *format, const record_fields *fields,
                       picture_set *ret, error *err)
{
    int64_t in_first, n = record_set_count(set);
    size_t bytes;
    read_progress_begin("looking for images in", record_set_file(set, 0, &in_first, &bytes), (uint64_t)n,
                        record_set_files(set) > 1 ? "records of all files" : "records");
    for (int64_t i = 0; i < n; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(read_progress_check(err));
        TRY(parse_record(set, format, fields, i, ret, err));
        read_progress_add(1);
    }
    return OK;
}

/* Of one field as it is decoded; of several as whole as any may be. */
static picture_decoding decoding_of(const record_fields *fields, const char **ret_root)
{
    picture_decoding how = {.turn = true};
    size_t n = 0;
    for (size_t i = 0; i < fields->n; i++) {
        if (!record_field_is_path(&fields->at[i]))
            continue;
        how = n++ ? (picture_decoding){.turn = true} : fields->at[i].picture->view.decoding;
        *ret_root = fields->at[i].root;
    }
    return how;
}

/* Entries that are left are whole; a record lacks one of `each` where it is broken. */
static void take_found(const picture_set *found, size_t records, size_t each, image_paths *ret)
{
    size_t *whole = xcalloc(records, sizeof *whole), n_broken = 0;
    ret->prints = xcalloc(records, sizeof *ret->prints);
    ret->broken = xcalloc(records, sizeof *ret->broken);
    ret->reading = found->reading;
    for (size_t i = 0; i < found->n; i++) {
        const picture_entry *e = &found->at[i];
        const uint64_t all[] = {ret->prints[e->number], e->bytes, e->sample};
        ret->prints[e->number] = fnv1a(all, sizeof all);
        whole[e->number]++;
    }
    for (size_t i = 0; i < records; i++) {
        ret->broken[i] = whole[i] < each;
        n_broken += ret->broken[i];
    }
    if (!n_broken) {
        free(ret->broken);
        ret->broken = NULL;
    }
    free(whole);
}

status image_paths_look(const record_set *set, const record_format *format, const record_fields *fields, bool skips,
                        image_paths *ret, error *err)
{
    const char *root = NULL;
    picture_decoding how = decoding_of(fields, &root);
    picture_set found = {.kind = &kind_of_pictures, .root = xstrdup(root), .names = arena_create()};
    size_t records = (size_t)record_set_count(set), each;
    status st = name_all(set, format, fields, &found, err);
    each = found.n / records;
    if (st == OK)
        st = picture_survey(&found, &how, skips, err);
    if (st == OK)
        take_found(&found, records, each, ret);
    picture_set_fini(&found);
    return st;
}

void image_paths_fini(image_paths *p)
{
    free(p->prints);
    free(p->broken);
    *p = (image_paths){.prints = NULL};
}
