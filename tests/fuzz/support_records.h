/* What the fuzz targets of records share. */
#ifndef TEQUIO_TESTS_FUZZ_SUPPORT_RECORDS_H
#define TEQUIO_TESTS_FUZZ_SUPPORT_RECORDS_H

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/record/field.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS_MOST = 4 }; /* values of a field of any length */

/* A tokenizer for texts, in a folder of its own, which is removed once it was read. */
static char *records_tokenizer(char folder[])
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nb\n1\n.\n";
    BUG_ON(!mkdtemp(folder));
    char *path = xasprintf("%s/vocab.txt", folder);
    BUG_ON(fs_write_atomic(path, words, strlen(words), NULL) != OK);
    return path;
}

/* Kinds of field 'a', as a list of jsonnet, no more than an example has fields; 'pair' is a text with another one,
 * 'b'. */
typedef struct record_kinds {
    const char *all;
    record_fields fields;           /* of them; none before records_fields_of */
} record_kinds;

/* Read from the configuration once. */
static const record_fields *records_fields_of(const record_format *format, record_kinds *kinds)
{
    record_fields *fields = &kinds->fields;
    if (fields->n)
        return fields;
    char folder[] = "/tmp/tequio-fuzz-XXXXXX", *tokenizer = records_tokenizer(folder);
    char *text = xasprintf(
        "local extents = {numbers: {shape: [2]}, integers: {shape: [2]}, bytes: {shape: [2]}, labels: {classes: 4}, "
        "image: {size: 2}, mask: {most: %d}, text: {most: %d}, pair: {type: 'text', most: %d, pair: 'b'}}; "
        "{dataset_reader: {type: '%s', tokenizer: '%s', fields: [{name: k, key: 'a', type: k} + "
        "(if std.objectHas(extents, k) then extents[k] else {}) for k in %s]}, train_data_path: 'x', model: 'mlp', "
        "data_loader: {batch_size: 1}}",
        RECORDS_MOST, RECORDS_MOST, RECORDS_MOST, format->type, tokenizer, kinds->all);
    config *c = NULL;
    config_source source = {.text = text};
    error err = ERROR_INIT;
    reader_request request = {.path = "fuzz"};
    BUG_ON(config_load(&source, &c, &err) != OK);
    request.reader = config_section(c, "dataset_reader");
    BUG_ON(record_fields_read(&request, format, fields, &err) != OK);
    config_destroy(&c);
    free(text);
    unlink(tokenizer);
    rmdir(folder);
    free(tokenizer);
    return fields;
}

static void records_take_field(const record_field *f, const record_format *format, const void *parsed)
{
    int64_t room[TEXT_FIELDS][16], classes = 0;
    void *rooms[TEXT_FIELDS];
    record_measure measure = {.length = 0};
    record_fields one = {.at = {*f}, .n = 1};
    if (record_field_is_label(f)) {
        words *learned = words_create();
        status st = record_field_learn(f, format, parsed, learned, &classes, NULL);
        BUG_ON(st == OK && classes == 0 && words_count(learned) == 0);
        words_destroy(&learned);
    } else {
        for (size_t i = 0; i < TEXT_FIELDS; i++)
            rooms[i] = room[i];
        status st = record_fields_take(&one, format, parsed, &(record_reading){.measure = &measure}, rooms, NULL);
        BUG_ON(st == OK && (measure.length > RECORDS_MOST || measure.length < f->varies));
        (void)!record_fields_take(&one, format, parsed, &(record_reading){.raw = false}, rooms, NULL);
    }
}

static void records_take_fields(const record_format *format, record_kinds *kinds, size_t n, const void *parsed)
{
    for (size_t i = 0; i < n; i++) {
        const record_fields *fields = records_fields_of(format, &kinds[i]);
        for (size_t k = 0; k < fields->n; k++)
            records_take_field(&fields->at[k], format, parsed);
    }
}

/* Cuts the bytes into records, and reads of each the fields of kinds[n]. */
static void records_read_all(const record_format *format, record_kinds *kinds, size_t n, const uint8_t *data,
                             size_t size)
{
    record_source s = {.name = "fuzz", .data = data, .bytes = size};
    record_list l = {.at = NULL};
    error err = ERROR_INIT;
    if (records_cut(format->kind, &s, 1, &l, &err) != OK)
        BUG_ON(err.text[0] == '\0' || l.at);
    for (size_t i = 0; i < l.n; i++) {
        void *parsed = NULL;
        BUG_ON(l.at[i].at > size || l.at[i].bytes > size - l.at[i].at);
        if (format->parse(data + l.at[i].at, l.at[i].bytes, &parsed, NULL) != OK)
            continue;
        records_take_fields(format, kinds, n, parsed);
        format->drop(parsed);
    }
    record_list_fini(&l);
}

#endif
