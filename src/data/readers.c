/* The readers of data, by the word of `dataset_reader.type`. */
#include "data/allennlp_vocabulary.h"
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/gcs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY_LIMIT = 256 << 20 };

static const struct {
    const char *type;
    status (*open)(const reader_request *request, dataset **ret, error *err);
    bool (*learns)(const config *reader); /* NULL: never */
    bool takes_shards;                    /* it reads many files as it reads one */
} readers[] = {
    {"idx", idx_reader_configure, NULL, false},
    {"text", text_reader_configure, text_reader_learns, true},
    {"arrays", arrays_reader_configure, NULL, false},
    {"csv", csv_reader_configure, csv_reader_learns, true},
    {"cifar10", cifar10_reader_configure, NULL, false},
    {"image_folder", image_reader_configure, image_reader_learns, false},
    {"image_list", image_reader_configure, image_reader_learns, false},
    {"video_folder", video_reader_configure, image_reader_learns, false},
    {"video_list", video_reader_configure, image_reader_learns, false},
    {"jsonl", jsonl_reader_configure, record_reader_learns, true},
    {"tfrecord", tfrecord_reader_configure, record_reader_learns, true},
    {"webdataset", webdataset_reader_configure, record_reader_learns, true},
    {"text_classification_json", jsonl_reader_configure, record_reader_learns, true},
    {"snli", jsonl_reader_configure, record_reader_learns, true},
    {"transformer_squad", squad_reader_configure, NULL, true},
    {"conll2003", conll2003_reader_configure, tag_reader_learns, true},
    {"multitask", multitask_reader_configure, NULL, false},
    {"universal_dependencies", universal_dependencies_reader_configure, tag_reader_learns, true},
};

static bool is_sharded(const config *reader)
{
    const char *type = config_str(reader, "type");
    return type && strcmp(type, "sharded") == 0;
}

/* What reads the files: of `sharded` its base. */
static const config *file_reader(const config *reader)
{
    return is_sharded(reader) ? config_section(reader, "base_reader") : reader;
}

/* Its row; COUNT_OF(readers) if there is none. */
static size_t find(const config *reader)
{
    const char *type = config_str(reader, "type");
    size_t i = 0;
    while (i < COUNT_OF(readers) && !(type && strcmp(type, readers[i].type) == 0))
        i++;
    return i;
}

static bool any_task_learns(const config *reader)
{
    bool any = false;
    for (size_t i = 0; i < config_count(reader, "readers"); i++) {
        char place[40];
        snprintf(place, sizeof place, "readers[%zu].reader", i);
        any = any || dataset_learns(config_section(reader, place));
    }
    return any;
}

bool dataset_learns(const config *reader)
{
    const config *reads = file_reader(reader);
    if (strcmp(config_str(reads, "type"), "multitask") == 0)
        return any_task_learns(reads);
    size_t i = find(reads);
    return i < COUNT_OF(readers) && readers[i].learns && readers[i].learns(reads);
}

static status fail_shards(const config *base, error *err)
{
    buf those = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (readers[i].takes_shards)
            buf_addf(&those, " %s", readers[i].type);
    status st = FAIL(err, E_CONFIG, "%s.type: '%s' does not read shards; these do:%s", config_path(base),
                     config_str(base, "type"), those.data);
    buf_fini(&those);
    return st;
}

static status check_base(const config *sharded, error *err)
{
    static const char *const parts[] = {"range", "limit"};
    const config *base = file_reader(sharded);
    size_t i = find(base);
    if (i == COUNT_OF(readers) || !readers[i].takes_shards)
        return fail_shards(base, err);
    for (size_t k = 0; k < COUNT_OF(parts); k++)
        if (config_has(base, parts[k]))
            return FAIL(err, E_CONFIG, "%s.%s: is said of all shards together: set %s.%s", config_path(base),
                        parts[k], config_path(sharded), parts[k]);
    return OK;
}

static status open_by(const reader_request *request, dataset **ret, error *err)
{
    size_t i = find(request->reader);
    if (i < COUNT_OF(readers))
        return readers[i].open(request, ret, err);
    const char *type = config_str(request->reader, "type");
    buf known = BUF_INIT;
    for (i = 0; i < COUNT_OF(readers); i++)
        buf_addf(&known, "%s%s", !i ? "" : i + 1 < COUNT_OF(readers) ? ", " : " and ", readers[i].type);
    status st = FAIL(err, E_CONFIG, "%s.type: no reader '%s'; there are %s",
                     config_path(request->reader), type ? type : "null", known.data);
    buf_fini(&known);
    return st;
}

status dataset_open(const config *reader, const char *path, dataset **ret, error *err)
{
    return dataset_open_as(reader, path, &(dataset_options){.vocabulary = NULL}, ret, err);
}

static dataset_part part_of(const config *reader)
{
    const json_t *range = config_json(reader, "range");
    dataset_part part = {.to = 1.0};
    if (range) {
        part.from = json_number_value(json_array_get(range, 0));
        part.to = json_number_value(json_array_get(range, 1));
    }
    if (config_has(reader, "limit"))
        part.limit = config_int(reader, "limit");
    return part;
}

status dataset_open_as(const config *reader, const char *path, const dataset_options *options,
                       dataset **ret, error *err)
{
    reader_vocabulary given = {.text = options->vocabulary, .origin = "the job's vocabulary"};
    const config *reads = file_reader(reader);
    if (reads != reader)
        TRY(check_base(reader, err));
    reader_request request = {.reader = reads,
                              .part = options->part ? *options->part : part_of(reader),
                              .without_labels = options->without_labels,
                              .open = dataset_open_as};
    buf text = BUF_INIT;
    bool grows = config_bool(reads, "extend_vocabulary");
    if (grows && !config_str(reads, "vocabulary"))
        return FAIL(err, E_CONFIG, "%s.extend_vocabulary: needs vocabulary, the one to add words to",
                    config_path(reads));
    if (!given.text && config_str(reads, "vocabulary")) {
        given.origin = config_str(reads, "vocabulary");
        given.grows = grows;
        TRY(allennlp_vocabulary_is(given.origin) ? allennlp_vocabulary_read(given.origin, &text, err)
                                                 : fs_read(given.origin, VOCABULARY_LIMIT, &text, err));
        given.text = text.data ? text.data : "";
    }
    request.vocabulary = given.text ? &given : NULL;
    char *file = NULL;
    status st = gcs_path(path, &file, err);
    request.path = file;
    if (st == OK)
        st = open_by(&request, ret, err);
    free(file);
    buf_fini(&text);
    return st;
}
