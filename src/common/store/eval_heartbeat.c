#include "common/store/eval_heartbeat.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/utf8.h"
#include "common/store/lockfile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const char *job_dir)
{
    return xasprintf("%s/eval/alive", job_dir);
}

enum { LINE = READ_PROGRESS_TEXT + 32 };

/* What cannot be written is not read: then nobody knows how far it is. */
static void write_state(int fd, const read_state *reads)
{
    char line[LINE];
    int n = reads ? snprintf(line, sizeof line, "%" PRIu64 " %s\n", reads->moves, reads->text) : 0;
    if (pwrite(fd, line, (size_t)n, 0) != n || ftruncate(fd, n) != 0)
        return;
}

void eval_heartbeat_touch(const char *job_dir, const read_state *reads)
{
    char *checkpoints = xasprintf("%s/checkpoints", job_dir), *eval = xasprintf("%s/eval", job_dir);
    char *path = path_of(job_dir);
    int fd = -1;
    if (fs_exists(checkpoints) && fs_mkdir(eval, 1, NULL) == OK)
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        write_state(fd, reads);
        lockfile_touch(fd);
        close(fd);
    }
    free(checkpoints);
    free(eval);
    free(path);
}

/* Of a line that is being written there may be half of one, or more than one. */
bool eval_heartbeat_reads(const char *job_dir, read_state *ret)
{
    char *path = path_of(job_dir), line[LINE + 1] = "", *end = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, LINE) : 0;
    if (fd >= 0)
        close(fd);
    free(path);
    line[n > 0 ? n : 0] = '\0';
    char *stop = strchr(line, '\n');
    uint64_t moves = strtoull(line, &end, 10);
    if (!stop || end == line || *end != ' ')
        return false;
    *stop = '\0';
    ret->moves = moves;
    snprintf(ret->text, sizeof ret->text, "%s", end + 1);
    utf8_mend(ret->text);
    return true;
}

uint64_t eval_heartbeat_trace(const char *job_dir)
{
    char *path = path_of(job_dir);
    uint64_t trace = lockfile_trace(path);
    free(path);
    return trace;
}
