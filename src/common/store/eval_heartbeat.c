#include "common/store/eval_heartbeat.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/lockfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char *path_of(const char *job_dir)
{
    return xasprintf("%s/eval/alive", job_dir);
}

void eval_heartbeat_touch(const char *job_dir)
{
    char *checkpoints = xasprintf("%s/checkpoints", job_dir), *eval = xasprintf("%s/eval", job_dir);
    char *path = path_of(job_dir);
    int fd = -1;
    if (fs_exists(checkpoints) && fs_mkdir(eval, 1, NULL) == OK)
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        lockfile_touch(fd);
        close(fd);
    }
    free(checkpoints);
    free(eval);
    free(path);
}

uint64_t eval_heartbeat_trace(const char *job_dir)
{
    char *path = path_of(job_dir);
    uint64_t trace = lockfile_trace(path);
    free(path);
    return trace;
}
