#include "common/store/appender.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

static status appender_open_file(appender *a, int flags, off_t *ret_bytes, error *err)
{
    struct stat info;
    int fd = open(a->path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int failure = errno;
        status st = fs_fail(err, "open", a->path);
        if (fd >= 0)
            close(fd);
        errno = failure;
        return st;
    }
    if (a->fd >= 0)
        close(a->fd);
    a->fd = fd;
    *ret_bytes = info.st_size;
    return OK;
}

status appender_open(appender *a, const char *path, bool fresh, error *err)
{
    *a = (appender)APPENDER_INIT;
    a->path = xstrdup(path);
    return appender_open_file(a, O_CREAT | (fresh ? O_EXCL : 0), &a->written, err);
}

void appender_close(appender *a)
{
    if (a->fd >= 0)
        close(a->fd);
    buf_fini(&a->waiting);
    free(a->path);
    *a = (appender)APPENDER_INIT;
}

void appender_add(appender *a, const void *data, size_t bytes)
{
    buf_add(&a->waiting, data, bytes);
}

void appender_put(appender *a, const void *data, size_t bytes)
{
    appender_add(a, data, bytes);
    if (!a->failed && appender_flush(a, NULL) != OK)
        return; /* it is noted, and waits */
}

/* After a failure: no half record stays, and an open file that its server has forgotten is opened anew. */
static status mend(appender *a, error *err)
{
    struct stat info;
    off_t bytes = a->written;
    if (fstat(a->fd, &info) != 0)
        TRY(appender_open_file(a, 0, &bytes, err));
    if (bytes < a->written)
        return FAIL(err, E_DISK, "'%s' has lost what was written: %lld bytes of %lld are there", a->path,
                    (long long)bytes, (long long)a->written);
    return ftruncate(a->fd, a->written) == 0 ? OK : fs_fail(err, "cut back", a->path);
}

status appender_flush(appender *a, error *err)
{
    if (!a->waiting.size)
        return OK;
    status st = a->failed ? mend(a, err) : OK;
    if (st == OK)
        st = fs_write_all(a->fd, a->waiting.data, a->waiting.size, a->path, err);
    a->failed = st != OK;
    if (st != OK && mend(a, NULL) != OK)
        error_prepend(err, "'%s' cannot be cut back to whole records now", a->path);
    TRY(st);
    a->written += (off_t)a->waiting.size;
    a->unsynced = true;
    buf_clear(&a->waiting);
    return OK;
}

/* The name is another file's by now. */
static bool is_replaced(const appender *a)
{
    struct stat here, there;
    return a->fd >= 0 && fstat(a->fd, &here) == 0 && stat(a->path, &there) == 0 &&
           here.st_ino != there.st_ino;
}

status appender_rewrite(appender *a, const buf *bytes, error *err)
{
    off_t there;
    status st = fs_write_atomic(a->path, bytes->data, bytes->size, err);
    if (st != OK && !is_replaced(a))
        return st; /* else it failed behind the rename: the new file is the one that counts */
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    a->failed = appender_open_file(a, 0, &there, NULL) != OK; /* the next flush tries again */
    a->written = (off_t)bytes->size;
    a->unsynced = a->is_doubtful = false;
    buf_clear(&a->waiting);
    return OK;
}

/* What is in the file is written once more over itself. */
static status write_again(appender *a, int fd, error *err)
{
    static const size_t piece = PIECE;
    char *data = xcalloc(piece, 1);
    status st = OK;
    ssize_t n = 1;
    for (off_t at = 0; st == OK && n > 0 && at < a->written; at += n) {
        size_t left = (size_t)(a->written - at);
        n = pread(fd, data, left < piece ? left : piece, at);
        if (n < 0 || pwrite(fd, data, (size_t)n, at) != n)
            st = fs_fail(err, "write again", a->path);
    }
    free(data);
    return st;
}

static status clear_doubts(appender *a, error *err)
{
    int fd = open(a->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fs_fail(err, "open", a->path);
    status st = write_again(a, fd, err);
    close(fd);
    a->is_doubtful = st != OK;
    return st;
}

status appender_sync(appender *a, error *err)
{
    if (a->is_doubtful)
        TRY(clear_doubts(a, err));
    if (!a->unsynced)
        return OK;
    if (fdatasync(a->fd) != 0) {
        a->is_doubtful = true;
        return fs_fail(err, "sync", a->path);
    }
    a->unsynced = false;
    return OK;
}
