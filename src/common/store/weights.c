#include "common/store/weights.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct weights {
    char *origin;
    int64_t step;
    st_file *file;      /* of a file; otherwise: */
    flat *flat;         /* of a checkpoint; NULL: of other weights */
    float *values;      /* [flat->n_elements] */
    st_tensor *tensors; /* [n], into `values`, or what `base` has */
    size_t n;
    weights *base;
};

static void point_at_tensors(weights *w)
{
    w->n = (size_t)w->flat->n_tensors;
    w->tensors = xcalloc((size_t)w->flat->n_tensors + 1, sizeof *w->tensors);
    for (int32_t i = 0; i < w->flat->n_tensors; i++) {
        const tensor_decl *t = &w->flat->tensors[i];
        st_tensor *tensor = &w->tensors[i];
        *tensor = (st_tensor){
            .name = t->name,
            .dtype = DT_F32,
            .rank = t->rank,
            .data = w->values + w->flat->offset[i],
            .bytes = (size_t)w->flat->count[i] * sizeof(float),
        };
        memcpy(tensor->dim, t->dim, sizeof tensor->dim);
    }
}

static status copy_layout(const flat *from, flat **ret, error *err)
{
    return flat_create(from->tensors, (size_t)from->n_tensors, ret, err);
}

status weights_of_checkpoint(const checkpoint *c, const char *origin, weights **ret, error *err)
{
    const manifest *m = checkpoint_manifest(c);
    weights *w = xcalloc(1, sizeof *w);
    void *values = NULL;
    status st;
    w->origin = xstrdup(origin);
    w->step = m->step;
    TRY_OUT(st, copy_layout(m->flat, &w->flat, err));
    TRY_OUT(st, mem_alloc((size_t)w->flat->n_elements * sizeof(float), "a checkpoint", &values, err));
    w->values = values;
    TRY_OUT(st, checkpoint_read_flat(c, w->values, err));
    point_at_tensors(w);
    *ret = w;
out:
    if (st != OK)
        weights_close(&w);
    return st;
}

static status open_file(const char *path, weights **ret, error *err)
{
    st_file *f = NULL;
    TRY(st_open(path, &f, err));
    weights *w = xcalloc(1, sizeof *w);
    *w = (weights){.origin = xstrdup(path), .step = -1, .file = f};
    *ret = w;
    return OK;
}

status weights_open(const char *path, weights **ret, error *err)
{
    if (!fs_is_folder(path))
        return open_file(path, ret, err);
    checkpoint *c = NULL;
    TRY(checkpoint_open(path, true, &c, err));
    status st = weights_of_checkpoint(c, path, ret, err);
    checkpoint_close(&c);
    return st;
}

void weights_replace(weights **base, const st_tensor *tensors, size_t n, void *values, weights **ret)
{
    weights *w = xcalloc(1, sizeof *w);
    *w = (weights){.origin = xstrdup((*base)->origin), .step = (*base)->step, .values = values, .n = n, .base = *base};
    w->tensors = xcalloc(n + 1, sizeof *w->tensors);
    memcpy(w->tensors, tensors, n * sizeof *tensors);
    *base = NULL;
    *ret = w;
}

void weights_close(weights **w)
{
    weights *x = *w;
    if (!x)
        return;
    st_close(&x->file);
    weights_close(&x->base);
    if (x->flat)
        flat_destroy(&x->flat);
    mem_free(x->values);
    free(x->tensors);
    free(x->origin);
    free(x);
    *w = NULL;
}

const char *weights_origin(const weights *w)
{
    return w->origin;
}

int64_t weights_step(const weights *w)
{
    return w->step;
}

size_t weights_count(const weights *w)
{
    return w->file ? st_count(w->file) : w->n;
}

const st_tensor *weights_at(const weights *w, size_t i)
{
    return w->file ? st_at(w->file, i) : &w->tensors[i];
}

const st_tensor *weights_find(const weights *w, const char *name)
{
    if (w->file)
        return st_find(w->file, name);
    int32_t found = w->flat ? flat_find(w->flat, name) : -1;
    for (size_t i = 0; !w->flat && i < w->n; i++)
        if (strcmp(w->tensors[i].name, name) == 0)
            return &w->tensors[i];
    return found < 0 ? NULL : &w->tensors[found];
}

static int by_name(const void *a, const void *b)
{
    const st_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void weights_params_sha256(const weights *w, char *ret_hex)
{
    size_t n = weights_count(w);
    const st_tensor **order = xcalloc(n + 1, sizeof *order);
    sha256 h;
    for (size_t i = 0; i < n; i++)
        order[i] = weights_at(w, i);
    qsort(order, n, sizeof *order, by_name);
    sha256_begin(&h);
    for (size_t i = 0; i < n; i++)
        if (order[i]->bytes)
            sha256_add(&h, order[i]->data, order[i]->bytes);
    sha256_end(&h, ret_hex);
    free(order);
}

static status write_tensors(const weights *w, const char *path, error *err)
{
    const st_meta meta[] = {{"format", "pt"}};
    size_t n = weights_count(w);
    st_tensor *tensors = xcalloc(n + 1, sizeof *tensors);
    for (size_t i = 0; i < n; i++)
        tensors[i] = *weights_at(w, i);
    st_writer *to = NULL;
    status st;
    TRY_OUT(st, st_writer_open(path, tensors, n, meta, COUNT_OF(meta), &to, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(st, st_writer_add(to, tensors[i].data, tensors[i].bytes, err));
    st = st_writer_close(&to, NULL, NULL, err);
out:
    st_writer_abort(&to);
    free(tensors);
    return st;
}

status weights_write(const weights *w, const char *path, error *err)
{
    return w->flat ? checkpoint_export(w->flat, w->values, path, err) : write_tensors(w, path, err);
}
