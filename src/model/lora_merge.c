/* Adapters into the weights that they are of (lora.h), in double and in a fixed order. */
#include "model/lora.h"

#include "common/base/alloc.h"
#include "onnx/import.h"

#include <stdlib.h>
#include <string.h>

/* A weight and its adapter. */
typedef struct merging {
    const st_tensor *w, *a, *b;
} merging;

static const st_tensor *beside(const weights *all, const char *weight, const char *suffix)
{
    size_t n = strlen(weight), end = strlen(".weight");
    bool has_end = n > end && strcmp(weight + n - end, ".weight") == 0;
    char *name = xasprintf("%.*s.%s", (int)(has_end ? n - end : n), weight, suffix);
    const st_tensor *found = weights_find(all, name);
    free(name);
    return found;
}

/* A file's bytes may lie anywhere. */
static double element(const st_tensor *t, int64_t i)
{
    float x;
    memcpy(&x, (const char *)t->data + (size_t)i * sizeof x, sizeof x);
    return (double)x;
}

/* Sum over k of left [rows, k] and right [k, columns], by their strides. */
static double dot(const merging *m, bool out_first, int64_t i, int64_t j)
{
    const st_tensor *left = out_first ? m->b : m->a, *right = out_first ? m->a : m->b;
    const int64_t rank = left->dim[1];
    double sum = 0;
    for (int64_t k = 0; k < rank; k++)
        sum += element(left, i * rank + k) * element(right, k * right->dim[1] + j);
    return sum;
}

static bool multiply_to(const st_tensor *left, const st_tensor *right, const st_tensor *w)
{
    return left->dim[0] == w->dim[0] && left->dim[1] == right->dim[0] && right->dim[1] == w->dim[1];
}

static status merge_one(const merging *m, double scale, float *out, error *err)
{
    const bool are_matrices = m->w->rank == 2 && m->a->rank == 2 && m->b->rank == 2 && m->w->dtype == DT_F32 &&
                              m->a->dtype == DT_F32 && m->b->dtype == DT_F32;
    const bool out_first = are_matrices && multiply_to(m->b, m->a, m->w);
    if (!are_matrices || (!out_first && !multiply_to(m->a, m->b, m->w)))
        return FAIL(err, E_DATA, "'%s' and '%s' are no adapter of '%s'", m->a->name, m->b->name, m->w->name);
    const int64_t columns = m->w->dim[1];
    for (int64_t i = 0; i < m->w->dim[0]; i++)
        for (int64_t j = 0; j < columns; j++)
            out[i * columns + j] = (float)(element(m->w, i * columns + j) + scale * dot(m, out_first, i, j));
    return OK;
}

/* Room for the weights that change, and which these are. */
static size_t find_all(const weights *w, merging *ret, size_t *ret_bytes)
{
    size_t n = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < weights_count(w); i++) {
        const st_tensor *t = weights_at(w, i);
        merging m = {.w = t};
        if (lora_is_adapter(t->name))
            continue;
        m.a = beside(w, t->name, LORA_A);
        m.b = beside(w, t->name, LORA_B);
        if (!m.a || !m.b)
            continue;
        ret[n++] = m;
        *ret_bytes += t->bytes;
    }
    return n;
}

/* All but the adapters, each as it is or as it becomes. */
static status list_merged(const weights *w, const merging *m, size_t n, double scale, float *values, st_tensor *ret,
                          size_t *ret_n, error *err)
{
    size_t next = 0;
    *ret_n = 0;
    for (size_t i = 0; i < weights_count(w); i++) {
        st_tensor t = *weights_at(w, i);
        if (lora_is_adapter(t.name))
            continue;
        if (next < n && m[next].w == weights_at(w, i)) {
            TRY(merge_one(&m[next++], scale, values, err));
            t.data = values;
            values += t.bytes / sizeof *values;
        }
        ret[(*ret_n)++] = t;
    }
    return OK;
}

/* An ONNX file may have tensors of these names itself. */
static status look_into_file(const config *model, const char *name, bool *ret_has, error *err)
{
    onnx_model *file = NULL;
    onnx_weight found;
    *ret_has = false;
    if (strcmp(config_str(model, "type"), "onnx") != 0)
        return OK;
    TRY(onnx_open(config_str(model, "path"), &file, err));
    *ret_has = onnx_weight_find(file, name, &found);
    onnx_close(&file);
    return OK;
}

/* Without the section nobody knows alpha and rank. */
static status check_plain(const config *model, const weights *w, error *err)
{
    merging *all = xcalloc(weights_count(w) + 1, sizeof *all);
    size_t bytes;
    const char *adapter = find_all(w, all, &bytes) ? all[0].a->name : NULL;
    bool is_of_file = false;
    free(all);
    if (!adapter)
        return OK;
    TRY(look_into_file(model, adapter, &is_of_file, err));
    if (is_of_file)
        return OK;
    return FAIL(err, E_CONFIG,
                "%s.lora: is missing: '%s' of the weights is an adapter, and rank and alpha say what it adds; the "
                "configuration of the job that trained it has them",
                config_path(model), adapter);
}

status lora_merge(const config *model, weights **w, error *err)
{
    const config *section = config_section(model, "lora");
    if (!section)
        return check_plain(model, *w, err);
    const double scale = config_f64(section, "alpha") / (double)config_int(section, "rank");
    merging *all = xcalloc(weights_count(*w) + 1, sizeof *all);
    st_tensor *tensors = xcalloc(weights_count(*w) + 1, sizeof *tensors);
    void *values = NULL;
    size_t bytes, n_tensors, n = find_all(*w, all, &bytes);
    status st = n ? mem_alloc(bytes, "merged weights", &values, err) : OK;
    if (st == OK && n)
        st = list_merged(*w, all, n, scale, values, tensors, &n_tensors, err);
    if (st == OK && n)
        weights_replace(w, tensors, n_tensors, values, w);
    else
        mem_free(values);
    free(tensors);
    free(all);
    return st;
}
