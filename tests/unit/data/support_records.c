#include "unit/data/support_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>

status records_open_path(const char *type, const char *reader, const char *path, const dataset_options *how,
                         dataset **ret, error *err)
{
    char *written = xasprintf("{dataset_reader: {type: '%s'} + %s, train_data_path: 'x', model: 'mlp', "
                              "data_loader: {batch_size: 1}}", type, reader);
    config *c = NULL;
    config_source source = {.text = written};
    error why = ERROR_INIT;
    if (config_load(&source, &c, &why) != OK)
        fail_msg("%s", why.text);
    status st = dataset_open_as(config_section(c, "dataset_reader"), path, how, ret, err);
    config_destroy(&c);
    free(written);
    return st;
}

status records_open_bytes(const char *type, const char *reader, const buf *content, const dataset_options *how,
                          dataset **ret, error *err)
{
    char *path = test_file(folder_path(), "t.data", content);
    status st = records_open_path(type, reader, path, how, ret, err);
    free(path);
    return st;
}

status records_open(const char *type, const char *reader, const char *text, const dataset_options *how,
                    dataset **ret, error *err)
{
    buf b = {.data = (char *)(uintptr_t)text, .size = strlen(text)};
    return records_open_bytes(type, reader, &b, how, ret, err);
}

dataset *records_must_open(const char *type, const char *reader, const char *text, const char *vocabulary)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open(type, reader, text, &(dataset_options){.vocabulary = vocabulary}, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

void records_refuse(const char *type, const char *reader, const char *text, const char *vocabulary, status code,
                    const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(records_open(type, reader, text, &(dataset_options){.vocabulary = vocabulary}, &d, &err),
                     code);
    assert_null(d);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

void records_add_tfrecord(buf *b, const void *data, size_t bytes)
{
    uint64_t length = bytes;
    uint32_t of_length = crc32c_masked(&length, sizeof length), of_data = crc32c_masked(data, bytes);
    buf_add(b, &length, sizeof length);
    buf_add(b, &of_length, sizeof of_length);
    buf_add(b, data, bytes);
    buf_add(b, &of_data, sizeof of_data);
}
