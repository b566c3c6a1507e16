#include "tune/trial_journal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MOST = 256 << 20 };

typedef struct reading {
    const char *path;
    const json_t *head;  /* what its first record must have */
    const char *advice;  /* where that has another value */
    study *study;
    json_t *found;       /* its first record */
} reading;

static status compare_heads(const reading *r, error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)r->head, key, value)
        if (!json_equal(value, json_object_get(r->found, key))) {
            const json_t *before = json_object_get(r->found, key);
            char *was = before ? json_dumps(before, JSON_ENCODE_ANY) : xstrdup("nothing");
            char *is = json_dumps(value, JSON_ENCODE_ANY);
            status st = FAIL(err, E_CONFIG, "'%s' has another search: its %s is %.200s, not %.200s; %s", r->path, key,
                             was, is, r->advice);
            free(was);
            free(is);
            return st;
        }
    return OK;
}

static status take_line(reading *r, int number, const char *line, size_t bytes, error *err)
{
    json_t *record = NULL;
    status st = json_parse(line, bytes, r->path, E_DATA, &record, err);
    if (st == OK && number == 1) {
        r->found = json_incref(record);
        st = compare_heads(r, err);
    } else if (st == OK) {
        st = study_take(r->study, record, err);
    }
    json_decref(record);
    if (st == E_DATA)
        error_prepend(err, "%s:%d", r->path, number);
    return st;
}

/* *ret_whole: how many bytes are whole lines. */
static status read_lines(reading *r, size_t *ret_whole, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read(r->path, BYTES_MOST, &text, err);
    size_t at = 0;
    for (int number = 1; st == OK; number++) {
        const char *end = text.size > at ? memchr(text.data + at, '\n', text.size - at) : NULL;
        if (!end)
            break;
        st = take_line(r, number, text.data + at, (size_t)(end - text.data) - at, err);
        at = (size_t)(end - text.data) + 1;
    }
    buf_fini(&text);
    *ret_whole = at;
    return st;
}

static void write_line(const json_t *record, buf *ret)
{
    char *line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(STUDY_DIGITS));
    buf_adds(ret, line);
    buf_adds(ret, "\n");
    free(line);
}

static status append(trial_journal *j, const json_t *record, error *err)
{
    buf line = BUF_INIT;
    write_line(record, &line);
    appender_add(&j->file, line.data, line.size);
    buf_fini(&line);
    TRY(appender_flush(&j->file, err));
    return appender_sync(&j->file, err);
}

/* A new journal, and what stands in it into the study. */
static status begin(const char *path, const json_t *head, const json_t *begins, study *s, error *err)
{
    buf text = BUF_INIT;
    size_t i;
    json_t *record;
    status st = OK;
    write_line(head, &text);
    json_array_foreach(begins, i, record) {
        write_line(record, &text);
        st = st == OK ? study_take(s, record, err) : st;
    }
    if (st == OK)
        st = fs_write_atomic(path, text.data, text.size, err);
    buf_fini(&text);
    return st;
}

status trial_journal_open(trial_journal *j, const char *path, const json_t *head, const json_t *begins, study *s,
                          error *err)
{
    size_t whole = 0;
    reading r = {.path = path, .head = head, .study = s,
                 .advice = "give another folder, or --force to begin anew"};
    bool is_there = fs_exists(path);
    status st = is_there ? read_lines(&r, &whole, err) : OK;
    json_decref(r.found);
    TRY(st);
    if (!whole)
        TRY(begin(path, head, begins, s, err));
    else if (truncate(path, (off_t)whole))
        return fs_fail(err, "cut to whole lines", path);
    return appender_open(&j->file, path, false, err);
}

status trial_journal_read(const char *path, const json_t *head, study *s, json_t **ret_head, error *err)
{
    size_t whole = 0;
    reading r = {.path = path, .head = head, .study = s, .advice = "its trials tell nothing here"};
    status st = read_lines(&r, &whole, err);
    if (st == OK)
        *ret_head = r.found;
    else
        json_decref(r.found);
    return st;
}

bool trial_journal_has_begun(const char *path)
{
    buf text = BUF_INIT;
    bool has = fs_exists(path) && fs_read(path, BYTES_MOST, &text, NULL) == OK && text.size &&
               memchr(text.data, '\n', text.size);
    buf_fini(&text);
    return has;
}

void trial_journal_close(trial_journal *j)
{
    appender_close(&j->file);
}

status trial_journal_add(trial_journal *j, study *s, const json_t *record, error *err)
{
    TRY(append(j, record, err));
    status st = study_take(s, record, err);
    if (st != OK)
        BUG("a record of our own that does not fit: %s", err ? err->text : "");
    return OK;
}
