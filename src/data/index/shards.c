/* See shards.h. */
#include "data/index/shards.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "data/index/archive.h"
#include "data/index/parallel.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool shards_is_pattern(const char *path)
{
    struct stat info;
    return strpbrk(path, "*?[") && stat(path, &info) != 0;
}

static status changed_when(const char *path, int64_t *ret_ns, error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fs_fail_input("look at", path, err);
    *ret_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    return OK;
}

/* A gzipped file that is deflated as a member of a zip file is inflated twice. */
static status inflate_shard(const packed *from, inflated *ret, error *err)
{
    packed bytes = *from;
    inflated once;
    if (bytes.packing.kind == PACKING_NONE && gunzip_is_gzip(bytes.data, bytes.bytes))
        bytes.packing.kind = PACKING_GZIP;
    TRY(inflated_open(&bytes, &once, err));
    if (bytes.packing.kind != PACKING_DEFLATE || !gunzip_is_gzip(once.data, once.bytes)) {
        *ret = once;
        return OK;
    }
    char *member = xasprintf("%s!", from->member);
    bytes.member = member;
    bytes.data = once.data;
    bytes.bytes = once.bytes;
    bytes.packing = (packing){.kind = PACKING_GZIP}; /* its bytes are those of the inflated member */
    status st = inflated_open(&bytes, ret, err);
    inflated_close(&once);
    free(member);
    return st;
}

/* Of a shard whose bytes are known: inflates them, where that was not done, and names them. */
static status finish_shard(void *user, size_t i, error *err)
{
    shard *one = &((shards *)user)->at[i];
    if (!one->plain.data)
        TRY(inflate_shard(&one->from, &one->plain, err));
    one->source = (record_source){.name = one->name, .data = one->plain.data, .bytes = one->plain.bytes};
    cache_key_make(one->path, one->member, one->from.changed_ns, one->plain.data, one->plain.bytes, &one->key);
    return OK;
}

static shard *add_shard(shards *s, const packed *from)
{
    GROW(s->at, s->cap, s->n + 1);
    shard *one = &s->at[s->n++];
    *one = (shard){.path = xstrdup(from->path), .from = *from};
    one->member = from->member ? xstrdup(from->member) : NULL;
    one->name = xasprintf("%s%s%s", from->path, from->member ? "!" : "", from->member ? from->member : "");
    one->from.path = one->path;
    one->from.member = one->member;
    return one;
}

static bool is_no_data(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    return last[0] == '.' || last[0] == '_';
}

/* --- archives --- */

static status add_members(shards *s, archive_kind kind, const packed *file, error *err)
{
    archive members;
    TRY(archive_open(kind, file->data, file->bytes, file->path, &members, err));
    for (size_t i = 0; i < members.n; i++) {
        const archive_member *m = &members.at[i];
        packed one = {.path = file->path,
                      .member = m->name,
                      .changed_ns = file->changed_ns,
                      .data = m->data,
                      .bytes = m->bytes,
                      .packing = m->packing};
        one.packing.at = (size_t)(m->data - file->data);
        if (is_no_data(m->name))
            s->n_left_out++;
        else
            add_shard(s, &one);
    }
    archive_close(&members);
    return OK;
}

static archive_kind archive_of_shards(const shards *s, const unsigned char *data, size_t bytes)
{
    archive_kind kind = archive_kind_of(data, bytes);
    return kind == ARCHIVE_TAR && s->tars_are_files ? ARCHIVE_NONE : kind;
}

/* A gzipped file is inflated before it can be said whether it is an archive. */
static status add_gzip(shards *s, packed *file, error *err)
{
    inflated plain;
    file->packing.kind = PACKING_GZIP;
    read_progress_begin("inflating", file->path, file->bytes, NULL);
    TRY(inflated_open(file, &plain, err));
    archive_kind kind = archive_of_shards(s, plain.data, plain.bytes);
    if (kind == ARCHIVE_NONE) {
        add_shard(s, file)->plain = plain;
        return OK;
    }
    s->archive = plain;
    file->data = plain.data;
    file->bytes = plain.bytes;
    file->packing.kind = PACKING_NONE;
    return add_members(s, kind, file, err);
}

/* --- files --- */

/* `alone`: it is the whole data set, so it may be an archive of its shards. */
static status add_file(shards *s, const char *path, bool alone, error *err)
{
    fs_map map;
    TRY(fs_map_open(path, &map, err));
    GROW(s->maps, s->maps_cap, s->n_maps + 1);
    s->maps[s->n_maps++] = map;
    packed file = {.path = path, .data = map.data, .bytes = map.bytes};
    TRY(changed_when(path, &file.changed_ns, err));
    archive_kind kind = alone ? archive_of_shards(s, map.data, map.bytes) : ARCHIVE_NONE;
    if (kind != ARCHIVE_NONE)
        return add_members(s, kind, &file, err);
    if (alone && gunzip_is_gzip(map.data, map.bytes))
        return add_gzip(s, &file, err);
    add_shard(s, &file);
    return OK;
}

static status add_folder(shards *s, const char *path, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(path, &names, &n, err));
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++) {
        char *file = xasprintf("%s/%s", path, names[i]);
        struct stat info;
        if (is_no_data(names[i]))
            s->n_left_out++;
        else if (stat(file, &info) == 0 && S_ISDIR(info.st_mode))
            st = FAIL(err, E_DATA,
                      "'%s': is a folder within the folder of the data; name its files by a pattern "
                      "('%s/*/*'), or put it elsewhere",
                      file, path);
        else
            st = add_file(s, file, false, err);
        free(file);
    }
    fs_list_free(names, n);
    return st;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static status add_pattern(shards *s, const char *pattern, error *err)
{
    glob_t found = {.gl_pathc = 0};
    int code = glob(pattern, GLOB_NOSORT, NULL, &found);
    status st = OK;
    if (code == GLOB_NOMATCH)
        st = FAIL(err, E_DATA, "'%s': no file is called so, and none fits the pattern", pattern);
    else if (code != 0)
        st = FAIL(err, E_DATA, "'%s': the pattern cannot be carried out: %s", pattern, strerror(errno));
    if (st == OK)
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_bytes);
    for (size_t i = 0; i < found.gl_pathc && st == OK; i++)
        st = add_file(s, found.gl_pathv[i], false, err);
    globfree(&found);
    return st;
}

static status add_all(shards *s, const char *path, error *err)
{
    struct stat info;
    if (shards_is_pattern(path))
        return add_pattern(s, path, err);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(s, path, err);
    return add_file(s, path, true, err);
}

status shards_open(const char *path, bool tars_are_files, shards *ret, error *err)
{
    shards s = {.tars_are_files = tars_are_files};
    status st = add_all(&s, path, err);
    if (st == OK && s.n == 0)
        st = FAIL(err, E_DATA, "'%s': holds no files of data", path);
    read_progress_begin("opening", path, 0, NULL);
    if (st == OK)
        st = parallel_for(s.n, 0, finish_shard, &s, err);
    if (st == OK && s.n_left_out)
        LOG_I("SHARDS", "path=%s files=%zu left_out=%zu: names that begin with '.' or '_' are no data", path,
              s.n, s.n_left_out);
    if (st == OK)
        *ret = s;
    else
        shards_close(&s);
    return st;
}

void shards_close(shards *s)
{
    for (size_t i = 0; i < s->n; i++) {
        inflated_close(&s->at[i].plain);
        free(s->at[i].path);
        free(s->at[i].member);
        free(s->at[i].name);
    }
    inflated_close(&s->archive);
    for (size_t i = 0; i < s->n_maps; i++)
        fs_map_close(&s->maps[i]);
    free(s->at);
    free(s->maps);
    *s = (shards){.at = NULL};
}

size_t shards_bytes(const shards *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->n; i++)
        bytes += s->at[i].source.bytes;
    return bytes;
}

void shards_key(const shards *s, const char *made, cache_key *ret)
{
    sha256 names, contents;
    memset(ret, 0, sizeof *ret); /* its padding too: keys are kept in files */
    sha256_begin(&names);
    sha256_begin(&contents);
    sha256_add(&names, TEQUIO_VERSION, sizeof TEQUIO_VERSION);
    sha256_add(&names, made, strlen(made) + 1);
    for (size_t i = 0; i < s->n; i++) {
        const cache_key *key = &s->at[i].key;
        sha256_add(&names, key->name, sizeof key->name);
        sha256_add(&contents, key, sizeof *key);
        ret->bytes += key->bytes;
        ret->changed_ns = key->changed_ns > ret->changed_ns ? key->changed_ns : ret->changed_ns;
    }
    sha256_end(&names, ret->name);
    sha256_end(&contents, ret->sample);
}
