/*
 * Reading a checkpoint. Everything is mapped and checked while opening, so a reader that got its
 * handle keeps its bytes even when the folder is replaced or pruned behind its back.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/store/manifest.h"
#include "common/store/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64, ROWS = 1 + CHECKPOINT_SLOTS };

typedef struct shard {
    char *path;
    fs_map map;
    st_file *file;
} shard;

/* Where a part's vectors are: weights, then the optimizer slots (NULL for a frozen part). */
typedef struct part_rows {
    const st_tensor *row[ROWS];
    const st_tensor *applied; /* the packed set of batches; NULL in mode sync */
} part_rows;

struct checkpoint {
    manifest manifest;
    shard *shards;    /* [manifest.n_shards] */
    part_rows *parts; /* [manifest.flat->n_parts] */
};

enum { PIECE = 1 << 16 };

/* By reading: of a mapped file that the disk cannot read we would die. With `stop` it is read from the disk
 * although it is in memory, and not kept there, until *stop. */
static status hash_file(const char *path, const atomic_bool *stop, char ret_hex[SHA256_HEX], error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fs_fail_input("open", path, err);
    unsigned char piece[PIECE];
    off_t at = 0;
    ssize_t n = 0;
    sha256 h;
    sha256_begin(&h);
    do {
        if (stop) /* at first all of it, then what was read */
            posix_fadvise(fd, 0, at, POSIX_FADV_DONTNEED);
        if (stop && atomic_load(stop))
            break;
        n = read(fd, piece, PIECE);
        if (n > 0)
            sha256_add(&h, piece, (size_t)n);
        at += n > 0 ? n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    bool is_left = stop && atomic_load(stop);
    status st = is_left        ? FAIL(err, E_PREEMPTED, "%s: not read to its end", path)
                : n == 0       ? OK
                : errno == EIO ? FAIL(err, E_DATA, "%s: damaged: read: %s", path, strerror(errno))
                               : fs_fail(err, "read", path);
    sha256_end(&h, ret_hex);
    close(fd);
    return st;
}

static status check_sha256(const char *path, const char *expected, const atomic_bool *stop, error *err)
{
    char digest[SHA256_HEX];
    TRY(hash_file(path, stop, digest, err));
    if (strcmp(digest, expected) != 0)
        return FAIL(err, E_DATA, "%s: damaged: its SHA-256 is %.16s..., the manifest states %.16s...", path,
                    digest, expected);
    return OK;
}

static status check_bytes(const char *path, uint64_t bytes, uint64_t stated, error *err)
{
    return bytes == stated ? OK
                           : FAIL(err, E_DATA, "%s: %llu bytes, the manifest states %llu (truncated?)", path,
                                  (unsigned long long)bytes, (unsigned long long)stated);
}

/* The shard says itself of which step and which layout it is. */
static status check_origin(const shard *s, const manifest *m, error *err)
{
    char step[32];
    snprintf(step, sizeof step, "%lld", (long long)m->step);
    const char *its_step = st_metadata(s->file, "step");
    const char *its_digest = st_metadata(s->file, "flat_digest");
    if (!its_step || strcmp(its_step, step) != 0)
        return FAIL(err, E_DATA, "%s: is a shard of step %s, the manifest of step %s", s->path,
                    its_step ? its_step : "(none)", step);
    if (!its_digest || strcmp(its_digest, m->flat_digest) != 0)
        return FAIL(err, E_DATA, "%s: is a shard of another model's parameters", s->path);
    return OK;
}

static status open_shard(const char *dir, const manifest *m, size_t i, bool verify, shard *s,
                         error *err)
{
    const manifest_shard *listed = &m->shards[i];
    s->path = xasprintf("%s/%s", dir, listed->file);
    if (!fs_exists(s->path))
        return FAIL(err, E_DATA, "%s: missing, though the manifest lists it", s->path);
    TRY(fs_map_open(s->path, &s->map, err));
    TRY(check_bytes(s->path, s->map.bytes, listed->bytes, err));
    if (verify)
        TRY(check_sha256(s->path, listed->sha256, NULL, err));
    TRY(st_open_memory(s->map.data, s->map.bytes, s->path, &s->file, err));
    return check_origin(s, m, err);
}

static status find(const shard *s, int32_t part, const char *slot, const st_tensor **ret,
                   error *err)
{
    char name[NAME_BYTES];
    manifest_part_name(part, slot, name, sizeof name);
    const st_tensor *t = st_find(s->file, name);
    if (!t)
        return FAIL(err, E_DATA, "%s: has no tensor '%s'", s->path, name);
    *ret = t;
    return OK;
}

static status find_row(const shard *s, int32_t part, const char *slot, int64_t elements,
                       const st_tensor **ret, error *err)
{
    const st_tensor *t = NULL;
    TRY(find(s, part, slot, &t, err));
    if (t->dtype != DT_F32 || t->rank != 1 || t->dim[0] != elements)
        return FAIL(err, E_DATA, "%s: tensor '%s' must be F32 of %lld elements", s->path, t->name,
                    (long long)elements);
    *ret = t;
    return OK;
}

/* The set is of as many batches as the checkpoint's version says. */
static status find_applied(const shard *s, int32_t part, int64_t version, const st_tensor **ret,
                           error *err)
{
    const st_tensor *t = NULL;
    TRY(find(s, part, "applied", &t, err));
    if (t->dtype != DT_U8 || t->rank != 1)
        return FAIL(err, E_DATA, "%s: tensor '%s' must be U8 of rank 1", s->path, t->name);
    batch_set set = BATCH_SET_INIT;
    status st = batch_set_unpack(t->data, t->bytes, &set, err);
    if (st != OK)
        error_prepend(err, "%s: tensor '%s'", s->path, t->name);
    else if (batch_set_count(&set) != version)
        st = FAIL(err, E_DATA, "%s: tensor '%s' is of %lld batches, the checkpoint of %lld",
                  s->path, t->name, (long long)batch_set_count(&set), (long long)version);
    batch_set_fini(&set);
    *ret = t;
    return st;
}

/* Every part's vectors are where the manifest says. Names are unique in a file, so when the counts
 * agree as well there is nothing twice and nothing too much. */
static status cover(checkpoint *c, error *err)
{
    const manifest *m = &c->manifest;
    size_t *expected = xcalloc(m->n_shards + 1, sizeof *expected);
    status st = OK;
    for (int32_t i = 0; i < m->flat->n_parts; i++) {
        const shard *s = &c->shards[m->part_shard[i]];
        int64_t n = flat_part_elements(m->flat, i);
        const st_tensor **row = c->parts[i].row;
        size_t slots = m->flat->parts[i].frozen ? 0 : m->n_slots;
        TRY_OUT(st, find_row(s, i, "weights", n, &row[0], err));
        for (size_t k = 0; k < slots; k++)
            TRY_OUT(st, find_row(s, i, m->slot_names[k], n, &row[1 + k], err));
        bool has_set = m->lists_units && !m->flat->parts[i].frozen;
        if (has_set)
            TRY_OUT(st, find_applied(s, i, m->step, &c->parts[i].applied, err));
        expected[m->part_shard[i]] += 1 + slots + has_set;
    }
    for (size_t i = 0; i < m->n_shards; i++) {
        if (st_count(c->shards[i].file) == expected[i])
            continue;
        st = FAIL(err, E_DATA, "%s: holds %zu tensors, by the manifest they should be %zu",
                  c->shards[i].path, st_count(c->shards[i].file), expected[i]);
        break;
    }
out:
    free(expected);
    return st;
}

status checkpoint_open(const char *dir, bool verify, checkpoint **ret, error *err)
{
    checkpoint *c = xcalloc(1, sizeof *c);
    char *path = xasprintf("%s/manifest.json", dir);
    status st = OK;
    if (!fs_exists(path)) {
        st = FAIL(err, E_DATA, "'%s' has no manifest.json, so it is no checkpoint", dir);
        goto out;
    }
    TRY_OUT(st, manifest_read(path, &c->manifest, err));
    c->shards = xcalloc(c->manifest.n_shards + 1, sizeof *c->shards);
    c->parts = xcalloc((size_t)c->manifest.flat->n_parts + 1, sizeof *c->parts);
    for (size_t i = 0; i < c->manifest.n_shards; i++)
        TRY_OUT(st, open_shard(dir, &c->manifest, i, verify, &c->shards[i], err));
    TRY_OUT(st, cover(c, err));
    *ret = c;
    c = NULL;
out:
    checkpoint_close(&c);
    free(path);
    return st;
}

static status scrub_shard(const char *dir, const manifest_shard *listed, const atomic_bool *stop, error *err)
{
    char *path = xasprintf("%s/%s", dir, listed->file);
    struct stat info;
    status st = stat(path, &info) == 0 ? check_bytes(path, (uint64_t)info.st_size, listed->bytes, err)
                                       : fs_fail_input("look at", path, err);
    if (st == OK)
        st = check_sha256(path, listed->sha256, stop, err);
    free(path);
    return st;
}

status checkpoint_scrub(const char *dir, const atomic_bool *stop, error *err)
{
    manifest m = {0};
    char *path = xasprintf("%s/manifest.json", dir);
    status st = manifest_read(path, &m, err);
    for (size_t i = 0; st == OK && i < m.n_shards; i++)
        st = scrub_shard(dir, &m.shards[i], stop, err);
    manifest_fini(&m);
    free(path);
    return st;
}

void checkpoint_close(checkpoint **c)
{
    if (!*c)
        return;
    for (size_t i = 0; (*c)->shards && i < (*c)->manifest.n_shards; i++) {
        shard *s = &(*c)->shards[i];
        st_close(&s->file);
        fs_map_close(&s->map);
        free(s->path);
    }
    free((*c)->shards);
    free((*c)->parts);
    manifest_fini(&(*c)->manifest);
    free(*c);
    *c = NULL;
}

const manifest *checkpoint_manifest(const checkpoint *c)
{
    return &c->manifest;
}

status checkpoint_read_part(const checkpoint *c, int32_t part, float *weights, float *const *slots,
                            error *err)
{
    const manifest *m = &c->manifest;
    if (part < 0 || part >= m->flat->n_parts)
        return FAIL(err, E_DATA, "part %d of a checkpoint with %d parts", part, m->flat->n_parts);
    size_t bytes = (size_t)flat_part_elements(m->flat, part) * sizeof(float);
    const part_rows *p = &c->parts[part];
    if (weights)
        memcpy(weights, p->row[0]->data, bytes);
    for (size_t k = 0; slots && k < m->n_slots; k++) {
        if (slots[k] && p->row[1 + k])
            memcpy(slots[k], p->row[1 + k]->data, bytes);
        else if (slots[k])
            memset(slots[k], 0, bytes);
    }
    return OK;
}

status checkpoint_read_applied(const checkpoint *c, int32_t part, batch_set *ret, error *err)
{
    const manifest *m = &c->manifest;
    const st_tensor *t = part >= 0 && part < m->flat->n_parts ? c->parts[part].applied : NULL;
    if (!t)
        return FAIL(err, E_DATA, "the checkpoint of step %lld does not say which batches part %d has",
                    (long long)m->step, part);
    return batch_set_unpack(t->data, t->bytes, ret, err);
}

status checkpoint_read_applied_by_all(const checkpoint *c, batch_set *ret, error *err)
{
    TRY(checkpoint_read_applied(c, 0, ret, err));
    batch_set one = BATCH_SET_INIT;
    status st = OK;
    for (int32_t p = 1; st == OK && p < c->manifest.flat->n_live_parts; p++) {
        st = checkpoint_read_applied(c, p, &one, err);
        if (st == OK)
            batch_set_intersect(ret, &one);
    }
    batch_set_fini(&one);
    return st;
}

status checkpoint_read_flat(const checkpoint *c, float *out, error *err)
{
    const manifest *m = &c->manifest;
    const flat *f = m->flat;
    size_t average = 0;
    while (average < m->n_slots && strcmp(m->slot_names[average], CHECKPOINT_AVERAGE) != 0)
        average++;
    for (int32_t i = 0; i < f->n_parts; i++) {
        float *to = out + f->parts[i].begin, *slots[CHECKPOINT_SLOTS] = {NULL};
        bool is_averaged = average < m->n_slots && !f->parts[i].frozen;
        if (is_averaged)
            slots[average] = to;
        TRY(checkpoint_read_part(c, i, is_averaged ? NULL : to, slots, err));
    }
    return OK;
}
