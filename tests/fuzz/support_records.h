/* What the fuzz targets of records share. */
#ifndef TEQUIO_TESTS_FUZZ_SUPPORT_RECORDS_H
#define TEQUIO_TESTS_FUZZ_SUPPORT_RECORDS_H

#include "common/base/alloc.h"
#include "data/record/field.h"

#include <stdint.h>
#include <stdlib.h>

/* Field 'a' of every kind that `format` has, as `all` names them: read from the configuration once. */
static const record_fields *records_all_kinds(const record_format *format, const char *all)
{
    static record_fields fields;
    if (fields.n)
        return &fields;
    char *text = xasprintf(
        "local extents = {numbers: {shape: [2]}, integers: {shape: [2]}, bytes: {shape: [2]}, labels: {classes: 4}, "
        "image: {size: 2}}; {dataset_reader: {type: '%s', fields: [{name: k, key: 'a', type: k} + "
        "(if std.objectHas(extents, k) then extents[k] else {}) for k in %s]}, train_data_path: 'x', model: 'mlp', "
        "data_loader: {batch_size: 1}}",
        format->type, all);
    config *c = NULL;
    config_source source = {.text = text};
    error err = ERROR_INIT;
    reader_request request = {.path = "fuzz"};
    BUG_ON(config_load(&source, &c, &err) != OK);
    request.reader = config_section(c, "dataset_reader");
    BUG_ON(record_fields_read(&request, format, &fields, &err) != OK);
    config_destroy(&c);
    free(text);
    return &fields;
}

static void records_take_field(const record_field *f, const record_format *format, const void *parsed)
{
    int64_t room[16], classes = 0;
    record_measure measure = {.length = 0};
    record_fields one = {.at = {*f}, .n = 1};
    if (record_field_is_label(f)) {
        words *learned = words_create();
        status st = record_field_learn(f, format, parsed, learned, &classes, NULL);
        BUG_ON(st == OK && classes == 0 && words_count(learned) == 0);
        words_destroy(&learned);
    } else {
        (void)!record_fields_take(&one, format, parsed, &(record_reading){.measure = &measure}, (void *[]){room}, NULL);
        (void)!record_fields_take(&one, format, parsed, &(record_reading){.raw = false}, (void *[]){room}, NULL);
    }
}

/* Cuts the bytes into records, and reads each. */
static void records_read_all(const record_format *format, const char *all, const uint8_t *data, size_t size)
{
    record_source s = {.name = "fuzz", .data = data, .bytes = size};
    record_list l = {.at = NULL};
    error err = ERROR_INIT;
    const record_fields *fields = records_all_kinds(format, all);
    if (records_cut(format->kind, &s, 1, &l, &err) != OK)
        BUG_ON(err.text[0] == '\0' || l.at);
    for (size_t i = 0; i < l.n; i++) {
        void *parsed = NULL;
        BUG_ON(l.at[i].at > size || l.at[i].bytes > size - l.at[i].at);
        if (format->parse(data + l.at[i].at, l.at[i].bytes, &parsed, NULL) != OK)
            continue;
        for (size_t k = 0; k < fields->n; k++)
            records_take_field(&fields->at[k], format, parsed);
        format->drop(parsed);
    }
    record_list_fini(&l);
}

#endif
