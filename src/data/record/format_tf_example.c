/* A tf.train.Example as a record (format.h; proto/example.proto): features, found by their names. */
#include "data/record/format.h"

#include "proto/example.pb-c.h"

#include <string.h>

typedef Tensorflow__Example example;
typedef Tensorflow__Feature feature;

static status parse_example(const unsigned char *data, size_t bytes, void **ret, error *err)
{
    example *e = tensorflow__example__unpack(NULL, bytes, data);
    if (!e)
        return FAIL(err, E_DATA, "is no tf.train.Example: its %zu bytes are no such message", bytes);
    *ret = e;
    return OK;
}

static void drop_example(void *parsed)
{
    tensorflow__example__free_unpacked(parsed, NULL);
}

/* As protobuf has it: the last of several entries of one key counts. */
static const void *find_feature(const void *parsed, const char *key)
{
    const example *e = parsed;
    for (size_t i = e->features ? e->features->n_feature : 0; i-- > 0;)
        if (strcmp(e->features->feature[i]->key, key) == 0)
            return e->features->feature[i]->value;
    return NULL;
}

static void add_names(const void *parsed, buf *ret)
{
    const example *e = parsed;
    for (size_t i = 0; e->features && i < e->features->n_feature; i++)
        buf_addf(ret, "%s%s", i ? ", " : "", e->features->feature[i]->key);
}

static size_t count_elements(const void *value)
{
    const feature *f = value;
    switch (f->kind_case) {
    case TENSORFLOW__FEATURE__KIND_BYTES_LIST:
        return f->bytes_list->n_value;
    case TENSORFLOW__FEATURE__KIND_FLOAT_LIST:
        return f->float_list->n_value;
    case TENSORFLOW__FEATURE__KIND_INT64_LIST:
        return f->int64_list->n_value;
    default:
        return 0;
    }
}

static bool take_integer(const void *value, size_t i, int64_t *ret)
{
    const feature *f = value;
    if (f->kind_case != TENSORFLOW__FEATURE__KIND_INT64_LIST)
        return false;
    *ret = f->int64_list->value[i];
    return true;
}

static bool take_real(const void *value, size_t i, double *ret)
{
    const feature *f = value;
    int64_t whole;
    if (take_integer(value, i, &whole)) {
        *ret = (double)whole;
        return true;
    }
    if (f->kind_case != TENSORFLOW__FEATURE__KIND_FLOAT_LIST)
        return false;
    *ret = (double)f->float_list->value[i];
    return true;
}

static bool take_bytes(const void *value, const void **ret, size_t *ret_n)
{
    const feature *f = value;
    if (f->kind_case != TENSORFLOW__FEATURE__KIND_BYTES_LIST || f->bytes_list->n_value != 1)
        return false;
    *ret = f->bytes_list->value[0].data;
    *ret_n = f->bytes_list->value[0].len;
    return true;
}

static void describe_feature(const void *value, buf *ret)
{
    const feature *f = value;
    size_t n = count_elements(value);
    switch (f->kind_case) {
    case TENSORFLOW__FEATURE__KIND_BYTES_LIST:
        buf_addf(ret, "a list of %zu byte strings", n);
        break;
    case TENSORFLOW__FEATURE__KIND_FLOAT_LIST:
        buf_addf(ret, "a list of %zu floats", n);
        break;
    case TENSORFLOW__FEATURE__KIND_INT64_LIST:
        buf_addf(ret, "a list of %zu int64", n);
        break;
    default:
        buf_adds(ret, "an empty feature");
    }
}

const record_format record_format_tf_example = {
    .type = "tfrecord",
    .kind = RECORD_TFRECORD,
    .has_bytes = true,
    .parse = parse_example,
    .drop = drop_example,
    .find = find_feature,
    .keys = add_names,
    .count = count_elements,
    .real = take_real,
    .integer = take_integer,
    .bytes = take_bytes,
    .describe = describe_feature,
};
