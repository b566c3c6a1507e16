#include "common/base/fs.h"

#include "common/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* In names of files that are not whole yet. */
#define BESIDE ".tmp."

/* fs_remove_beside may take a file that is being written for a killed writer's. */
enum { WRITE_TRIES = 16 };

static bool is_among(const int *failures, size_t n, int failure)
{
    for (size_t i = 0; i < n; i++)
        if (failure == failures[i])
            return true;
    return false;
}

status fs_cause(int failure)
{
    static const int failures[] = {ENOSPC, EDQUOT,    EIO,      EROFS,  ESTALE,
                                   ENODEV, ETIMEDOUT, ENOTCONN, ENOLCK, EREMOTEIO};
    return is_among(failures, COUNT_OF(failures), failure) ? E_DISK : E_IO;
}

status fs_fail(error *err, const char *what, const char *path)
{
    int failure = errno;
    return FAIL(err, fs_cause(failure), "%s '%s': %s", what, path, strerror(failure));
}

bool fs_is_cause(status st)
{
    return st == E_IO || st == E_DISK;
}

status fs_fail_input(const char *what, const char *path, error *err)
{
    static const int names[] = {ENOENT, ENOTDIR, EISDIR,       EACCES,
                                EPERM,  ELOOP,   ENAMETOOLONG, ENXIO};
    if (!is_among(names, COUNT_OF(names), errno))
        return fs_fail(err, what, path);
    return FAIL(err, E_DATA, "%s '%s': %s", what, path, strerror(errno));
}

status fs_read(const char *path, size_t limit, buf *ret, error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fs_fail_input("open", path, err);
    struct stat info;
    status st = OK;
    size_t begin = ret->size;
    bool is_larger = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size > limit;
    while (!is_larger) {
        buf_reserve(ret, 64 * 1024);
        ssize_t n = read(fd, ret->data + ret->size, 64 * 1024);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            st = fs_fail_input("read", path, err);
            break;
        }
        if (n == 0)
            break;
        ret->size += (size_t)n;
        is_larger = ret->size - begin > limit;
    }
    if (is_larger)
        st = FAIL(err, E_DATA, "read '%s': larger than %zu bytes", path, limit);
    buf_reserve(ret, 1);
    if (st != OK)
        ret->size = begin;
    ret->data[ret->size] = '\0';
    close(fd);
    return st;
}

status fs_read_config(const char *what, const char *path, size_t limit, buf *ret, error *err)
{
    error why = ERROR_INIT;
    return fs_read(path, limit, ret, &why) == OK ? OK : FAIL(err, E_CONFIG, "%s: %s", what, why.text);
}

status fs_write_all(int fd, const void *data, size_t bytes, const char *path, error *err)
{
    const char *p = data;
    while (bytes) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fs_fail(err, "write", path);
        p += n;
        bytes -= (size_t)n;
    }
    return OK;
}

status fs_sync_dir(const char *dir, error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) /* one that may be written but not read is nobody's to sync */
        return errno == EACCES ? OK : fs_fail(err, "open", dir);
    int failed = fsync(fd);
    int cause = errno;
    close(fd);
    errno = cause;
    /* some file systems cannot sync a folder; that is not ours to fail on */
    return failed && cause != EINVAL ? fs_fail(err, "sync", dir) : OK;
}

char *fs_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash          ? xstrdup(".")
           : slash == path ? xstrdup("/")
                           : xstrndup(path, (size_t)(slash - path));
}

static status sync_parent(const char *path, error *err)
{
    char *dir = fs_parent(path);
    status st = fs_sync_dir(dir, err);
    free(dir);
    return st;
}

status fs_write_atomic(const char *path, const void *data, size_t bytes, error *err)
{
    return fs_write_guarded(path, data, bytes, NULL, NULL, err);
}

char *fs_beside(const char *path)
{
    uint64_t unique;
    while (getrandom(&unique, sizeof unique, 0) != (ssize_t)sizeof unique)
        continue;
    return xasprintf("%s" BESIDE "%016" PRIx64, path, unique);
}

bool fs_is_beside(const char *end)
{
    return strncmp(end, BESIDE, strlen(BESIDE)) == 0;
}

/* What fs_beside makes of a file whose name begins so. */
static bool is_beside(const char *name, const char *beginning)
{
    size_t bytes = strlen(name), digits = 16, added = strlen(BESIDE) + digits;
    const char *end = bytes > added ? name + bytes - added : NULL;
    return end && fs_is_beside(end) && strspn(end + strlen(BESIDE), "0123456789abcdef") == digits &&
           strncmp(name, beginning, strlen(beginning)) == 0;
}

void fs_remove_beside(const char *folder, const char *const *names, size_t n)
{
    char **found = NULL;
    size_t n_found = 0;
    if (!fs_exists(folder) || fs_list(folder, &found, &n_found, NULL) != OK)
        return;
    for (size_t i = 0; i < n_found; i++) {
        bool is_left = false;
        for (size_t k = 0; k < n; k++)
            is_left |= is_beside(found[i], names[k]);
        char *path = xasprintf("%s/%s", folder, found[i]);
        if (is_left)
            unlink(path); /* at worst it takes space */
        free(path);
    }
    fs_list_free(found, n_found);
}

static status write_new(const char *path, const void *data, size_t bytes, bool is_synced, error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fs_fail(err, "create", path);
    status st = fs_write_all(fd, data, bytes, path, err);
    if (st == OK && is_synced && fsync(fd) != 0)
        st = fs_fail(err, "sync", path);
    if (close(fd) != 0 && st == OK)
        st = fs_fail(err, "close", path);
    return st;
}

status fs_write_unsynced(const char *path, const void *data, size_t bytes, error *err)
{
    char *temporary = fs_beside(path);
    status st = write_new(temporary, data, bytes, false, err);
    if (st == OK && rename(temporary, path) != 0)
        st = fs_fail(err, "rename to", path);
    if (st != OK)
        unlink(temporary);
    free(temporary);
    return st;
}

status fs_write_guarded(const char *path, const void *data, size_t bytes, fs_guard *guard,
                        const void *user, error *err)
{
    char *temporary = fs_beside(path); /* two may write the same path: the later rename counts */
    int failure = ENOENT;
    status st;
    for (int tries = 0; failure == ENOENT && tries < WRITE_TRIES; tries++) {
        TRY_OUT(st, write_new(temporary, data, bytes, true, err));
        if (guard)
            TRY_OUT(st, guard(user, err));
        failure = rename(temporary, path) == 0 ? 0 : errno;
    }
    errno = failure;
    st = failure ? fs_fail(err, "rename to", path) : sync_parent(path, err);
out:
    if (st != OK)
        unlink(temporary);
    free(temporary);
    return st;
}

status fs_mkdir(const char *dir, int levels, error *err)
{
    char *above = fs_parent(dir);
    status st = levels > 1 ? fs_mkdir(above, levels - 1, err) : OK;
    free(above);
    TRY(st);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return fs_fail(err, "create folder", dir);
    if (!fs_is_folder(dir))
        return FAIL(err, E_IO, "create folder '%s': a file of that name is there", dir);
    return OK;
}

/* The names of those above are made to last: a folder that was lost takes what was synced in it along. */
status fs_mkdirs(const char *dir, error *err)
{
    if (fs_is_folder(dir))
        return OK;
    char *above = fs_parent(dir);
    bool is_top = !*dir || strcmp(above, dir) == 0;
    status st = is_top ? OK : fs_mkdirs(above, err);
    if (st == OK)
        st = fs_mkdir(dir, 1, err);
    if (st == OK)
        st = fs_sync_dir(above, err);
    free(above);
    return st;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

status fs_make_temporary(const char *what, char **ret, error *err)
{
    const char *root = getenv("TMPDIR");
    char *path = xasprintf("%s/tequio-%s-XXXXXX", root && *root ? root : "/tmp", what);
    if (!mkdtemp(path)) {
        status st = fs_fail(err, "create folder", path);
        free(path);
        return st;
    }
    *ret = path;
    return OK;
}

status fs_remove_tree(const char *path, error *err)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? OK : fs_fail(err, "look at", path);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        return fs_fail(err, "remove", path);
    return OK;
}

bool fs_names_no_folders(int failure)
{
    return failure == EMFILE || failure == ENOSYS || failure == EOPNOTSUPP;
}

static status move_file(const char *from, const char *to, const char *name, error *err)
{
    char *old = xasprintf("%s/%s", from, name), *new = xasprintf("%s/%s", to, name);
    status st = rename(old, new) == 0 ? OK : fs_fail(err, "rename to", new);
    free(old);
    free(new);
    return st;
}

static status move_files(const char *from, const char *to, const char *last, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_mkdirs(to, err));
    TRY(fs_list(from, &names, &n, err));
    status st = OK;
    for (size_t i = 0; st == OK && i < n; i++)
        if (strcmp(names[i], last) != 0)
            st = move_file(from, to, names[i], err);
    fs_list_free(names, n);
    TRY(st);
    TRY(fs_sync_dir(to, err));
    TRY(move_file(from, to, last, err));
    return rmdir(from) == 0 ? OK : fs_fail(err, "remove", from);
}

status fs_move_folder(const char *from, const char *to, const char *last, error *err)
{
    if (rename(from, to) == 0)
        return OK;
    return fs_names_no_folders(errno) ? move_files(from, to, last, err)
                                      : fs_fail(err, "rename to", to);
}

bool fs_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool fs_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

status fs_list(const char *dir, char ***ret_names, size_t *ret_n, error *err)
{
    DIR *d = opendir(dir);
    if (!d)
        return fs_fail(err, "open folder", dir);
    char **names = NULL;
    size_t n = 0, cap = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(d);
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        GROW(names, cap, n + 1);
        names[n++] = xstrdup(entry->d_name);
    }
    status st = errno ? fs_fail(err, "read folder", dir) : OK;
    closedir(d);
    if (st != OK) {
        fs_list_free(names, n);
        return st;
    }
    if (n)
        qsort(names, n, sizeof *names, by_name);
    *ret_names = names;
    *ret_n = n;
    return OK;
}

void fs_list_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

status fs_map_open(const char *path, fs_map *ret, error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for a writer */
    if (fd < 0)
        return fs_fail_input("open", path, err);
    struct stat info;
    status st = OK;
    if (fstat(fd, &info) != 0) {
        st = fs_fail(err, "look at", path);
    } else if (!S_ISREG(info.st_mode)) {
        st = FAIL(err, E_DATA, "open '%s': not a regular file", path);
    } else if (info.st_size == 0) {
        *ret = (fs_map){.data = NULL, .bytes = 0};
    } else {
        void *p = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            st = fs_fail(err, "map", path);
        else
            *ret = (fs_map){.data = p, .bytes = (size_t)info.st_size};
    }
    close(fd);
    return st;
}

void fs_map_close(fs_map *m)
{
    if (m->data)
        munmap((void *)(uintptr_t)m->data, m->bytes);
    *m = (fs_map){.data = NULL, .bytes = 0};
}

/* Where it cannot be done they are fetched when they are read. */
void fs_map_fetch(const void *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), within = (uintptr_t)data % page;
    madvise((char *)(uintptr_t)data - within, bytes + within, MADV_WILLNEED);
}
