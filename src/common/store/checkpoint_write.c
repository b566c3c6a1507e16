/*
 * Writing tensors: a server's shard and the exported model. Both declare first and stream then;
 * nothing is copied on the way but what the kernel copies.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/store/manifest.h"
#include "common/store/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, PIECE = 1 << 20 };

/* One row of the file: a name in st_tensor, and where the bytes are. */
typedef struct rows {
    size_t n;
    st_tensor *tensors;
    char (*names)[NAME_BYTES];
    buf *packed; /* [n] of sets of batches; empty for other rows */
} rows;

static void rows_add(rows *r, int32_t part, const char *slot, dtype type, const void *data,
                     int64_t n)
{
    BUG_ON(!data);
    BUG_ON(strlen(slot) > NAME_BYTES / 2);
    char *name = r->names[r->n];
    manifest_part_name(part, slot, name, NAME_BYTES);
    r->tensors[r->n++] = (st_tensor){.name = name,
                                     .dtype = type,
                                     .rank = 1,
                                     .dim = {n},
                                     .data = data,
                                     .bytes = (size_t)n * dtype_bytes(type)};
}

static void rows_add_set(rows *r, int32_t part, const batch_set *set)
{
    buf *packed = &r->packed[r->n];
    batch_set_pack(set, packed);
    rows_add(r, part, "applied", DT_U8, packed->data, (int64_t)packed->size);
}

static rows list_rows(const shard_request *q)
{
    BUG_ON(q->n_slots > CHECKPOINT_SLOTS);
    rows r = {.n = 0};
    size_t most = q->n_parts * (2 + q->n_slots) + 1;
    r.tensors = xcalloc(most, sizeof *r.tensors);
    r.names = xcalloc(most, sizeof *r.names);
    r.packed = xcalloc(most, sizeof *r.packed);
    for (size_t i = 0; i < q->n_parts; i++) {
        const shard_part *p = &q->parts[i];
        int64_t n = flat_part_elements(q->flat, p->part);
        rows_add(&r, p->part, "weights", DT_F32, p->weights, n);
        /* nothing ever moves a frozen part, so it has no optimizer state */
        for (size_t s = 0; s < q->n_slots && !q->flat->parts[p->part].frozen; s++)
            rows_add(&r, p->part, q->slot_names[s], DT_F32, p->slots[s], n);
        if (p->applied)
            rows_add_set(&r, p->part, p->applied);
    }
    return r;
}

static void rows_fini(rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        buf_fini(&r->packed[i]);
    free(r->packed);
    free(r->tensors);
    free(r->names);
}

static status add_row(st_writer *w, const st_tensor *t, const shard_request *q, error *err)
{
    for (size_t from = 0; from < t->bytes; from += PIECE) {
        size_t n = t->bytes - from < PIECE ? t->bytes - from : PIECE;
        TRY(st_writer_add(w, (const char *)t->data + from, n, err));
        if (q->after_piece)
            q->after_piece(q->user);
    }
    return OK;
}

status shard_write(const shard_request *request, char *ret_sha256, uint64_t *ret_bytes, error *err)
{
    char step[32], digest[SHA256_HEX];
    snprintf(step, sizeof step, "%lld", (long long)request->step);
    flat_digest(request->flat, digest);
    const st_meta meta[] = {{"step", step}, {"flat_digest", digest}};

    char *folder = fs_parent(request->path);
    rows r = list_rows(request);
    st_writer *w = NULL;
    status st = OK;
    TRY_OUT(st, fs_mkdir(folder, 2, err));
    TRY_OUT(st, st_writer_open(request->path, r.tensors, r.n, meta, COUNT_OF(meta), &w, err));
    for (size_t i = 0; i < r.n; i++)
        TRY_OUT(st, add_row(w, &r.tensors[i], request, err));
    st = st_writer_close(&w, ret_sha256, ret_bytes, err);
out:
    st_writer_abort(&w);
    rows_fini(&r);
    free(folder);
    return st;
}

/* Views of all tensors inside the flat vector, in name order; the caller frees it. */
static st_tensor *list_tensors(const flat *f, const float *values)
{
    st_tensor *tensors = xcalloc((size_t)f->n_tensors + 1, sizeof *tensors);
    for (int32_t i = 0; i < f->n_tensors; i++) {
        int32_t t = f->by_name[i];
        const tensor_decl *d = &f->tensors[t];
        tensors[i] = (st_tensor){.name = d->name,
                                 .dtype = DT_F32,
                                 .rank = d->rank,
                                 .data = values + f->offset[t],
                                 .bytes = (size_t)f->count[t] * sizeof(float)};
        memcpy(tensors[i].dim, d->dim, sizeof tensors[i].dim);
    }
    return tensors;
}

status checkpoint_export(const flat *f, const float *values, const char *path, error *err)
{
    const st_meta meta[] = {{"format", "pt"}};
    size_t n = (size_t)f->n_tensors;
    st_tensor *tensors = list_tensors(f, values);
    char *folder = fs_parent(path);
    st_writer *w = NULL;
    status st = OK;
    TRY_OUT(st, st_writer_open(path, tensors, n, meta, COUNT_OF(meta), &w, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(st, st_writer_add(w, tensors[i].data, tensors[i].bytes, err));
    TRY_OUT(st, st_writer_close(&w, NULL, NULL, err));
    st = fs_sync_dir(folder, err);
out:
    st_writer_abort(&w);
    free(folder);
    free(tensors);
    return st;
}
