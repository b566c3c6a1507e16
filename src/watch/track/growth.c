#include "watch/track/growth.h"

#include "common/base/fs.h"
#include "common/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static status read_at(int fd, const char *path, int64_t from, size_t most, buf *ret, error *err)
{
    buf_reserve(ret, most + 1);
    while (ret->size < most) {
        ssize_t n = pread(fd, ret->data + ret->size, most - ret->size, from + (int64_t)ret->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fs_fail(err, "read", path);
        if (n == 0)
            break;
        ret->size += (size_t)n;
    }
    ret->data[ret->size] = '\0';
    return OK;
}

static json_t *parse(const char *line, size_t bytes)
{
    json_t *value = NULL;
    if (json_parse(line, bytes, "a line", E_DATA, &value, NULL) != OK)
        return NULL;
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

static int64_t step_of(const json_t *line)
{
    const json_t *step = json_object_get(line, "step");
    return json_is_integer(step) ? json_integer_value(step) : -1;
}

/* Where to read on: behind the line of the last step that was read, if that is still there. */
static int64_t valid_offset(int fd, growth_place from)
{
    buf text = BUF_INIT;
    size_t bytes = from.offset > from.begin && from.begin >= 0 ? (size_t)(from.offset - from.begin) : 0;
    json_t *line = NULL;
    if (bytes && bytes <= GROWTH_LINE_MOST && read_at(fd, "", from.begin, bytes, &text, NULL) == OK &&
        text.size == bytes && text.data[bytes - 1] == '\n')
        line = parse(text.data, bytes - 1);
    bool is_same = line && step_of(line) == from.step;
    json_decref(line);
    buf_fini(&text);
    return is_same ? from.offset : 0;
}

status growth_open(const char *path, growth_place from, growth *ret, error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return fs_fail(err, "open", path);
    *ret = (growth){.fd = fd, .path = path, .place = from, .at = fd >= 0 ? valid_offset(fd, from) : 0};
    return OK;
}

void growth_close(growth *g)
{
    if (g->fd >= 0)
        close(g->fd);
    buf_fini(&g->text);
    g->fd = -1;
}

/* A block from the first byte that was not used on, or as much as the line there takes. *ret_end: of the line; NULL: it
 * is not whole so far. */
static status read_block(growth *g, const char **ret_end, error *err)
{
    g->at += (int64_t)g->used;
    g->used = 0;
    *ret_end = NULL;
    for (size_t most = GROWTH_BLOCK; most <= GROWTH_LINE_MOST; most *= 2) {
        buf_clear(&g->text);
        TRY(read_at(g->fd, g->path, g->at, most, &g->text, err));
        *ret_end = memchr(g->text.data, '\n', g->text.size);
        if (*ret_end || g->text.size < most)
            return OK;
    }
    return FAIL(err, E_DATA, "'%s': a line of more than %d bytes at byte %lld", g->path, GROWTH_LINE_MOST,
                (long long)g->at);
}

status growth_next(growth *g, json_t **ret, error *err)
{
    *ret = NULL;
    while (g->fd >= 0) {
        size_t left = g->text.size - g->used;
        const char *end = left ? memchr(g->text.data + g->used, '\n', left) : NULL;
        if (!end)
            TRY(read_block(g, &end, err));
        if (!end)
            return OK;
        const char *line = g->text.data + g->used;
        size_t bytes = (size_t)(end - line);
        json_t *value = parse(line, bytes);
        growth_place place = {g->at + (int64_t)g->used, g->at + (int64_t)(g->used + bytes) + 1, step_of(value)};
        g->used += bytes + 1;
        if (value) {
            g->place = place;
            *ret = value;
            return OK;
        }
    }
    return OK;
}

json_t *growth_last(const char *path)
{
    buf text = BUF_INIT;
    json_t *line = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = size > GROWTH_BLOCK ? size - GROWTH_BLOCK : 0;
    const char *end = NULL;
    if (size > 0 && read_at(fd, path, from, (size_t)(size - from), &text, NULL) == OK)
        end = memrchr(text.data, '\n', text.size);
    if (end) {
        const char *before = memrchr(text.data, '\n', (size_t)(end - text.data));
        const char *begin = before ? before + 1 : text.data;
        line = parse(begin, (size_t)(end - begin)); /* the end of a longer one is none */
    }
    if (fd >= 0)
        close(fd);
    buf_fini(&text);
    return line;
}
