/* Datasets of every kind: picks the reader and forwards to it. */
#include "data/reader.h"

#include "common/base/alloc.h"

#include <string.h>

static const struct {
    const char *type;
    status (*open)(const config *reader, const char *path, dataset **ret, error *err);
} readers[] = {
    {"idx", idx_reader_configure},
};

status dataset_open(const config *reader, const char *path, dataset **ret, error *err)
{
    const char *type = config_str(reader, "type");
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (type && strcmp(type, readers[i].type) == 0)
            return readers[i].open(reader, path, ret, err);
    return FAIL(err, E_CONFIG, "%s.type: no reader '%s'; there is 'idx'", config_path(reader),
                type ? type : "null");
}

void dataset_close(dataset **d)
{
    if (*d)
        (*d)->ops->close(*d);
    *d = NULL;
}

int64_t dataset_examples(const dataset *d)
{
    return d->examples;
}

const data_field *dataset_fields(const dataset *d, size_t *ret_n)
{
    *ret_n = d->n_fields;
    return d->fields;
}

size_t data_field_bytes(const data_field *f)
{
    size_t bytes = dtype_bytes(f->dtype);
    for (int32_t i = 0; i < f->rank; i++)
        bytes *= (size_t)f->dim[i]; /* the reader has checked the product against its file */
    return bytes;
}

status dataset_read(const dataset *d, int64_t example, void *const *ret, error *err)
{
    BUG_ON(example < 0 || example >= d->examples);
    return d->ops->read(d, example, ret, err);
}
