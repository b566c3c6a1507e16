#include "common/store/folder_lock.h"

#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 40, PAUSE_MS = 5 };

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool folder_lock(const char *path, int *ret_fd)
{
    int fd = -1;
    if (fs_mkdir(path, 1, NULL) == OK)
        fd = open_folder(path);
    *ret_fd = fd;
    for (int i = 0; fd >= 0 && i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    return fd < 0;
}

void folder_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Whoever asks has it for himself for a moment only. */
int folder_hold(const char *path)
{
    int fd = open_folder(path);
    while (fd >= 0 && flock(fd, LOCK_SH) != 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        return -1;
    }
    return fd;
}

bool folder_is_held(const char *path)
{
    int fd = open_folder(path);
    bool is_held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    folder_unlock(fd);
    return is_held;
}
