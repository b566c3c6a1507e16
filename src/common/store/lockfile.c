#include "common/store/lockfile.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MAX = 4096, LOOK_MS = 50, TELL_US = 1500000 };

static int whole_file(int fd, int command, struct flock *ret)
{
    *ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, ret);
}

/* As NFS without a lock daemon, and some of FUSE. */
static bool is_without_locks(int failure)
{
    return failure == ENOLCK || failure == EOPNOTSUPP || failure == ENOSYS || failure == EINVAL;
}

static status fail_held(const char *path, error *err)
{
    buf holder = BUF_INIT;
    bool known = fs_read(path, TEXT_MAX, &holder, NULL) == OK && holder.size;
    status st = FAIL(err, E_BUSY, "in use by %s%s; one master at a time",
                     known ? "process " : "another process", known ? holder.data : "");
    buf_fini(&holder);
    return st;
}

/* For people: a holder without a name holds it all the same. */
static void sign(int fd, const char *path)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "an unnamed host");
    buf text = BUF_INIT;
    buf_addf(&text, "%ld on %s", (long)getpid(), host);
    status st = ftruncate(fd, 0) == 0 ? fs_write_all(fd, text.data, text.size, path, NULL) : E_IO;
    (void)st;
    buf_fini(&text);
}

/* --- looking --- */

typedef struct trace {
    dev_t device;
    ino_t inode;
    struct timespec touched;
    off_t bytes;
} trace;

/* Opened each time: a file system of the network asks its server only then. False: not there. */
static bool look(const char *path, trace *ret)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool seen = fd >= 0 && fstat(fd, &s) == 0;
    if (fd >= 0)
        close(fd);
    if (seen)
        *ret = (trace){s.st_dev, s.st_ino, s.st_mtim, s.st_size};
    return seen;
}

static bool is_same_file(const trace *a, const trace *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool is_untouched(const trace *a, const trace *b)
{
    return is_same_file(a, b) && a->touched.tv_sec == b->touched.tv_sec &&
           a->touched.tv_nsec == b->touched.tv_nsec && a->bytes == b->bytes;
}

uint64_t lockfile_trace(const char *path)
{
    trace t;
    if (!look(path, &t))
        return 0;
    uint64_t when = (uint64_t)t.touched.tv_sec * 1000000000u + (uint64_t)t.touched.tv_nsec;
    return rng_mix(rng_mix(when, (uint64_t)t.bytes), (uint64_t)t.inode) | 1;
}

int64_t lockfile_age_us(const char *path)
{
    char *probe = fs_beside(path);
    struct stat then, now;
    int64_t age = INT64_MAX;
    int fd = open(probe, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        if (stat(path, &then) == 0 && fstat(fd, &now) == 0)
            age = (int64_t)(now.st_mtim.tv_sec - then.st_mtim.tv_sec) * 1000000 +
                  (now.st_mtim.tv_nsec - then.st_mtim.tv_nsec) / 1000;
        unlink(probe);
        close(fd);
    }
    free(probe);
    return age;
}

/* Does `fd` have that name? `if_gone`: what to say when nothing has it. */
static bool has_name(int fd, const char *path, bool if_gone)
{
    struct stat s;
    trace there;
    if (fstat(fd, &s) != 0)
        return false;
    if (!look(path, &there))
        return if_gone;
    return is_same_file(&there, &(trace){.device = s.st_dev, .inode = s.st_ino});
}

bool lockfile_is_ours(int fd, const char *path)
{
    return has_name(fd, path, true);
}

void lockfile_touch(int fd)
{
    /* a holder that cannot touch cannot write either, and hears of it there */
    if (futimens(fd, NULL) != 0)
        return;
}

/* --- taking --- */

typedef enum taken { TAKEN, HELD, FAILED } taken;

/* *ret_made: it was not there before. */
static int open_or_make(const char *path, bool *ret_made)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        *ret_made = fd >= 0;
        if (fd >= 0 || errno != EEXIST)
            return fd;
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
            return fd; /* else it was removed between the two */
    }
}

/* Opens (or makes) the file and locks it; nothing is left open unless it was TAKEN. */
static taken try_lock(const char *path, int *ret_fd, error *err)
{
    struct flock lock;
    bool made;
    int fd = open_or_make(path, &made);
    if (fd < 0) {
        (void)fs_fail(err, "create", path);
        return FAILED;
    }
    int failure = whole_file(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
    bool locks_nothing = is_without_locks(failure);
    if (!failure || (locks_nothing && made)) {
        if (failure)
            LOG_W("NO_LOCKS", "'%s': its file system locks nothing, so whoever makes the file has it", path);
        *ret_fd = fd;
        return TAKEN;
    }
    bool is_held = locks_nothing || failure == EAGAIN || failure == EACCES;
    if (!is_held)
        (void)FAIL(err, fs_cause(failure), "lock '%s': %s", path, strerror(failure));
    close(fd);
    return is_held ? HELD : FAILED;
}

/* A file of its own beside `path`, named after the one it replaces and locked before it gets that
 * one's name: so only one of several that watched the same holder can win. */
static status lockfile_replace(const char *path, const trace *frozen, int *ret_fd, error *err)
{
    char *fresh = xasprintf("%s.%llx", path, (unsigned long long)frozen->inode);
    int fd = -1;
    trace now;
    status st = OK;
    error why = ERROR_INIT;
    taken how = try_lock(fresh, &fd, &why);
    if (how == FAILED)
        st = FAIL(err, why.code, "%s", why.text);
    else if (how == HELD || !has_name(fd, fresh, false))
        st = fail_held(path, err);
    else if (!look(path, &now) || !is_untouched(&now, frozen)) {
        unlink(fresh);
        st = fail_held(path, err);
    }
    if (st == OK)
        sign(fd, fresh);
    if (st == OK && rename(fresh, path) != 0)
        st = fs_fail(err, "rename to", path);
    free(fresh);
    if (st == OK)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    return st;
}

/* The holder as it was seen first. */
typedef struct watch {
    bool begun, told;
    trace first;
    int64_t since_us;
} watch;

static void tell(watch *w, const char *path, const lockfile_takeover *takeover)
{
    if (w->told || !takeover->watching || clock_us() - w->since_us < TELL_US)
        return;
    w->told = true;
    buf holder = BUF_INIT;
    if (fs_read(path, TEXT_MAX, &holder, NULL) == OK && holder.size)
        takeover->watching(takeover->user, holder.data);
    buf_fini(&holder);
}

/* OK with *ret_fd -1: look again. */
static status wait_for_holder(watch *w, const char *path, const lockfile_takeover *takeover,
                              int *ret_fd, error *err)
{
    trace now;
    *ret_fd = -1;
    if (!takeover || !takeover->us)
        return fail_held(path, err);
    if (!look(path, &now))
        return OK;
    if (!w->begun) {
        *w = (watch){.begun = true, .first = now, .since_us = clock_us()};
    } else if (!is_untouched(&now, &w->first)) {
        return fail_held(path, err);
    } else if (clock_us() - w->since_us >= takeover->us) {
        return lockfile_replace(path, &w->first, ret_fd, err);
    }
    tell(w, path, takeover);
    nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    return OK;
}

status lockfile_take(const char *path, const lockfile_takeover *takeover, int *ret_fd, error *err)
{
    watch w = {.begun = false};
    int fd = -1;
    while (fd < 0) {
        error why = ERROR_INIT;
        switch (try_lock(path, &fd, &why)) {
        case HELD:
            TRY(wait_for_holder(&w, path, takeover, &fd, err));
            continue;
        case FAILED:
            return FAIL(err, why.code, "%s", why.text);
        case TAKEN:
            sign(fd, path);
        }
        /* somebody may have renamed another file over it before we had the lock */
        if (!has_name(fd, path, false)) {
            close(fd);
            fd = -1;
        }
    }
    *ret_fd = fd;
    return OK;
}

void lockfile_release(int *fd, const char *path)
{
    struct flock lock;
    if (*fd < 0)
        return;
    if (whole_file(*fd, F_OFD_SETLK, &lock) != 0 && is_without_locks(errno) && has_name(*fd, path, false))
        unlink(path); /* there it is free once it is gone */
    close(*fd);
    *fd = -1;
}

char *lockfile_holder(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct flock lock;
    bool asked = whole_file(fd, F_OFD_GETLK, &lock) == 0;
    bool held = asked ? lock.l_type != F_UNLCK : is_without_locks(errno);
    close(fd);
    buf text = BUF_INIT;
    if (!held || fs_read(path, TEXT_MAX, &text, NULL) != OK) {
        buf_fini(&text);
        return held ? xstrdup("") : NULL;
    }
    return buf_detach(&text);
}
