#include "fault/torture/sandbox.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fs.h"

#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 1 << 16, ENVIRONMENT_MAX = 1 << 20, SPIN_US = 4000 };

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP;
    is_up = is_up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    return is_up;
}

static bool has_own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

void sandbox_enter(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (unshare(CLONE_NEWNET) == 0 && !raise_loopback()) {
        fprintf(stderr, "torture: a network namespace has no loopback interface\n");
        exit(1);
    }
    (void)has_own_mounts(); /* who mounts asked whether it can be */
}

bool sandbox_can_mount(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(!(has_own_mounts() && sandbox_mount("/tmp", 1 << 16)));
    int end;
    return pid > 0 && waitpid(pid, &end, 0) == pid && end == 0;
}

bool sandbox_mount(const char *dir, int64_t bytes)
{
    char options[64];
    snprintf(options, sizeof options, "size=%lld", (long long)bytes);
    return mount("torture", dir, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

bool sandbox_ports(const char *free_ports, int *ret, int n)
{
    char *command = xasprintf("'%s' %d", free_ports, n);
    FILE *from = popen(command, "r");
    int found = 0;
    while (from && found < n && fscanf(from, "%d", &ret[found]) == 1)
        found++;
    if (from)
        pclose(from);
    free(command);
    return found == n;
}

/* --- processes --- */

static bool is_zombie(pid_t pid)
{
    char *path = xasprintf("/proc/%d/stat", (int)pid);
    buf text = BUF_INIT;
    bool is = true;
    if (fs_read(path, CHILDREN_MAX, &text, NULL) == OK && text.data) {
        const char *end = strrchr(text.data, ')');
        is = !end || end[1] == '\0' || end[2] == 'Z' || end[2] == 'X';
    }
    buf_fini(&text);
    free(path);
    return is;
}

static int add_below(pid_t pid, pid_t *ret, int n, int most);

static int add_children_of_thread(pid_t pid, const char *thread, pid_t *ret, int n, int most)
{
    char *path = xasprintf("/proc/%d/task/%s/children", (int)pid, thread);
    buf text = BUF_INIT;
    if (fs_read(path, CHILDREN_MAX, &text, NULL) == OK && text.data)
        for (char *at = text.data, *end; n < most; at = end) {
            pid_t child = (pid_t)strtol(at, &end, 10);
            if (end == at)
                break;
            if (!is_zombie(child))
                ret[n++] = child;
            n = add_below(child, ret, n, most);
        }
    buf_fini(&text);
    free(path);
    return n;
}

static int add_below(pid_t pid, pid_t *ret, int n, int most)
{
    char *path = xasprintf("/proc/%d/task", (int)pid), **threads = NULL;
    size_t n_threads = 0;
    if (fs_list(path, &threads, &n_threads, NULL) == OK)
        for (size_t i = 0; i < n_threads; i++)
            n = add_children_of_thread(pid, threads[i], ret, n, most);
    fs_list_free(threads, n_threads);
    free(path);
    return n;
}

int sandbox_processes(pid_t *ret, int most)
{
    return add_below(getpid(), ret, 0, most);
}

void sandbox_kill_all(void)
{
    enum { MOST = 256 };
    pid_t pids[MOST];
    for (int n; (n = sandbox_processes(pids, MOST)) > 0;) {
        for (int i = 0; i < n; i++)
            kill(pids[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

bool sandbox_has_variable(pid_t pid, const char *name, const char *text)
{
    char *path = xasprintf("/proc/%d/environ", (int)pid);
    buf all = BUF_INIT;
    bool found = false;
    if (fs_read(path, ENVIRONMENT_MAX, &all, NULL) == OK && all.data)
        for (const char *at = all.data; at < all.data + all.size && !found; at += strlen(at) + 1)
            found =
                strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=' && strstr(at, text);
    buf_fini(&all);
    free(path);
    return found;
}

static int64_t processor_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

double sandbox_load(void)
{
    int64_t begin = clock_us(), worked = processor_us();
    while (processor_us() - worked < SPIN_US)
        continue;
    double slower = (double)(clock_us() - begin) / (double)(processor_us() - worked);
    return slower > 1 ? slower : 1;
}
