#include "common/store/lockfile.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4096 };

static int whole_file(int fd, int command, struct flock *ret)
{
    *ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, ret);
}

static status fail_held(const char *path, error *err)
{
    buf holder = BUF_INIT;
    bool known = fs_read(path, TEXT_MAX, &holder, NULL) == OK && holder.size;
    status st = FAIL(err, E_USAGE, "in use by %s%s; one master at a time",
                     known ? "process " : "another process", known ? holder.data : "");
    buf_fini(&holder);
    return st;
}

static status sign(int fd, const char *path, error *err)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "an unnamed host");
    if (ftruncate(fd, 0) != 0)
        return FAIL(err, E_IO, "write '%s': %s", path, strerror(errno));
    buf text = BUF_INIT;
    buf_addf(&text, "%ld on %s", (long)getpid(), host);
    status st = fs_write_all(fd, text.data, text.size, path, err);
    buf_fini(&text);
    return st;
}

status lockfile_take(const char *path, int *ret_fd, error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return FAIL(err, E_IO, "create '%s': %s", path, strerror(errno));
    status st = OK;
    struct flock lock;
    if (whole_file(fd, F_OFD_SETLK, &lock) == 0)
        st = sign(fd, path, err);
    else if (errno == EAGAIN || errno == EACCES)
        st = fail_held(path, err);
    else
        st = FAIL(err, E_IO, "lock '%s': %s", path, strerror(errno));
    if (st != OK) {
        close(fd);
        return st;
    }
    *ret_fd = fd;
    return OK;
}

void lockfile_release(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

char *lockfile_holder(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct flock lock;
    bool held = whole_file(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    buf text = BUF_INIT;
    if (!held || fs_read(path, TEXT_MAX, &text, NULL) != OK) {
        buf_fini(&text);
        return held ? xstrdup("") : NULL;
    }
    return buf_detach(&text);
}
