#include "job/process/sent_file.h"

#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

status sent_file_write(const char *path, error *err)
{
    fs_map file = {.data = NULL};
    buf head = BUF_INIT;
    bool is_there = fs_exists(path);
    if (is_there)
        TRY(fs_map_open(path, &file, err));
    if (is_there)
        buf_addf(&head, SENT_FILE "%zu\n", file.bytes);
    else
        buf_adds(&head, SENT_NONE "\n");
    status st = fs_write_all(STDOUT_FILENO, head.data, head.size, "standard output", err);
    if (st == OK && file.bytes)
        st = fs_write_all(STDOUT_FILENO, file.data, file.bytes, "standard output", err);
    buf_fini(&head);
    if (is_there)
        fs_map_close(&file);
    return st;
}

/* Where a line begins so; NULL: none does. */
static const char *line_with(const buf *said, const char *word)
{
    const char *at = said->data, *end = said->data + said->size;
    size_t n = strlen(word);
    while (at && at + n <= end) {
        if (memcmp(at, word, n) == 0)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return NULL;
}

status sent_file_take(const buf *said, const char *path, const char *where, buf *ret, error *err)
{
    const char *head = said->size ? line_with(said, SENT_FILE) : NULL;
    const char *body = head ? memchr(head, '\n', (size_t)(said->data + said->size - head)) : NULL;
    unsigned long long bytes = head ? strtoull(head + strlen(SENT_FILE), NULL, 10) : 0;
    if (!head && said->size && line_with(said, SENT_NONE))
        return FAIL(err, E_DATA, "'%s' is not there, %s", path, where);
    if (!body || bytes > (unsigned long long)(said->data + said->size - body - 1))
        return FAIL(err, E_IO, "'%s' did not come whole, %s", path, where);
    buf_add(ret, body + 1, (size_t)bytes);
    return OK;
}
