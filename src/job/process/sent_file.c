#include "job/process/sent_file.h"

#include "common/base/fs.h"
#include "common/base/hash.h"
#include "job/process/short_command.h"

#include <stdio.h>
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
    if (is_there) {
        char digest[SHA256_HEX];
        sha256_hex(file.data, file.bytes, digest);
        buf_addf(&head, SENT_FILE "%zu %s\n", file.bytes, digest);
    } else {
        buf_adds(&head, SENT_NONE "\n");
    }
    status st = fs_write_all(STDOUT_FILENO, head.data, head.size, "standard output", err);
    if (st == OK && file.bytes)
        st = fs_write_all(STDOUT_FILENO, file.data, file.bytes, "standard output", err);
    buf_fini(&head);
    if (is_there)
        fs_map_close(&file);
    return st;
}

enum { LINE_MOST = 256 }; /* a longer one is none of ours */

typedef struct receiving {
    const char *path;
    int to;
    buf line; /* what has come of the line before the bytes */
    bool is_none, has_head;
    unsigned long long bytes, taken;
    char digest[SHA256_HEX]; /* "": none was sent */
    sha256 hash;
    status written;
    error why;
} receiving;

static void take_line(receiving *r)
{
    const char *line = r->line.size <= LINE_MOST && r->line.data ? r->line.data : "";
    char digest[SHA256_HEX] = "";
    if (strncmp(line, SENT_NONE, strlen(SENT_NONE)) == 0)
        r->is_none = true;
    if (strncmp(line, SENT_FILE, strlen(SENT_FILE)) == 0)
        r->has_head = sscanf(line + strlen(SENT_FILE), "%llu %64[0-9a-f]", &r->bytes, digest) >= 1;
    if (r->has_head && strlen(digest) == SHA256_HEX - 1)
        memcpy(r->digest, digest, sizeof digest);
    buf_clear(&r->line);
}

/* How many of the bytes belong to lines before the file's. */
static size_t take_lines(receiving *r, const char *bytes, size_t n)
{
    size_t at = 0;
    while (at < n && !r->has_head) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t part = end ? (size_t)(end - bytes) - at : n - at;
        if (r->line.size <= LINE_MOST)
            buf_add(&r->line, bytes + at, part);
        at += part + (end ? 1 : 0);
        if (end)
            take_line(r);
    }
    return at;
}

static bool receive(void *user, const char *bytes, size_t n)
{
    receiving *r = user;
    size_t head = take_lines(r, bytes, n);
    bytes += head;
    n -= head;
    r->taken += n;
    if (!n)
        return true;
    if (r->taken > r->bytes)
        return false;
    sha256_add(&r->hash, bytes, n);
    r->written = fs_write_all(r->to, bytes, n, r->path, &r->why);
    return r->written == OK;
}

/* Of a command that has come to its end. */
static status check(const receiving *r, const sent_file_sender *from, const char *digest, int code, const char *words,
                    error *err)
{
    const char *apart = *words ? "; " : "";
    if (r->written != OK)
        return FAIL(err, r->written, "%s", r->why.text);
    if (r->has_head && r->taken > r->bytes)
        return FAIL(err, E_IO, "more than the %llu bytes of '%s' came, %s%s%s", r->bytes, r->path, from->where, apart,
                    words);
    if (code)
        return FAIL(err, E_FAIL, "%s: %s", from->who, *words ? words : "it failed without a word");
    if (r->is_none && !r->has_head)
        return FAIL(err, E_DATA, "'%s' is not there, %s", r->path, from->where);
    if (!r->has_head || r->taken < r->bytes)
        return FAIL(err, E_IO, "'%s' did not come whole, %s: %llu of %llu bytes%s%s", r->path, from->where, r->taken,
                    r->bytes, apart, words);
    if (*r->digest && strcmp(r->digest, digest) != 0)
        return FAIL(err, E_IO, "'%s' came with other bytes than were sent, %s: SHA-256 %s, not %s%s%s", r->path,
                    from->where, digest, r->digest, apart, words);
    return OK;
}

status sent_file_receive(const sent_file_sender *from, const char *path, int to, int *ret_code, error *err)
{
    receiving r = {.path = path, .to = to, .line = BUF_INIT, .why = ERROR_INIT};
    char digest[SHA256_HEX], *words = NULL;
    if (ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) != 0)
        return fs_fail(err, "empty the copy of", path);
    sha256_begin(&r.hash);
    status st = short_command_stream(from->argv, from->input, receive, &r, &words, ret_code, err);
    sha256_end(&r.hash, digest);
    if (st == OK)
        st = check(&r, from, digest, *ret_code, words, err);
    free(words);
    buf_fini(&r.line);
    return st;
}
