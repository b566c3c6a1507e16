/*
 * A disk that errs: preloaded into a program, lets one call that would change files fail.
 *
 *   LD_PRELOAD=bad_disk.so BAD_DISK=DIR BAD_DISK_CALL=N BAD_DISK_WHY=ENOSPC|EIO PROGRAM...
 *
 * Counted are, in the order they are made, calls on what lies under DIR: open for writing, write,
 * pwrite, fsync, mkdir of what is not there, rename and renameat2. The N-th and only it fails; at
 * the end of the process DIR.calls says how many there were.
 *
 * With BAD_DISK_FILE=FILE and BAD_DISK_FROM=N FILE is besides never replaced by a rename again, from the N-th time on:
 * there is no room.
 *
 * With BAD_DISK_FLAT DIR is besides as Cloud Storage is behind FUSE: its folders cannot be renamed,
 * nor can files while they are open.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static atomic_long calls;

static bool is_ours(const char *path)
{
    const char *dir = getenv("BAD_DISK");
    size_t n = dir ? strlen(dir) : 0;
    return n && path && strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool is_ours_fd(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return is_ours(path);
}

/* Counts the call; true: this one fails, errno is set. */
static bool fails(bool ours)
{
    const char *which = getenv("BAD_DISK_CALL"), *why = getenv("BAD_DISK_WHY");
    if (!ours || atomic_fetch_add(&calls, 1) + 1 != (which ? atol(which) : 0))
        return false;
    errno = why && strcmp(why, "EIO") == 0 ? EIO : ENOSPC;
    return true;
}

__attribute__((destructor)) static void tell(void)
{
    const char *dir = getenv("BAD_DISK");
    char path[4096];
    if (!dir || !atomic_load(&calls))
        return;
    snprintf(path, sizeof path, "%s.calls", dir);
    FILE *f = fopen(path, "w");
    if (f) {
        fprintf(f, "%ld\n", atomic_load(&calls));
        fclose(f);
    }
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (fails((flags & (O_WRONLY | O_RDWR | O_CREAT)) && is_ours(path)))
        return -1;
    return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    return fails(is_ours_fd(fd)) ? -1 : REAL(write)(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return fails(is_ours_fd(fd)) ? -1 : REAL(pwrite)(fd, data, bytes, at);
}

int fsync(int fd)
{
    return fails(is_ours_fd(fd)) ? -1 : REAL(fsync)(fd);
}

int mkdir(const char *path, mode_t mode)
{
    struct stat info;
    bool makes = is_ours(path) && stat(path, &info) != 0;
    return fails(makes) ? -1 : REAL(mkdir)(path, mode);
}

static bool is_open(const struct stat *file)
{
    struct stat info;
    for (int fd = 0; fd < 256; fd++)
        if (fstat(fd, &info) == 0 && info.st_dev == file->st_dev && info.st_ino == file->st_ino)
            return true;
    return false;
}

/* Whether it cannot be renamed; errno is set then. */
static bool is_flat(const char *from, int for_folders)
{
    struct stat info;
    if (!getenv("BAD_DISK_FLAT") || !is_ours(from) || stat(from, &info) != 0 ||
        (!S_ISDIR(info.st_mode) && !is_open(&info)))
        return false;
    errno = S_ISDIR(info.st_mode) ? for_folders : EOPNOTSUPP;
    return true;
}

/* Whether the file is not to be replaced any more; errno is set then. */
static bool is_kept(const char *to)
{
    static atomic_long times;
    const char *file = getenv("BAD_DISK_FILE"), *from = getenv("BAD_DISK_FROM");
    if (!file || strcmp(to, file) != 0 || atomic_fetch_add(&times, 1) + 1 < (from ? atol(from) : 1))
        return false;
    errno = ENOSPC;
    return true;
}

int rename(const char *from, const char *to)
{
    if (is_kept(to))
        return -1;
    if (is_flat(from, EMFILE))
        return -1;
    return fails(is_ours(to)) ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (is_kept(to))
        return -1;
    if (is_flat(from, EINVAL))
        return -1;
    return fails(is_ours(to)) ? -1 : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}
