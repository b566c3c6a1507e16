#include "common/store/timeline.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/appender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MOST = 4 << 20, FILE_KEPT = FILE_MOST / 2, WAITING_MOST = 256 << 10, LINE_MEAN = 1 << 10 };

struct timeline {
    const jobdir *dir;
    appender file;          /* without a descriptor until the file could be made */
    int64_t left_out;       /* since the last line */
};

static const char *const kind_names[] = {
    [TIMELINE_START] = "start",
    [TIMELINE_JOIN] = "join",
    [TIMELINE_WHOLE] = "whole",
    [TIMELINE_SUSPECT] = "suspect",
    [TIMELINE_LOST] = "lost",
    [TIMELINE_HUNG] = "hung",
    [TIMELINE_REFUSED] = "refused",
    [TIMELINE_RUN] = "run",
    [TIMELINE_TURN] = "turn",
    [TIMELINE_ROLLBACK] = "rollback",
    [TIMELINE_BACKED] = "backed",
    [TIMELINE_HEDGE] = "hedge",
    [TIMELINE_IN_TIME] = "in_time",
    [TIMELINE_CHECKPOINT] = "checkpoint",
    [TIMELINE_CHECKPOINT_FAILED] = "checkpoint_failed",
    [TIMELINE_DAMAGED] = "damaged",
    [TIMELINE_EVALUATION] = "evaluation",
    [TIMELINE_EARLY_STOP] = "early_stop",
    [TIMELINE_DISK] = "disk",
    [TIMELINE_DISK_WELL] = "disk_well",
    [TIMELINE_PREEMPT] = "preempt",
    [TIMELINE_END] = "end",
};

/* --- reading --- */

/* Whole lines: the last ones that fit into `most` bytes. Nothing of a file that is not there. */
static status read_tail(const char *path, size_t most, buf *ret, error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? OK : fs_fail(err, "open", path);
    ssize_t n = fstat(fd, &info) == 0 ? 0 : -1;
    off_t at = n == 0 && (uintmax_t)info.st_size > most ? info.st_size - (off_t)most : 0;
    bool is_cut = at > 0;
    buf_reserve(ret, most + 1);
    while (n >= 0 && ret->size < most &&
           (n = pread(fd, ret->data + ret->size, most - ret->size, at + (off_t)ret->size)) > 0)
        ret->size += (size_t)n;
    status st = n < 0 ? fs_fail(err, "read", path) : OK;
    close(fd);
    while (ret->size && ret->data[ret->size - 1] != '\n')
        ret->size--;
    const char *first = is_cut && ret->size ? memchr(ret->data, '\n', ret->size) : NULL;
    if (first) {
        ret->size -= (size_t)(first + 1 - ret->data);
        memmove(ret->data, first + 1, ret->size);
    }
    return st;
}

static void take_line(const char *line, size_t bytes, size_t most, json_t *list)
{
    json_t *event = NULL;
    if (json_parse(line, bytes, TIMELINE_FILE, E_DATA, &event, NULL) == OK && json_is_object(event))
        json_array_append(list, event);
    json_decref(event);
    if (json_array_size(list) > most)
        json_array_remove(list, 0);
}

status timeline_read(const jobdir *d, size_t most, json_t **ret, error *err)
{
    buf text = BUF_INIT;
    char *path = jobdir_file(d, TIMELINE_FILE);
    size_t bytes = most < FILE_MOST / LINE_MEAN ? most * LINE_MEAN : FILE_MOST;
    status st = read_tail(path, bytes, &text, err);
    free(path);
    json_t *list = json_array();
    const char *end, *last = text.data + text.size;
    for (const char *line = text.data; st == OK && line < last; line = end + 1) {
        end = memchr(line, '\n', (size_t)(last - line));
        take_line(line, (size_t)(end - line), most, list);
    }
    buf_fini(&text);
    if (st == OK)
        *ret = list;
    else
        json_decref(list);
    return st;
}

/* --- writing --- */

timeline *timeline_begin(const jobdir *d)
{
    timeline *t = xcalloc(1, sizeof *t);
    t->dir = d;
    t->file = (appender)APPENDER_INIT;
    return t;
}

void timeline_end(timeline **t)
{
    if (!*t)
        return;
    timeline_flush(*t);
    appender_close(&(*t)->file);
    free(*t);
    *t = NULL;
}

/* A new file with what is kept of the one before: a frozen master that thaws writes into the old. */
static status begin_file(timeline *t, error *err)
{
    buf kept = BUF_INIT, waiting = t->file.waiting;
    char *path = jobdir_file(t->dir, TIMELINE_FILE);
    t->file.waiting = (buf)BUF_INIT;
    appender_close(&t->file);
    status st = jobdir_check_ours(t->dir, err);
    if (st == OK)
        st = read_tail(path, FILE_KEPT, &kept, err);
    if (st == OK)
        st = fs_write_atomic(path, kept.data ? kept.data : "", kept.size, err);
    if (st == OK)
        st = appender_open(&t->file, path, false, err);
    if (st != OK)
        appender_close(&t->file);
    t->file.failed = st != OK;
    t->file.waiting = waiting;
    buf_fini(&kept);
    free(path);
    return st;
}

void timeline_flush(timeline *t)
{
    error why = ERROR_INIT;
    status st = OK;
    if (!t->file.waiting.size)
        return;
    if (t->file.fd < 0 || t->file.written > FILE_MOST)
        st = begin_file(t, &why);
    if (st == OK)
        st = appender_flush(&t->file, &why);
    if (st != OK)
        LOG_D("NOT_TOLD", "%s", why.text); /* a disk that takes nothing is waited for where something counts */
}

static void set_word(json_t *o, const char *key, const char *word)
{
    if (word)
        json_object_set_new(o, key, json_words(word));
}

static void add_line(timeline *t, const json_t *line)
{
    char *text = json_text(line);
    size_t n = strlen(text);
    text[n] = '\n'; /* takes the place of the terminating zero */
    appender_add(&t->file, text, n + 1);
    free(text);
}

void timeline_add(timeline *t, const timeline_event *e)
{
    struct timespec now;
    if (t->file.waiting.size > WAITING_MOST) {
        t->left_out++;
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    json_t *o = json_pack("{s:f, s:s, s:I, s:I}", "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9, "kind",
                          kind_names[e->kind], "start", (json_int_t)e->start, "era", (json_int_t)e->era);
    if (e->step >= 0)
        json_object_set_new(o, "step", json_integer(e->step));
    if (t->left_out)
        json_object_set_new(o, "left_out", json_integer(t->left_out));
    set_word(o, "task", e->task);
    set_word(o, "text", e->text);
    t->left_out = 0;
    add_line(t, o);
    json_decref(o);
    if (!t->file.failed) /* else the next flush tries again */
        timeline_flush(t);
}
