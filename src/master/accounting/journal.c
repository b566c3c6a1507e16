#include "master/accounting/journal.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/store/appender.h"

#include <stdlib.h>
#include <string.h>

enum {
    VERSION = 2,    /* of 1 reports count loss and accuracy alone */
    FILE_HEAD = 16, /* "TQJ", version, u32 CRC-32C of the rest of the head, of version 1 zero; u64 job id */
    HEAD = 12,      /* u32 length, u8 kind, 3 zero bytes, u32 CRC-32C */
    NAME_MOST = 63,
};

typedef struct base_at {
    int64_t step;
    size_t offset;
} base_at;

struct journal {
    uint64_t job_id;
    appender file;
    int64_t oldest_waiting; /* of the steps that reports which wait in it are of */
    buf record;     /* being made; kept, so that reports allocate nothing */
    base_at *bases; /* in the file, oldest first */
    size_t n_bases, cap_bases;
    size_t since_base;
};

/* --- records to bytes --- */

static void journal_put(buf *b, uint64_t x, int bytes)
{
    unsigned char at[8];
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(x >> (8 * i));
    buf_add(b, at, (size_t)bytes);
}

static void put_double(buf *b, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    journal_put(b, bits, 8);
}

static void journal_put_metrics(buf *b, const metric_set *m)
{
    journal_put(b, m->n, 1);
    for (size_t i = 0; i < m->n; i++) {
        size_t n = strlen(m->at[i].name);
        BUG_ON(n > NAME_MOST);
        journal_put(b, n, 1);
        buf_add(b, m->at[i].name, n);
        put_double(b, m->at[i].sum);
        put_double(b, m->at[i].count);
    }
}

static void record_begin(buf *b)
{
    static const char blank[HEAD];
    buf_clear(b);
    buf_add(b, blank, HEAD);
}

/* The length and the kind take part in the checksum; its own place does not. */
static uint32_t checksum(const unsigned char *record, size_t bytes)
{
    return crc32c(crc32c(0, record, HEAD - 4), record + HEAD, bytes - HEAD);
}

static void record_end(buf *b, journal_kind kind)
{
    unsigned char *p = (unsigned char *)b->data;
    size_t bytes = b->size - HEAD;
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(bytes >> (8 * i));
    p[4] = (unsigned char)kind;
    uint32_t crc = checksum(p, b->size);
    for (int i = 0; i < 4; i++)
        p[HEAD - 4 + i] = (unsigned char)(crc >> (8 * i));
}

static void put_counts(buf *b, const epoch_counts *c)
{
    journal_put(b, c->bytes, 4);
    buf_add(b, c->at, c->bytes);
}

/* Nothing where nothing was counted, as before there were any. */
static void put_all_counts(buf *b, const completed_steps *s)
{
    size_t some = s->counts.bytes;
    for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++)
        some += s->epochs_counts[i].bytes;
    for (size_t i = 0; some && i < METRIC_SUMS_EPOCHS; i++)
        put_counts(b, &s->epochs_counts[i]);
    if (some)
        put_counts(b, &s->counts);
}

static void base_encode(buf *b, const completed_steps *s)
{
    record_begin(b);
    journal_put(b, (uint64_t)s->step, 8);
    journal_put(b, (uint64_t)s->examples, 8);
    journal_put_metrics(b, &s->last_step);
    journal_put_metrics(b, &s->epoch);
    for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++)
        journal_put_metrics(b, &s->epochs[i]);
    journal_put(b, (uint64_t)s->lost, 8);
    journal_put(b, (uint64_t)s->last_lost, 8);
    put_all_counts(b, s);
    record_end(b, JOURNAL_BASE);
}

/* --- bytes to records --- */

typedef struct cursor {
    const unsigned char *at;
    size_t left;
    bool bad;
} cursor;

static uint64_t journal_get(cursor *c, size_t bytes)
{
    uint64_t x = 0;
    if (c->left < bytes) {
        c->bad = true;
        return 0;
    }
    for (size_t i = bytes; i-- > 0;)
        x = x << 8 | c->at[i];
    c->at += bytes;
    c->left -= bytes;
    return x;
}

static double get_double(cursor *c)
{
    uint64_t bits = journal_get(c, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void get_metrics(cursor *c, metric_set *ret)
{
    size_t n = (size_t)journal_get(c, 1);
    *ret = (metric_set){.n = 0};
    c->bad |= n > METRIC_COUNT_MAX;
    for (size_t i = 0; !c->bad && i < n; i++) {
        char text[NAME_MOST + 1] = "";
        size_t bytes = (size_t)journal_get(c, 1);
        c->bad |= bytes > NAME_MOST;
        for (size_t k = 0; !c->bad && k < bytes; k++)
            text[k] = (char)journal_get(c, 1);
        const char *name = metric_known(text);
        double sum = get_double(c), count = get_double(c);
        if (!c->bad && name)
            metric_add(ret, name, sum, count);
    }
}

static void get_counts(cursor *c, epoch_counts *ret)
{
    size_t n = (size_t)journal_get(c, 4);
    c->bad |= n > c->left;
    if (c->bad)
        return;
    *ret = (epoch_counts){c->at, n};
    c->at += n;
    c->left -= n;
}

/* All that is left. */
static void get_report_counts(cursor *c, journal_record *ret)
{
    if (c->bad || !c->left)
        return;
    ret->counts = span_for_call(c->at, c->left);
    ret->report.counts = &ret->counts;
    c->left = 0;
}

static bool record_decode(journal_kind kind, const unsigned char *data, size_t bytes,
                          journal_record *ret)
{
    cursor c = {.at = data, .left = bytes};
    int64_t step = (int64_t)journal_get(&c, 8);
    ret->kind = kind;
    ret->report = (slot_report){.step = step};
    if (kind == JOURNAL_REPORT) {
        ret->report.slot = (uint32_t)journal_get(&c, 4);
        ret->report.examples = (int64_t)journal_get(&c, 8);
        get_metrics(&c, &ret->report.metrics);
        get_report_counts(&c, ret);
    } else if (kind == JOURNAL_BASE) {
        ret->base = (completed_steps){.step = step, .examples = (int64_t)journal_get(&c, 8)};
        get_metrics(&c, &ret->base.last_step);
        get_metrics(&c, &ret->base.epoch);
        for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++)
            get_metrics(&c, &ret->base.epochs[i]);
        if (c.left) {   /* 0.9 and earlier did not count them */
            ret->base.lost = (int64_t)journal_get(&c, 8);
            ret->base.last_lost = (int64_t)journal_get(&c, 8);
        }
        for (size_t i = 0; c.left && i < METRIC_SUMS_EPOCHS; i++)
            get_counts(&c, &ret->base.epochs_counts[i]);
        if (c.left)
            get_counts(&c, &ret->base.counts);
    }
    bool known = kind == JOURNAL_REPORT || kind == JOURNAL_BASE || kind == JOURNAL_CLOSED;
    return known && !c.bad && !c.left && step >= 0;
}

static void file_head(int version, uint64_t job_id, buf *ret)
{
    buf rest = BUF_INIT;
    buf_add(&rest, "TQJ", 3);
    journal_put(&rest, (uint64_t)version, 1);
    journal_put(&rest, job_id, 8);
    buf_add(ret, rest.data, 4);
    journal_put(ret, version > 1 ? crc32c(0, rest.data, rest.size) : 0, 4);
    buf_add(ret, rest.data + 4, 8);
    buf_fini(&rest);
}

/* 0: none of that job, or damage. */
static int journal_version(const fs_map *map, uint64_t job_id)
{
    buf head = BUF_INIT;
    int version = map->bytes >= FILE_HEAD ? map->data[3] : 0;
    file_head(version, job_id, &head);
    bool ours = version && memcmp(map->data, head.data, FILE_HEAD) == 0;
    buf_fini(&head);
    return ours ? version : 0;
}

/* The record at `at`; false: there is none, or no whole and sound one. */
static bool journal_find_record(const fs_map *map, size_t at, journal_record *ret)
{
    const unsigned char *p = map->data + at;
    size_t left = map->bytes - at;
    cursor c = {.at = p, .left = left};
    size_t bytes = (size_t)journal_get(&c, 4);
    journal_kind kind = (journal_kind)journal_get(&c, 4);
    uint32_t crc = (uint32_t)journal_get(&c, 4);
    if (c.bad || bytes > left - HEAD || crc != checksum(p, HEAD + bytes))
        return false;
    ret->begin = at;
    ret->end = at + HEAD + bytes;
    return record_decode(kind, p + HEAD, bytes, ret);
}

static status journal_walk(const char *path, const fs_map *map, uint64_t job_id, journal_visit *visit, void *user,
                           size_t *ret_end, error *err)
{
    journal_record r;
    int version = journal_version(map, job_id);
    if (version > VERSION)
        return FAIL(err, E_CONFIG, "'%s' is a journal of version %d, and this program reads those up to %d: go on with "
                    "the program that wrote it, or a newer one", path, version, VERSION);
    size_t at = version ? FILE_HEAD : 0;
    *ret_end = at;
    for (; at && journal_find_record(map, at, &r); *ret_end = at = r.end)
        visit(user, &r);
    return OK;
}

status journal_read(const char *path, uint64_t job_id, journal_visit *visit, void *user,
                    size_t *ret_end, error *err)
{
    fs_map map = {.data = NULL};
    *ret_end = 0;
    if (!fs_exists(path))
        return OK;
    TRY(fs_map_open(path, &map, err));
    status st = journal_walk(path, &map, job_id, visit, user, ret_end, err);
    fs_map_close(&map);
    return st;
}

/* --- the file --- */

static void note_base(journal *j, int64_t step, size_t offset)
{
    GROW(j->bases, j->cap_bases, j->n_bases + 1);
    j->bases[j->n_bases++] = (base_at){.step = step, .offset = offset};
    j->since_base = 0;
}

/* A whole new file, which is synced then. Its bases are to be noted by the caller. */
static status rewrite(journal *j, const buf *bytes, error *err)
{
    TRY(appender_rewrite(&j->file, bytes, err));
    j->n_bases = j->since_base = 0;
    return OK;
}

static size_t bytes_of(const journal *j)
{
    return (size_t)j->file.written + j->file.waiting.size;
}

static void append(journal *j)
{
    appender_put(&j->file, j->record.data, j->record.size);
    j->since_base++;
}

/* --- taking it back --- */

typedef struct choice {
    int64_t saved, oldest, until;
    size_t begin; /* of the newest BASE at or below `oldest`, else of the first up to `saved`; 0: none */
    int64_t step; /* that BASE's */
} choice;

static void choose_base(void *user, const journal_record *r)
{
    choice *c = user;
    if (r->kind == JOURNAL_BASE &&
        (r->base.step <= c->oldest || (!c->begin && r->base.step <= c->saved))) {
        c->begin = r->begin;
        c->step = r->base.step;
    }
}

static bool is_kept(const choice *c, const journal_record *r)
{
    if (r->begin <= c->begin)
        return r->begin == c->begin;
    return r->kind != JOURNAL_BASE && r->report.step >= c->step && r->report.step < c->until;
}

static status journal_take_back(journal *j, const fs_map *map, const choice *c, error *err)
{
    buf kept = BUF_INIT;
    file_head(VERSION, j->job_id, &kept);
    journal_record r;
    size_t n = 0;
    for (size_t at = FILE_HEAD; journal_find_record(map, at, &r); at = r.end)
        if (is_kept(c, &r)) {
            buf_add(&kept, map->data + at, r.end - r.begin);
            n++;
        }
    status st = rewrite(j, &kept, err);
    buf_fini(&kept);
    note_base(j, c->step, FILE_HEAD);
    j->since_base = n - 1;
    return st;
}

static status begin_anew(journal *j, const completed_steps *base, error *err)
{
    buf bytes = BUF_INIT;
    file_head(VERSION, j->job_id, &bytes);
    base_encode(&j->record, base);
    buf_add(&bytes, j->record.data, j->record.size);
    status st = rewrite(j, &bytes, err);
    buf_fini(&bytes);
    note_base(j, base->step, FILE_HEAD);
    return st;
}

static status open_or_begin(journal *j, const journal_place *place, const completed_steps *otherwise,
                            bool *ret_found, error *err)
{
    fs_map map = {.data = NULL};
    choice c = {
        .saved = place->saved, .oldest = place->saved - place->behind, .until = place->until};
    size_t end;
    if (fs_exists(place->path))
        TRY(fs_map_open(place->path, &map, err));
    status st = journal_walk(place->path, &map, place->job_id, choose_base, &c, &end, err);
    if (st == OK) {
        *ret_found = c.begin > 0;
        st = c.begin ? journal_take_back(j, &map, &c, err) : begin_anew(j, otherwise, err);
    }
    fs_map_close(&map);
    return st;
}

status journal_open(const journal_place *place, const completed_steps *otherwise, journal **ret,
                    bool *ret_found, error *err)
{
    journal *j = xcalloc(1, sizeof *j);
    j->file = (appender)APPENDER_INIT;
    j->file.path = xstrdup(place->path);
    j->job_id = place->job_id;
    status st = open_or_begin(j, place, otherwise, ret_found, err);
    if (st != OK)
        journal_close(&j);
    else
        *ret = j;
    return st;
}

void journal_close(journal **j)
{
    if (!j || !*j)
        return;
    appender_close(&(*j)->file);
    buf_fini(&(*j)->record);
    free((*j)->bases);
    free(*j);
    *j = NULL;
}

/* --- writing --- */

void journal_report(journal *j, const slot_report *r)
{
    record_begin(&j->record);
    journal_put(&j->record, (uint64_t)r->step, 8);
    journal_put(&j->record, r->slot, 4);
    journal_put(&j->record, (uint64_t)r->examples, 8);
    journal_put_metrics(&j->record, &r->metrics);
    buf_add(&j->record, span_data(r->counts), span_bytes(r->counts));
    record_end(&j->record, JOURNAL_REPORT);
    bool is_first = !j->file.waiting.size;
    append(j);
    if (j->file.waiting.size && (is_first || r->step < j->oldest_waiting))
        j->oldest_waiting = r->step;
}

void journal_closed(journal *j, int64_t step)
{
    record_begin(&j->record);
    journal_put(&j->record, (uint64_t)step, 8);
    record_end(&j->record, JOURNAL_CLOSED);
    append(j);
}

void journal_base(journal *j, const completed_steps *base)
{
    size_t offset = bytes_of(j);
    base_encode(&j->record, base);
    append(j);
    note_base(j, base->step, offset);
}

size_t journal_since_base(const journal *j)
{
    return j->since_base;
}

size_t journal_waiting(const journal *j)
{
    return j->file.waiting.size;
}

int64_t journal_oldest_waiting(const journal *j)
{
    return j->file.waiting.size ? j->oldest_waiting : INT64_MAX;
}

status journal_flush(journal *j, error *err)
{
    return appender_flush(&j->file, err);
}

status journal_sync(journal *j, error *err)
{
    return appender_sync(&j->file, err);
}

status journal_trim(journal *j, int64_t step, error *err)
{
    size_t newest = 0, n_bases = j->n_bases, since_base = j->since_base;
    while (newest + 1 < n_bases && j->bases[newest + 1].step <= step)
        newest++;
    if (newest == 0)
        return OK;
    fs_map map;
    TRY(appender_flush(&j->file, err));
    TRY(fs_map_open(j->file.path, &map, err));
    size_t from = j->bases[newest].offset, bytes = bytes_of(j);
    buf kept = BUF_INIT;
    file_head(VERSION, j->job_id, &kept);
    status st = map.bytes < bytes ? FAIL(err, E_DISK, "'%s' is cut short", j->file.path) : OK;
    if (st == OK) {
        buf_add(&kept, map.data + from, bytes - from);
        st = rewrite(j, &kept, err);
    }
    for (size_t i = newest; st == OK && i < n_bases; i++)
        note_base(j, j->bases[i].step, j->bases[i].offset - from + FILE_HEAD);
    j->since_base = since_base;
    buf_fini(&kept);
    fs_map_close(&map);
    return st;
}
