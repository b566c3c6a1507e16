/* See cache.h. */
#include "data/index/cache.h"

#include "common/base/alloc.h"
#include "common/base/content_digest.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "common/base/user_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SAMPLES = 8, SAMPLE = 4096 };

/* Of the first bytes, the last, and some in between. */
static void hash_samples(const unsigned char *data, size_t bytes, char ret_hex[SHA256_HEX])
{
    content_digest pieces = {.at = NULL};
    if (bytes <= (size_t)SAMPLES * SAMPLE)
        content_digest_add(&pieces, data, bytes);
    else
        for (size_t i = 0; i < SAMPLES; i++)
            content_digest_add(&pieces, data + (bytes - SAMPLE) / (SAMPLES - 1) * i, SAMPLE);
    if (bytes > (size_t)SAMPLES * SAMPLE)
        content_digest_add(&pieces, data + bytes - SAMPLE, SAMPLE);
    content_digest_whole(&pieces, ret_hex);
    content_digest_fini(&pieces);
}

void cache_key_make(const char *path, const char *member, int64_t changed_ns, const void *data, size_t bytes,
                    cache_key *ret)
{
    char *real = realpath(path, NULL);
    char *name = xasprintf("%s!%s", real ? real : path, member ? member : "");
    memset(ret, 0, sizeof *ret); /* its padding too: keys are kept in files */
    ret->bytes = bytes;
    ret->changed_ns = changed_ns;
    sha256_hex(name, strlen(name), ret->name);
    hash_samples(data, bytes, ret->sample);
    free(name);
    free(real);
}

bool cache_key_is(const cache_key *a, const cache_key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* --- the folder --- */

static void warn_once(const char *folder, const char *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool warned;
    pthread_mutex_lock(&lock);
    if (!warned)
        LOG_W("CACHE",
              "no cache of data at '%s': %s: indexes, tokens and inflated files are kept in the memory of every "
              "process, and made again at each start; TEQUIO_CACHE names another folder",
              folder, why);
    warned = true;
    pthread_mutex_unlock(&lock);
}

char *cache_path(const cache_key *key, const char *ending)
{
    char *folder = user_cache_folder("data"), *path = NULL;
    error why = ERROR_INIT;
    if (!folder)
        warn_once("~/.cache/tequio/data", "HOME is not set");
    else if (fs_mkdirs(folder, &why) != OK)
        warn_once(folder, why.text);
    else if (access(folder, W_OK | X_OK) != 0)
        warn_once(folder, strerror(errno));
    else
        path = xasprintf("%s/%.32s%s", folder, key->name, ending);
    free(folder);
    return path;
}

static bool is_locked_by_another(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR);
}

/* Asks again and again: who waits tells how far the maker is meanwhile, and may be stopped. */
static void wait_for_lock(int fd, const char *path)
{
    enum { LOOK_NS = 50 * 1000 * 1000 };
    LOG_I("CACHE_WAIT", "file=%s: another process is making it", path);
    do {
        read_progress_follow(fd);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    } while (read_progress_check(NULL) == OK && is_locked_by_another(fd));
}

int cache_lock(const char *path)
{
    char *name = xasprintf("%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && is_locked_by_another(fd))
        wait_for_lock(fd, path);
    if (fd >= 0 && read_progress_check(NULL) == OK)
        read_progress_share(fd);
    free(name);
    return fd;
}

void cache_unlock(int fd)
{
    if (fd < 0)
        return;
    read_progress_unshare(fd);
    close(fd);
}

/* What killed ones left; whoever holds the lock is the only one to write. */
static void remove_leftovers(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = xstrndup(path, (size_t)(slash - path));
    fs_remove_beside(folder, &(const char *){slash + 1}, 1);
    free(folder);
}

status cache_file_begin(const char *path, cache_file *ret, error *err)
{
    remove_leftovers(path);
    cache_file f = {.path = path, .beside = fs_beside(path)};
    f.fd = open(f.beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (f.fd < 0) {
        status st = fs_fail(err, "create", f.beside);
        free(f.beside);
        return st;
    }
    *ret = f;
    return OK;
}

status cache_file_end(cache_file *f, status st, error *err)
{
    if (st == OK && fsync(f->fd) != 0)
        st = fs_fail(err, "sync", f->beside);
    if (st == OK && rename(f->beside, f->path) != 0)
        st = fs_fail(err, "rename", f->beside);
    if (st != OK)
        unlink(f->beside);
    close(f->fd);
    free(f->beside);
    return st;
}
