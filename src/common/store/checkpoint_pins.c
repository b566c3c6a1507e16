/*
 * Pins: what keeps a checkpoint from being pruned while it is read.
 *
 * Pinning and pruning exclude each other by flock on the folder pins/, so a pin that succeeded is
 * seen by every later prune. Where a frozen process keeps that lock, pruning is left for later.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint_internal.h"
#include "common/store/folder_lock.h"
#include "common/store/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIN_TEXT_MAX = 4096 };
static const int64_t FOREIGN_PIN_US = INT64_C(3600000000);

/* Held while pins or what they protect change. The folder is made first, so that the first of all pins is
 * no exception. Nobody holds it for long, unless he is frozen, and nobody waits long: false then. */
bool checkpoint_lock_pins(const jobdir *d, int *ret_fd)
{
    char *path = jobdir_file(d, "pins");
    bool is = folder_lock(path, ret_fd);
    free(path);
    return is;
}

static void host_name(char ret[256])
{
    memset(ret, 0, 256);
    if (gethostname(ret, 255) != 0)
        ret[0] = '\0';
}

/* One that has ended and is not waited for yet (a zombie) does not. */
static bool does_process_run(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno != ESRCH && (kill(pid, 0) == 0 || errno == EPERM);
    bool has_ended = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
    close(fd);
    return !has_ended;
}

/* A pin made on another host (or in another container) cannot be asked for its process; it holds
 * for an hour, by the clock of the files and not of a host. */
static bool is_pin_live(const char *path, long pid)
{
    char here[256];
    host_name(here);
    buf there = BUF_INIT;
    bool is_read = fs_read(path, PIN_TEXT_MAX, &there, NULL) == OK;
    bool is_ours = is_read && there.size && strcmp(there.data, here) == 0;
    bool is_cut_off = is_read && !there.size; /* its maker died before it wrote into it */
    buf_fini(&there);
    if (!is_read || is_ours || is_cut_off)
        return is_ours && does_process_run((pid_t)pid);
    int64_t age_us = lockfile_age_us(path);
    return age_us == INT64_MAX || age_us < FOREIGN_PIN_US; /* a full disk cannot tell */
}

/* Steps with a live pin; removes the pins of processes that are gone. */
status checkpoint_list_pinned(const jobdir *d, int64_t **ret, size_t *ret_n, error *err)
{
    char **names = NULL;
    size_t n = 0, n_pinned = 0;
    TRY(checkpoint_list_folder(d, "pins", &names, &n, err));
    int64_t *pinned = xcalloc(n + 1, sizeof *pinned);
    for (size_t i = 0; i < n; i++) {
        char *dot, *end;
        long long step = strtoll(names[i], &dot, 10);
        if (dot == names[i] || *dot != '.')
            continue;
        long pid = strtol(dot + 1, &end, 10);
        if (*end || pid <= 0)
            continue;
        char *path = jobdir_file(d, "pins/%s", names[i]);
        if (is_pin_live(path, pid))
            pinned[n_pinned++] = step;
        else
            unlink(path);
        free(path);
    }
    fs_list_free(names, n);
    *ret = pinned;
    *ret_n = n_pinned;
    return OK;
}

/* Not synced: a pin need not outlive the host, and the folder is locked meanwhile. */
static status write_pin(const char *path, error *err)
{
    char host[256];
    host_name(host);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fs_fail(err, "create", path);
    status st = fs_write_all(fd, host, strlen(host), path, err);
    close(fd);
    if (st != OK)
        unlink(path);
    return st;
}

status checkpoint_pin(const jobdir *d, int64_t step, error *err)
{
    char *path = jobdir_file(d, "pins/%lld.%ld", (long long)step, (long)getpid());
    int lock = -1;
    (void)checkpoint_lock_pins(d, &lock); /* pruned at this very moment, it is missed when it is opened */
    status st = OK;
    if (checkpoint_is_there(d, step))
        st = write_pin(path, err);
    else
        st = FAIL(err, E_DATA, "'%s' has no checkpoint of step %lld (pruned meanwhile?)",
                  jobdir_path(d), (long long)step);
    folder_unlock(lock);
    free(path);
    return st;
}

void checkpoint_sweep_pins(const jobdir *d)
{
    int64_t *pinned = NULL;
    size_t n = 0;
    int lock = -1;
    if (checkpoint_lock_pins(d, &lock) && checkpoint_list_pinned(d, &pinned, &n, NULL) == OK)
        free(pinned);
    folder_unlock(lock);
}

void checkpoint_unpin(const jobdir *d, int64_t step)
{
    char *path = jobdir_file(d, "pins/%lld.%ld", (long long)step, (long)getpid());
    unlink(path);
    free(path);
}
