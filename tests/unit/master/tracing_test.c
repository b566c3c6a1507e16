/*
 * A profile where the disk does not take it: the next task is not asked, what waits is bounded, and the job's end
 * waits for a time only. The file is a FIFO without a reader, which holds the writer's thread in the kernel.
 *
 * CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "master/state.h"
#include "unit/master/support_accounts.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the writer opens. */
static char fifo[4096];
static atomic_bool is_made;

/* libc's gives way to it. */
FILE *fopen(const char *restrict path, const char *restrict mode)
{
    int flags = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (*mode == 'w' ? O_TRUNC : O_APPEND);
    if (strstr(path, ".json.tmp.")) {
        if (mkfifo(path, 0600) != 0)
            abort();
        snprintf(fifo, sizeof fifo, "%s", path);
        atomic_store(&is_made, true);
    }
    int fd = open(path, flags | O_CLOEXEC, 0600);
    return fd < 0 ? NULL : fdopen(fd, mode);
}

typedef struct scene {
    accounts b;
    master_options o;
    server ps;
    master m;
} scene;

static void wait_until_made(void)
{
    while (!atomic_load(&is_made))
        sched_yield();
}

/* What one process told: more than a stream keeps to itself. */
static trace_source some_source(void)
{
    enum { N = 2000 };
    trace_source s = {.about = xmalloc(sizeof(Wire__Trace)), .events = xcalloc(N, sizeof *s.events), .n = N, .cap = N};
    wire__trace__init(s.about);
    s.about->host = xstrdup("here");
    for (int i = 0; i < N; i++)
        s.events[i] = (recorder_event){.kind = EVENT_SLOT, .lane = 0, .step = 1, .at_us = 10 * i + 5, .took_us = 5};
    return s;
}

/* Two processes told; ps.0, which is gone, is to be asked. */
static scene *scene_make(void)
{
    scene *s = xcalloc(1, sizeof *s);
    error err = ERROR_INIT;
    tracing *t = &s->m.tracing;
    s->b = accounts_make();
    s->o = (master_options){.dir = s->b.dir, .n_servers = 1};
    s->m.o = &s->o;
    s->m.servers = &s->ps;
    s->m.phase = RUN;
    *t = (tracing){.state = TRACING_ASKS, .steps = {0, 9}, .tasks = xcalloc(1, sizeof *t->tasks), .n = 1};
    t->tasks[0] = (traced_task){.role = ROLE_PS};
    t->path = jobdir_file(s->b.dir, "profile/trace-0-9.json");
    atomic_store(&is_made, false);
    must(trace_writer_create(t->path, t->steps, &t->writer, &err), &err);
    for (int i = 0; i < 2; i++) {
        trace_source one = some_source();
        trace_writer_add(t->writer, &one);
    }
    wait_until_made();
    return s;
}

static void scene_end(scene *s)
{
    accounts_fini(&s->b);
    free(s);
}

static void read_to_the_end(int fd, buf *ret)
{
    char piece[4096];
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) != 0;) {
        assert_true(n > 0);
        buf_add(ret, piece, (size_t)n);
    }
    close(fd);
}

static void the_next_is_asked_when_the_writer_gets_on(void **state)
{
    (void)state;
    scene *s = scene_make();
    master *m = &s->m;
    tracing *t = &m->tracing;
    char *path = xstrdup(t->path), first;
    buf text = BUF_INIT;
    master_trace(m, 1 * SECOND_US);
    master_trace(m, 1000 * SECOND_US); /* no matter how long, while the job trains */
    assert_int_equal(t->state, TRACING_ASKS);
    assert_true(t->at == 0 && t->n_missing == 0);
    assert_int_equal(trace_writer_waiting(t->writer), 2);
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, &first, 1), 1); /* so it has begun with one of them */
    master_trace(m, 1001 * SECOND_US);
    assert_int_equal(t->state, TRACING_WRITES);
    assert_true(t->at == 1 && t->n_missing == 1);
    read_to_the_end(fd, &text);
    assert_non_null(strstr(text.data, "{\"task\":\"ps.0\",\"why\":\"it is gone\"}"));
    for (; t->state == TRACING_WRITES; sched_yield())
        master_trace(m, 1001 * SECOND_US);
    master_trace_fini(m);
    assert_true(fs_exists(path));
    free(path);
    buf_fini(&text);
    scene_end(s);
}

static void a_disk_that_takes_nothing_is_given_up(void **state)
{
    (void)state;
    scene *s = scene_make();
    master *m = &s->m;
    tracing *t = &m->tracing;
    char *path = xstrdup(t->path);
    buf text = BUF_INIT;
    master_trace(m, 100 * SECOND_US);
    m->phase = DRAIN;
    master_trace(m, 160 * SECOND_US);
    assert_false(master_trace_is_over(m));
    master_trace(m, 160 * SECOND_US + 1);
    assert_true(master_trace_is_over(m));
    assert_int_equal(t->state, TRACING_OVER);
    master_trace_fini(m); /* its thread stays */
    read_to_the_end(open(fifo, O_RDONLY | O_CLOEXEC), &text);
    while (fs_exists(fifo))
        sched_yield();
    assert_false(fs_exists(path));
    free(path);
    buf_fini(&text);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_is_asked_when_the_writer_gets_on),
        cmocka_unit_test(a_disk_that_takes_nothing_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
