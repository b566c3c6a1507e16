#include "tune/trial_journal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MOST = 256 << 20 };

static status compare_heads(const char *path, const json_t *head, const json_t *there, error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)head, key, value)
        if (!json_equal(value, json_object_get(there, key))) {
            const json_t *before = json_object_get(there, key);
            char *was = before ? json_dumps(before, JSON_ENCODE_ANY) : xstrdup("nothing");
            char *is = json_dumps(value, JSON_ENCODE_ANY);
            status st = FAIL(err, E_CONFIG, "'%s' has another search: its %s is %.200s, not %.200s; give another "
                             "folder, or --force to begin anew", path, key, was, is);
            free(was);
            free(is);
            return st;
        }
    return OK;
}

static status take_line(const char *path, int number, const char *line, size_t bytes, const json_t *head, study *s,
                        error *err)
{
    json_t *record = NULL;
    status st = json_parse(line, bytes, path, E_DATA, &record, err);
    if (st == OK && number == 1)
        st = compare_heads(path, head, record, err);
    else if (st == OK)
        st = study_take(s, record, err);
    json_decref(record);
    if (st == E_DATA)
        error_prepend(err, "%s:%d", path, number);
    return st;
}

/* *ret_whole: how many bytes are whole lines. */
static status read_lines(const char *path, const json_t *head, study *s, size_t *ret_whole, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read(path, BYTES_MOST, &text, err);
    size_t at = 0;
    for (int number = 1; st == OK; number++) {
        const char *end = text.size > at ? memchr(text.data + at, '\n', text.size - at) : NULL;
        if (!end)
            break;
        st = take_line(path, number, text.data + at, (size_t)(end - text.data) - at, head, s, err);
        at = (size_t)(end - text.data) + 1;
    }
    buf_fini(&text);
    *ret_whole = at;
    return st;
}

static status append(trial_journal *j, const json_t *record, error *err)
{
    char *line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(STUDY_DIGITS));
    appender_add(&j->file, line, strlen(line));
    appender_add(&j->file, "\n", 1);
    free(line);
    TRY(appender_flush(&j->file, err));
    return appender_sync(&j->file, err);
}

status trial_journal_open(trial_journal *j, const char *path, const json_t *head, study *s, error *err)
{
    size_t whole = 0;
    bool is_there = fs_exists(path);
    if (is_there)
        TRY(read_lines(path, head, s, &whole, err));
    if (is_there && truncate(path, (off_t)whole))
        return fs_fail(err, "cut to whole lines", path);
    TRY(appender_open(&j->file, path, false, err));
    return whole ? OK : append(j, head, err);
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
