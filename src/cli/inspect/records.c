/* Records of a data set: how many, in which files, and how long, as the index of the data readers has it. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "data/index/guess.h"
#include "data/index/record_set.h"

enum { FILES_SHOWN = 20 };

static json_t *list_files(const record_set *s)
{
    json_t *files = json_array();
    for (size_t i = 0; i < record_set_files(s); i++) {
        int64_t records;
        size_t bytes;
        const char *name = record_set_file(s, i, &records, &bytes);
        json_array_append_new(files, json_pack("{s:o, s:I, s:I}", "file", json_words(name), "records",
                                               (json_int_t)records, "bytes", (json_int_t)bytes));
    }
    return files;
}

static void add_lengths(const record_set *s, json_t *o)
{
    size_t shortest = SIZE_MAX, longest = 0, sum = 0, bytes;
    int64_t n = record_set_count(s);
    for (int64_t i = 0; i < n; i++) {
        record_set_at(s, i, &bytes);
        shortest = bytes < shortest ? bytes : shortest;
        longest = bytes > longest ? bytes : longest;
        sum += bytes;
    }
    json_object_set_new(o, "shortest", json_integer((json_int_t)shortest));
    json_object_set_new(o, "longest", json_integer((json_int_t)longest));
    json_object_set_new(o, "mean", json_real((double)sum / (double)n));
}

status inspect_look_records(const char *path, json_t **ret, error *err)
{
    record_kind kind;
    record_set *s = NULL;
    if (!records_guess(path, &kind))
        return OK;
    TRY(record_set_open(kind, path, &s, err));
    json_t *o = json_pack("{s:s, s:o, s:s, s:I, s:I, s:o}", "kind", "records", "path", json_words(path), "format",
                          kind == RECORD_LINES ? "JSON Lines" : "TFRecord", "records",
                          (json_int_t)record_set_count(s), "bytes", (json_int_t)record_set_bytes(s), "files",
                          list_files(s));
    BUG_ON(!o);
    add_lengths(s, o);
    record_set_close(&s);
    *ret = o;
    return OK;
}

void inspect_print_records(const json_t *report, buf *ret)
{
    const json_t *files = json_object_get(report, "files");
    inspect_table t = {.columns = 3};
    size_t n = json_array_size(files);
    buf_addf(ret, "%s: %s, %lld records in %zu file%s, ", inspect_str(report, "path"),
             inspect_str(report, "format"), inspect_int(report, "records"), n, n == 1 ? "" : "s");
    inspect_add_bytes(ret, (double)inspect_int(report, "bytes"));
    buf_addf(ret, "\n  bytes of a record: shortest %lld, longest %lld, mean ", inspect_int(report, "shortest"),
             inspect_int(report, "longest"));
    inspect_add_number(ret, json_object_get(report, "mean"));
    buf_adds(ret, "\n");
    if (n == 1)
        return;
    inspect_table_cell(&t, "  file");
    inspect_table_cell(&t, "records");
    inspect_table_cell(&t, "bytes");
    for (size_t i = 0; i < n && i < FILES_SHOWN; i++) {
        const json_t *f = json_array_get(files, i);
        inspect_table_cell(&t, "  %s", inspect_str(f, "file"));
        inspect_table_cell(&t, "%lld", inspect_int(f, "records"));
        inspect_table_cell(&t, "%lld", inspect_int(f, "bytes"));
    }
    inspect_table_flush(&t, ret);
    if (n > FILES_SHOWN)
        buf_addf(ret, "  and %zu more files\n", n - FILES_SHOWN);
}
