#include "common/base/thread.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct start {
    const char *task;
    void *(*run)(void *);
    void *arg;
} start;

/* A stack for handlers of signals that end the process, one of which may be that the thread's own is full. Somebody
 * else's, such as a sanitizer's, stays. */
enum { SIGNAL_STACK = 64 << 10 };

static void *run_with_signal_stack(const start *s)
{
    stack_t before;
    stack_t ours = {.ss_sp = xmalloc(SIGNAL_STACK), .ss_size = SIGNAL_STACK};
    bool is_set = sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE && sigaltstack(&ours, NULL) == 0;
    void *result = s->run(s->arg);
    if (is_set)
        (void)sigaltstack(&before, NULL);
    free(ours.ss_sp);
    return result;
}

static void *enter(void *arg)
{
    start s = *(start *)arg;
    free(arg);
    log_set_task(s.task);
    return run_with_signal_stack(&s);
}

/* All but those that a thread's own mistake raises. */
static void block_signals(sigset_t *ret_before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < COUNT_OF(own); i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, ret_before);
}

void thread_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t as_clock_us;
    pthread_condattr_init(&as_clock_us);
    pthread_condattr_setclock(&as_clock_us, CLOCK_MONOTONIC);
    pthread_cond_init(c, &as_clock_us);
    pthread_condattr_destroy(&as_clock_us);
}

bool thread_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_us)
{
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    return pthread_cond_timedwait(c, lock, &until) == 0;
}

status thread_start(pthread_t *ret, const char *task, void *(*run)(void *), void *arg, error *err)
{
    start *s = xmalloc(sizeof *s);
    *s = (start){.task = task, .run = run, .arg = arg};

    /* signals are the main thread's business */
    sigset_t old;
    block_signals(&old);
    pthread_t thread;
    int cause = pthread_create(&thread, NULL, enter, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (cause) {
        free(s);
        return FAIL(err, E_FAIL, "start a thread for %s: %s", task, strerror(cause));
    }
    char name[16];
    snprintf(name, sizeof name, "%s", task);
    pthread_setname_np(thread, name);
    *ret = thread;
    return OK;
}

/* On Linux the priority that setpriority calls a process's is a thread's own; the lowest is enough
 * to run wherever a core has nothing else to do, and not so low that it would never run. */
void thread_give_way(void)
{
    setpriority(PRIO_PROCESS, 0, 19);
}

/* Refused, it has at least given way. glibc has no name for the call, nor for its classes. */
void thread_idle(void)
{
    enum { OF_THREAD = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };
    thread_give_way();
    (void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){.sched_priority = 0});
    (void)syscall(SYS_ioprio_set, OF_THREAD, 0, CLASS_IDLE << CLASS_SHIFT);
}

/* cgroup v2: "max 100000" or "<quota> <period>" */
static int cgroup_cpus(void)
{
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!f)
        return 0;
    long quota = 0, period = 0;
    int n = fscanf(f, "%ld %ld", &quota, &period);
    fclose(f);
    return n == 2 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

int thread_cpus(void)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int quota = cgroup_cpus();
    if (quota > 0 && quota < cpus)
        cpus = quota;
    return cpus > 0 ? cpus : 1;
}
