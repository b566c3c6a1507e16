/*
 * What a disk holds for certain: preloaded into the programs of a job, it notes what they have synced, and
 * takes the power away.
 *
 *   LD_PRELOAD=power_loss.so POWER_LOSS=DIR POWER_LOSS_KEPT=FOLDER [POWER_LOSS_AT=N] PROGRAM...
 *
 * FOLDER holds, of each file below DIR, what was in it when it was last synced, and of each folder what names
 * it had: <id>.data and <id>.names, with lines "f|d <id> <name>". An id is of one file for good: its inode
 * number and when it was made. `after_power_loss` makes of it what is found after the power is back.
 *
 * Counted are, by all programs together, calls that sync or change names: fsync, fdatasync, rename, renameat2,
 * unlink and mkdir. Before the N-th the program dies, and so does any other at its next one. How many there
 * were stands in FOLDER/calls, 8 bytes in the machine's order.
 */
#include "file_id.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

enum { PATH_BYTES = 4096 };

static bool is_ours(const char *path)
{
    const char *dir = getenv("POWER_LOSS");
    size_t n = dir ? strlen(dir) : 0;
    return n && path && strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool path_of(int fd, char ret[PATH_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret, PATH_BYTES - 1);
    if (n < 0)
        return false;
    ret[n] = '\0';
    return is_ours(ret);
}

/* --- the count, which all programs share --- */

static atomic_long *shared_count(void)
{
    static _Atomic(atomic_long *) count;
    char path[PATH_BYTES];
    if (atomic_load(&count))
        return atomic_load(&count);
    snprintf(path, sizeof path, "%s/calls", getenv("POWER_LOSS_KEPT"));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof(atomic_long)) != 0)
        abort();
    void *p = mmap(NULL, sizeof(atomic_long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        abort();
    atomic_store(&count, (atomic_long *)p);
    return p;
}

static void count_call(bool ours)
{
    const char *at = getenv("POWER_LOSS_AT");
    long last = at ? atol(at) : 0;
    if (ours && atomic_fetch_add(shared_count(), 1) + 1 >= last && last)
        raise(SIGKILL);
}

/* --- what is kept --- */

/* FOLDER/<id>.<end>, written beside it first. */
static FILE *begin(int fd, const char *end, char beside[PATH_BYTES], char to[PATH_BYTES])
{
    char id[ID_BYTES];
    if (!file_id(fd, "", id))
        abort();
    const char *kept = getenv("POWER_LOSS_KEPT");
    snprintf(to, PATH_BYTES, "%s/%s.%s", kept, id, end);
    snprintf(beside, PATH_BYTES, "%s/%d-%p.new", kept, (int)getpid(), (void *)beside);
    FILE *f = fopen(beside, "we");
    if (!f)
        abort();
    return f;
}

static void finish(FILE *f, const char *beside, const char *to)
{
    if (fclose(f) != 0 || REAL(rename)(beside, to) != 0)
        abort();
}

static void keep_data(const char *path, int fd)
{
    char beside[PATH_BYTES], to[PATH_BYTES], piece[65536];
    FILE *f = begin(fd, "data", beside, to);
    /* its name may be another file's by now, the descriptor may be for writing only */
    snprintf(piece, sizeof piece, "/proc/self/fd/%d", fd);
    int from = open(piece, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (from >= 0 && (n = read(from, piece, sizeof piece)) > 0)
        fwrite(piece, 1, (size_t)n, f);
    if (n < 0) {
        fprintf(stderr, "power_loss: cannot read '%s': %s\n", path, strerror(errno));
        abort();
    }
    close(from);
    finish(f, beside, to);
}

static void keep_names(const char *path, int fd)
{
    char beside[PATH_BYTES], to[PATH_BYTES], id[ID_BYTES];
    FILE *f = begin(fd, "names", beside, to);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            file_id(dirfd(d), e->d_name, id))
            fprintf(f, "%c %s %s\n", e->d_type == DT_DIR ? 'd' : 'f', id, e->d_name);
    if (d)
        closedir(d);
    finish(f, beside, to);
}

static void keep(int fd)
{
    char path[PATH_BYTES];
    struct stat info;
    if (!path_of(fd, path) || fstat(fd, &info) != 0)
        return;
    if (S_ISDIR(info.st_mode))
        keep_names(path, fd);
    else
        keep_data(path, fd);
}

/* --- the calls --- */

static bool is_ours_fd(int fd)
{
    char path[PATH_BYTES];
    return path_of(fd, path);
}

int fsync(int fd)
{
    count_call(is_ours_fd(fd));
    keep(fd);
    return 0;
}

int fdatasync(int fd)
{
    count_call(is_ours_fd(fd));
    keep(fd);
    return 0;
}

int rename(const char *from, const char *to)
{
    count_call(is_ours(to));
    return REAL(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    count_call(is_ours(to));
    return REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

int unlink(const char *path)
{
    count_call(is_ours(path));
    return REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    count_call(is_ours(path));
    return REAL(mkdir)(path, mode);
}
