/* See record_set.h. */
#include "data/index/record_set.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "common/base/thread.h"
#include "data/index/index.h"
#include "data/index/parallel.h"
#include "data/index/shards.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct record_set {
    record_kind kind;
    shards files;
    record_index *indexes;      /* [files.n] */
    int64_t *first;             /* [files.n + 1] the number of each file's first record */
    _Atomic int64_t bytes_read;
};

/* --- opening --- */

typedef struct opening {
    record_set *set;
    int threads_each;
} opening;

static status open_one(void *user, size_t i, error *err)
{
    const opening *o = user;
    const shard *f = &o->set->files.at[i];
    return index_open(o->set->kind, &f->source, &f->key, o->threads_each, &o->set->indexes[i], err);
}

/* Many files are cut side by side, few one after the other, each by all threads. */
static status open_indexes(record_set *s, error *err)
{
    int all = thread_cpus();
    bool many = s->files.n >= (size_t)all;
    opening o = {.set = s, .threads_each = many ? 1 : all};
    return parallel_for(s->files.n, many ? all : 1, open_one, &o, err);
}

static void count_records(record_set *s)
{
    s->first = xcalloc(s->files.n + 1, sizeof *s->first);
    for (size_t i = 0; i < s->files.n; i++) {
        s->first[i + 1] = s->first[i] + (int64_t)s->indexes[i].n;
        if (s->indexes[i].n == 0)
            LOG_W("EMPTY", "file=%s holds no records: it is passed over", s->files.at[i].name);
    }
}

static void log_opening(const record_set *s, const char *path, int64_t began_us)
{
    size_t n_made = 0;
    for (size_t i = 0; i < s->files.n; i++)
        n_made += s->indexes[i].is_new;
    LOG_I("INDEX", "path=%s files=%zu records=%" PRId64 " bytes=%zu made=%zu seconds=%.3f", path, s->files.n,
          record_set_count(s), record_set_bytes(s), n_made, (double)(clock_us() - began_us) * 1e-6);
}

status record_set_open(record_kind kind, const char *path, record_set **ret, error *err)
{
    int64_t began_us = clock_us();
    record_set *s = xcalloc(1, sizeof *s);
    s->kind = kind;
    status st;
    TRY_OUT(st, shards_open(path, kind == RECORD_SAMPLES, &s->files, err));
    s->indexes = xcalloc(s->files.n, sizeof *s->indexes);
    read_progress_begin("indexing", path, record_set_bytes(s), NULL);
    TRY_OUT(st, open_indexes(s, err));
    count_records(s);
    if (record_set_count(s) == 0)
        TRY_OUT(st, FAIL(err, E_DATA, "'%s': holds no records: %s", path,
                         s->files.n == 1 ? "the file is empty" : "all its files are empty"));
    log_opening(s, path, began_us);
    *ret = s;
out:
    if (st != OK)
        record_set_close(&s);
    return st;
}

void record_set_close(record_set **set)
{
    record_set *s = *set;
    if (!s)
        return;
    for (size_t i = 0; s->indexes && i < s->files.n; i++)
        index_close(&s->indexes[i]);
    free(s->indexes);
    free(s->first);
    shards_close(&s->files);
    free(s);
    *set = NULL;
}

/* --- looking --- */

int64_t record_set_count(const record_set *s)
{
    return s->first[s->files.n];
}

size_t record_set_bytes(const record_set *s)
{
    return shards_bytes(&s->files);
}

size_t record_set_files(const record_set *s)
{
    return s->files.n;
}

const char *record_set_file(const record_set *s, size_t i, int64_t *ret_records, size_t *ret_bytes)
{
    *ret_records = (int64_t)s->indexes[i].n;
    *ret_bytes = s->files.at[i].source.bytes;
    return s->files.at[i].name;
}

/* The file that holds record `i`: the last that begins at or before it and is not empty. */
static size_t file_of(const record_set *s, int64_t i)
{
    size_t low = 0, high = s->files.n;
    BUG_ON(i < 0 || i >= record_set_count(s));
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const unsigned char *record_set_at(const record_set *s, int64_t i, size_t *ret_bytes)
{
    size_t file = file_of(s, i);
    const record_span *r = &s->indexes[file].at[i - s->first[file]];
    *ret_bytes = r->bytes;
    return s->files.at[file].source.data + r->at;
}

const unsigned char *record_set_read(const record_set *s, int64_t i, size_t *ret_bytes)
{
    const unsigned char *data = record_set_at(s, i, ret_bytes);
    atomic_fetch_add_explicit(&((record_set *)(uintptr_t)s)->bytes_read, (int64_t)*ret_bytes,
                              memory_order_relaxed);
    return data;
}

int64_t record_set_bytes_read(const record_set *s)
{
    return atomic_load_explicit(&((record_set *)(uintptr_t)s)->bytes_read, memory_order_relaxed);
}

void record_set_place(const record_set *s, int64_t i, buf *ret)
{
    size_t file = file_of(s, i), number = (size_t)(i - s->first[file]);
    buf_addf(ret, "'%s': ", s->files.at[file].name);
    records_place(s->kind, &s->files.at[file].source, s->indexes[file].at[number].at, number, ret);
}

/* --- what it is --- */

/* Of records first .. end-1 those that file `i` has: [*ret_from, *ret_to) of its own. */
static bool share_of(const record_set *s, size_t i, int64_t first, int64_t end, size_t *ret_from,
                     size_t *ret_to)
{
    int64_t from = first > s->first[i] ? first : s->first[i],
            to = end < s->first[i + 1] ? end : s->first[i + 1];
    *ret_from = (size_t)(from - s->first[i]);
    *ret_to = (size_t)(to - s->first[i]);
    return from < to;
}

void record_set_contents(const record_set *s, int64_t first, int64_t n, content_digest *ret)
{
    size_t from, to;
    for (size_t i = 0; i < s->files.n; i++) {
        if (!share_of(s, i, first, first + n, &from, &to))
            continue;
        const record_span *a = &s->indexes[i].at[from], *b = &s->indexes[i].at[to - 1];
        content_digest_add(ret, s->files.at[i].source.data + a->at, b->at + b->bytes - a->at);
    }
}

void record_set_lengths(const record_set *s, int64_t first, int64_t n, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    size_t from, to;
    for (size_t i = 0; i < s->files.n; i++)
        if (share_of(s, i, first, first + n, &from, &to))
            sha256_add(&h, s->indexes[i].at + from, (to - from) * sizeof(record_span));
    sha256_end(&h, ret_hex);
}

void record_set_name(const record_set *s, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    for (size_t i = 0; i < s->files.n; i++)
        sha256_add(&h, &s->files.at[i].key, sizeof s->files.at[i].key);
    sha256_end(&h, ret_hex);
}
