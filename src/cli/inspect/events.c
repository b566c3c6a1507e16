/* Event files: one row a tag, in the order of first appearance, with the newest value. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/store/events.h"

typedef struct gathered {
    json_t *tags; /* tag -> its row */
    size_t records;
} gathered;

static void put_real(json_t *o, const char *key, double x)
{
    json_t *value = json_real(x); /* NULL for NaN and infinity */
    json_object_set_new(o, key, value ? value : json_null());
}

static const char *type_of(event_kind kind)
{
    return kind == EVENT_HISTOGRAM ? "histogram" : kind == EVENT_TEXT ? "text" : "scalar";
}

static status gather(void *user, const event_record *r, error *err)
{
    (void)err;
    gathered *g = user;
    g->records++;
    if (!r->tag)
        return OK;
    json_t *row = json_object_get(g->tags, r->tag);
    if (!row) {
        row = json_pack("{s:s, s:s, s:i, s:I}", "tag", r->tag, "type", type_of(r->kind), "count", 0, "first_step",
                        (json_int_t)r->step);
        if (!row || json_object_set_new(g->tags, r->tag, row) != 0)
            return OK; /* a tag that is not UTF-8 cannot be told */
    }
    json_object_set_new(row, "count", json_integer(inspect_int(row, "count") + 1));
    json_object_set_new(row, "last_step", json_integer(r->step));
    if (r->kind == EVENT_SCALAR) {
        put_real(row, "last", r->value);
    } else if (r->kind == EVENT_TEXT) {
        json_object_set_new(row, "bytes", json_integer((json_int_t)r->bytes));
    } else {
        put_real(row, "min", r->min);
        put_real(row, "max", r->max);
        put_real(row, "num", r->num);
        put_real(row, "mean", r->num > 0 ? r->sum / r->num : 0);
    }
    return OK;
}

status inspect_look_events(const char *path, json_t **ret, error *err)
{
    gathered g = {.tags = json_object()};
    status st = events_read(path, gather, &g, err);
    if (st != OK) {
        json_decref(g.tags);
        return st;
    }
    json_t *rows = json_array(), *row;
    const char *tag;
    json_object_foreach(g.tags, tag, row) json_array_append(rows, row);
    json_decref(g.tags);
    *ret = json_pack("{s:s, s:o, s:I, s:o}", "kind", "events", "file", json_words(path), "records",
                     (json_int_t)g.records, "tags", rows);
    BUG_ON(!*ret);
    return OK;
}

static void value_cell(inspect_table *t, const json_t *row)
{
    buf text = BUF_INIT;
    if (json_object_get(row, "num")) {
        inspect_add_number(&text, json_object_get(row, "num"));
        buf_adds(&text, " in [");
        inspect_add_number(&text, json_object_get(row, "min"));
        buf_adds(&text, ", ");
        inspect_add_number(&text, json_object_get(row, "max"));
        buf_adds(&text, "]");
    } else if (json_object_get(row, "bytes")) {
        buf_addf(&text, "%lld bytes", inspect_int(row, "bytes"));
    } else {
        inspect_add_number(&text, json_object_get(row, "last"));
    }
    inspect_table_cell(t, "%s", text.data);
    buf_fini(&text);
}

void inspect_print_events(const json_t *report, buf *ret)
{
    static const char *const titles[] = {"tag", "type", "count", "steps", "last value"};
    const json_t *tags = json_object_get(report, "tags");
    buf_addf(ret, "%s: event file, %lld records, %zu tags\n", inspect_str(report, "file"),
             inspect_int(report, "records"), json_array_size(tags));
    inspect_table t = {.columns = COUNT_OF(titles)};
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        inspect_table_cell(&t, "%s", titles[i]);
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const json_t *row = json_array_get(tags, i);
        inspect_table_cell(&t, "%s", inspect_str(row, "tag"));
        inspect_table_cell(&t, "%s", inspect_str(row, "type"));
        inspect_table_cell(&t, "%lld", inspect_int(row, "count"));
        inspect_table_cell(&t, "%lld..%lld", inspect_int(row, "first_step"),
                           inspect_int(row, "last_step"));
        value_cell(&t, row);
    }
    inspect_table_flush(&t, ret);
}
