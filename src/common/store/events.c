/*
 * Event files. Records are gathered in memory and written whole, in one write where the kernel
 * takes it, so that a reader which follows the file rarely meets half a record; when it does, the
 * walk simply ends there.
 */
#include "common/store/events.h"
#include "common/store/events_internal.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/store/appender.h"
#include "common/store/histogram.h"
#include "proto/event.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 12, /* u64 length, u32 masked CRC of it */
    TAIL_BYTES = 4,  /* u32 masked CRC of the data */
    FLUSH_BYTES = 1 << 16,
    NAME_TRIES = 100,
};

/* --- framing --- */

static void store_le(unsigned char *p, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(x >> (8 * i));
}

static uint64_t load_le(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

/* --- writing --- */

struct events {
    appender file;
};

static void add_record(events *e, const Tequio__Tb__Event *event)
{
    size_t bytes = tequio__tb__event__get_packed_size(event);
    unsigned char head[HEAD_BYTES], tail[TAIL_BYTES];
    store_le(head, bytes, 8);
    store_le(head + 8, crc32c_masked(head, 8), 4);
    buf *waiting = &e->file.waiting;
    buf_reserve(waiting, HEAD_BYTES + bytes + TAIL_BYTES);
    appender_add(&e->file, head, sizeof head);
    unsigned char *data = (unsigned char *)waiting->data + waiting->size;
    tequio__tb__event__pack(event, data);
    store_le(tail, crc32c_masked(data, bytes), 4);
    waiting->size += bytes;
    appender_add(&e->file, tail, sizeof tail);
    if (waiting->size >= FLUSH_BYTES)
        events_put(e);
}

void events_add_value(events *e, int64_t step, Tequio__Tb__Summary__Value *value)
{
    Tequio__Tb__Summary summary = TEQUIO__TB__SUMMARY__INIT;
    summary.n_value = 1;
    summary.value = &value;
    Tequio__Tb__Event event = TEQUIO__TB__EVENT__INIT;
    event.wall_time = clock_wall_s();
    event.step = step;
    event.what_case = TEQUIO__TB__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    add_record(e, &event);
}

/* One process may open two files within a second; the second one gets a number behind its name. */
static status create_file(const char *dir, events *e, error *err)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        strcpy(host, "localhost");
    status st = OK;
    for (int i = 0; i < NAME_TRIES; i++) {
        char number[16] = "";
        if (i)
            snprintf(number, sizeof number, ".%d", i);
        char *path = xasprintf("%s/events.out.tfevents.%010lld.%s.%ld%s", dir,
                               (long long)clock_wall_s(), host, (long)getpid(), number);
        st = appender_open(&e->file, path, true, NULL);
        bool is_taken = st != OK && errno == EEXIST && i + 1 < NAME_TRIES;
        if (st != OK && !is_taken)
            (void)fs_fail(err, "create", path);
        free(path);
        if (!is_taken)
            break;
        appender_close(&e->file);
    }
    return st;
}

status events_open(const char *dir, events **ret, error *err)
{
    TRY(fs_mkdirs(dir, err));
    events *e = xcalloc(1, sizeof *e);
    status st = create_file(dir, e, err);
    if (st == OK) {
        Tequio__Tb__Event event = TEQUIO__TB__EVENT__INIT;
        event.wall_time = clock_wall_s();
        event.what_case = TEQUIO__TB__EVENT__WHAT_FILE_VERSION;
        event.file_version = (char *)(uintptr_t) "brain.Event:2";
        add_record(e, &event);
        events_put(e);
    }
    if (st != OK) {
        events_close(&e);
        return st;
    }
    *ret = e;
    return OK;
}

void events_close(events **e)
{
    if (!*e)
        return;
    /* a caller that must know whether the last records are out flushes before */
    events_put(*e);
    appender_close(&(*e)->file);
    free(*e);
    *e = NULL;
}

void events_scalar(events *e, int64_t step, const char *tag, float value)
{
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.value_case = TEQUIO__TB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    v.simple_value = value;
    events_add_value(e, step, &v);
}

void events_image(events *e, int64_t step, const char *tag, int width, int height, const void *png, size_t bytes)
{
    enum { RGB = 3 };
    Tequio__Tb__Summary__Image image = TEQUIO__TB__SUMMARY__IMAGE__INIT;
    image.width = width;
    image.height = height;
    image.colorspace = RGB;
    image.encoded_image_string = (ProtobufCBinaryData){.len = bytes, .data = (uint8_t *)(uintptr_t)png};
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.value_case = TEQUIO__TB__SUMMARY__VALUE__VALUE_IMAGE;
    v.image = &image;
    events_add_value(e, step, &v);
}

void events_text(events *e, int64_t step, const char *tag, const char *text)
{
    enum { STRINGS = 7 };
    ProtobufCBinaryData content = {.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
    Tequio__Tb__TensorShapeProto shape = TEQUIO__TB__TENSOR_SHAPE_PROTO__INIT;
    Tequio__Tb__TensorProto tensor = TEQUIO__TB__TENSOR_PROTO__INIT;
    tensor.dtype = STRINGS;
    tensor.tensor_shape = &shape;
    tensor.n_string_val = 1;
    tensor.string_val = &content;
    Tequio__Tb__SummaryMetadata__PluginData data = TEQUIO__TB__SUMMARY_METADATA__PLUGIN_DATA__INIT;
    data.plugin_name = (char *)(uintptr_t) "text";
    Tequio__Tb__SummaryMetadata metadata = TEQUIO__TB__SUMMARY_METADATA__INIT;
    metadata.plugin_data = &data;
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.value_case = TEQUIO__TB__SUMMARY__VALUE__VALUE_TENSOR;
    v.tensor = &tensor;
    v.metadata = &metadata;
    events_add_value(e, step, &v);
}

void events_graph_bytes(events *e, const void *graph, size_t bytes)
{
    Tequio__Tb__Event event = TEQUIO__TB__EVENT__INIT;
    event.wall_time = clock_wall_s();
    event.what_case = TEQUIO__TB__EVENT__WHAT_GRAPH_DEF;
    event.graph_def = (ProtobufCBinaryData){.len = bytes, .data = (uint8_t *)(uintptr_t)graph};
    add_record(e, &event);
}

void events_plugin_data(events *e, const char *tag, const char *plugin, const void *content, size_t bytes)
{
    Tequio__Tb__SummaryMetadata__PluginData data = TEQUIO__TB__SUMMARY_METADATA__PLUGIN_DATA__INIT;
    data.plugin_name = (char *)(uintptr_t)plugin;
    data.content = (ProtobufCBinaryData){.len = bytes, .data = (uint8_t *)(uintptr_t)content};
    Tequio__Tb__SummaryMetadata metadata = TEQUIO__TB__SUMMARY_METADATA__INIT;
    metadata.plugin_data = &data;
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.metadata = &metadata;
    events_add_value(e, 0, &v);
}

void events_add_histogram(events *e, int64_t step, const char *tag, const events_histogram *h)
{
    histogram_summary s;
    histogram_summarise(h, &s);
    Tequio__Tb__HistogramProto proto = TEQUIO__TB__HISTOGRAM_PROTO__INIT;
    proto.min = s.min;
    proto.max = s.max;
    proto.num = s.num;
    proto.sum = s.sum;
    proto.sum_squares = s.sum_squares;
    proto.n_bucket_limit = s.n_buckets;
    proto.bucket_limit = s.limit;
    proto.n_bucket = s.n_buckets;
    proto.bucket = s.count;
    Tequio__Tb__Summary__Value v = TEQUIO__TB__SUMMARY__VALUE__INIT;
    v.tag = (char *)(uintptr_t)tag;
    v.value_case = TEQUIO__TB__SUMMARY__VALUE__VALUE_HISTO;
    v.histo = &proto;
    events_add_value(e, step, &v);
    histogram_summary_fini(&s);
}

void events_put(events *e)
{
    appender_put(&e->file, "", 0);
}

status events_flush(events *e, error *err)
{
    return appender_flush(&e->file, err);
}

status events_sync(events *e, error *err)
{
    return appender_sync(&e->file, err);
}

size_t events_waiting(const events *e)
{
    return e->file.waiting.size;
}

/* --- reading --- */

static status visit_event(const Tequio__Tb__Event *event, events_visit *visit, void *user,
                          error *err)
{
    event_record r = {.wall_time = event->wall_time, .step = event->step};
    if (event->what_case == TEQUIO__TB__EVENT__WHAT_FILE_VERSION)
        return visit(user, &r, err);
    if (event->what_case != TEQUIO__TB__EVENT__WHAT_SUMMARY)
        return OK;
    for (size_t i = 0; i < event->summary->n_value; i++) {
        const Tequio__Tb__Summary__Value *v = event->summary->value[i];
        r.tag = v->tag;
        if (v->value_case == TEQUIO__TB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE) {
            r.kind = EVENT_SCALAR;
            r.value = (double)v->simple_value;
        } else if (v->value_case == TEQUIO__TB__SUMMARY__VALUE__VALUE_HISTO) {
            r.kind = EVENT_HISTOGRAM;
            r.min = v->histo->min;
            r.max = v->histo->max;
            r.num = v->histo->num;
            r.sum = v->histo->sum;
            r.n_buckets = v->histo->n_bucket < v->histo->n_bucket_limit ? v->histo->n_bucket : v->histo->n_bucket_limit;
            r.limits = v->histo->bucket_limit;
            r.counts = v->histo->bucket;
        } else if (v->value_case == TEQUIO__TB__SUMMARY__VALUE__VALUE_TENSOR && v->tensor->n_string_val == 1) {
            r.kind = EVENT_TEXT;
            r.text = v->tensor->string_val[0].data;
            r.bytes = v->tensor->string_val[0].len;
        } else {
            continue; /* images, and what other programs write */
        }
        TRY(visit(user, &r, err));
    }
    return OK;
}

typedef struct frame {
    const unsigned char *data;
    size_t bytes, end; /* of the data; where the next record begins */
} frame;

/* The record at `at`; *ret_torn when the file ends inside it. */
static status find_frame(const char *path, const fs_map *map, size_t at, bool *ret_torn, frame *ret,
                         error *err)
{
    const unsigned char *p = map->data + at;
    size_t left = map->bytes - at;
    *ret_torn = true;
    if (left < HEAD_BYTES)
        return OK;
    uint64_t bytes = load_le(p, 8);
    if (load_le(p + 8, 4) != crc32c_masked(p, 8))
        return FAIL(err, E_DATA, "%s: offset %zu: the length of a record has a wrong checksum%s",
                    path, at, at ? "" : " (not an event file?)");
    if (bytes > left - HEAD_BYTES || left - HEAD_BYTES - bytes < TAIL_BYTES)
        return OK;
    const unsigned char *data = p + HEAD_BYTES;
    if (load_le(data + bytes, 4) != crc32c_masked(data, bytes))
        return FAIL(err, E_DATA, "%s: offset %zu: a record has a wrong checksum", path, at);
    *ret = (frame){.data = data, .bytes = bytes, .end = at + HEAD_BYTES + bytes + TAIL_BYTES};
    *ret_torn = false;
    return OK;
}

/* One record at *at, which moves past it; *ret_torn when the file ends inside it. */
static status read_record(const char *path, const fs_map *map, size_t *at, bool *ret_torn,
                          events_visit *visit, void *user, error *err)
{
    frame f;
    TRY(find_frame(path, map, *at, ret_torn, &f, err));
    if (*ret_torn)
        return OK;
    Tequio__Tb__Event *event = tequio__tb__event__unpack(NULL, f.bytes, f.data);
    if (!event)
        return FAIL(err, E_DATA, "%s: offset %zu: a record that is no Event", path, *at);
    status st = visit_event(event, visit, user, err);
    tequio__tb__event__free_unpacked(event, NULL);
    *at = f.end;
    return st;
}

status events_read(const char *path, events_visit *visit, void *user, error *err)
{
    fs_map map;
    TRY(fs_map_open(path, &map, err));
    status st = OK;
    bool torn = false;
    for (size_t at = 0; st == OK && !torn && at < map.bytes;)
        st = read_record(path, &map, &at, &torn, visit, user, err);
    fs_map_close(&map);
    return st;
}

/* --- going back --- */

typedef status each_file(const char *path, void *user, error *err);

static status for_each_file(const char *dir, each_file *visit, void *user, error *err)
{
    static const char prefix[] = "events.out.tfevents.";
    char **names = NULL;
    size_t n = 0;
    if (!fs_exists(dir))
        return OK;
    TRY(fs_list(dir, &names, &n, err));
    status st = OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        if (strncmp(names[i], prefix, sizeof prefix - 1) != 0)
            continue;
        char *path = xasprintf("%s/%s", dir, names[i]);
        st = visit(path, user, err);
        free(path);
    }
    fs_list_free(names, n);
    return st;
}

static bool is_kept(const frame *f, const events_bounds *until)
{
    Tequio__Tb__Event *event = tequio__tb__event__unpack(NULL, f->bytes, f->data);
    if (!event)
        return true; /* some other program's */
    bool scalar = event->what_case == TEQUIO__TB__EVENT__WHAT_SUMMARY && event->summary->n_value &&
                  event->summary->value[0]->value_case ==
                      TEQUIO__TB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    bool kept = event->what_case == TEQUIO__TB__EVENT__WHAT_FILE_VERSION ||
                event->step <= (scalar ? until->scalars : until->others);
    tequio__tb__event__free_unpacked(event, NULL);
    return kept;
}

/* In the place of the old file, which stays until the new one is whole. The name on the way is none
 * that a reader of event files would open. */
static status replace_file(const char *path, const buf *bytes, error *err)
{
    char *beside = xasprintf("%.*srewound.events", (int)(strrchr(path, '/') + 1 - path), path);
    status st = fs_write_atomic(beside, bytes->data, bytes->size, err);
    if (st == OK && rename(beside, path) != 0)
        st = fs_fail(err, "rename to", path);
    free(beside);
    return st;
}

/* What goes is nearly always the end of the file, but a histogram may stand behind the scalars of
 * later steps. Nobody reads past half a record or a damaged one: there the file ends. */
static status rewind_file(const char *path, void *user, error *err)
{
    const events_bounds *until = user;
    fs_map map;
    TRY(fs_map_open(path, &map, err));
    buf kept = BUF_INIT;
    frame f;
    bool torn = false, in_place = true;
    size_t at = 0;
    while (at < map.bytes && find_frame(path, &map, at, &torn, &f, NULL) == OK && !torn) {
        if (is_kept(&f, until)) {
            in_place &= kept.size == at;
            buf_add(&kept, map.data + at, f.end - at);
        }
        at = f.end;
    }
    status st = OK;
    if (at && kept.size < map.bytes && in_place && truncate(path, (off_t)kept.size) != 0)
        st = fs_fail(err, "shorten", path);
    if (at && !in_place)
        st = replace_file(path, &kept, err);
    buf_fini(&kept);
    fs_map_close(&map);
    return st;
}

status events_rewind(const char *dir, const events_bounds *until, error *err)
{
    events_bounds copy = *until;
    return for_each_file(dir, rewind_file, &copy, err);
}

typedef struct last_step {
    const char *tag;
    int64_t step;
} last_step;

static status look_at_step(void *user, const event_record *r, error *err)
{
    last_step *l = user;
    (void)err;
    if (r->kind == EVENT_SCALAR && strcmp(r->tag, l->tag) == 0 && r->step > l->step)
        l->step = r->step;
    return OK;
}

/* A damaged file tells what stands before the damage. */
static status look_at_file(const char *path, void *user, error *err)
{
    status st = events_read(path, look_at_step, user, err);
    if (st == E_DATA)
        error_clear(err);
    return st == E_DATA ? OK : st;
}

status events_last_step(const char *dir, const char *tag, int64_t *ret_step, error *err)
{
    last_step l = {.tag = tag, .step = -1};
    TRY(for_each_file(dir, look_at_file, &l, err));
    *ret_step = l.step;
    return OK;
}
