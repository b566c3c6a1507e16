#include "common/store/folder_lock.h"

#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 40, PAUSE_MS = 5 };

bool folder_lock(const char *path, int *ret_fd)
{
    int fd = -1;
    if (fs_mkdir(path, 1, NULL) == OK)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
