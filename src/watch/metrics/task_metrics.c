#include "watch/metrics/task_metrics.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/counters.h"
#include "common/live/durations.h"
#include "common/live/links.h"
#include "common/live/pulse.h"
#include "watch/metrics/sample.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const task_metrics_open_paths[] = {"/healthz", "/readyz", NULL};

/* --- samples --- */

static void add_of_task(const char *name, task t, double value, buf *ret)
{
    char task_text[TASK_NAME];
    sample_add(name, (const sample_label[]){{"role", role_name(t.role)}, {"task", task_name(t, task_text)}}, 2, value,
               ret);
}

static const task *task_of(const task_metrics *m, int of)
{
    for (size_t i = 0; i < m->n; i++)
        if (of == COUNTER_OF_ANY || (int)m->tasks[i].role == of)
            return &m->tasks[i];
    return NULL;
}

static void add_counters(const task_metrics *m, buf *ret)
{
    for (size_t c = 0; c < COUNTER_COUNT; c++) {
        const counter_row *row = &counter_rows[c];
        const task *t = task_of(m, row->of);
        if (!t)
            continue;
        sample_head(row->name, row->type, row->help, ret);
        add_of_task(row->name, *t, (double)counter_get((counter)c) * row->unit, ret);
    }
}

/* --- histograms --- */

static void add_bucket(const duration_row *row, task t, const char *bound, int64_t n, buf *ret)
{
    char name[TASK_NAME];
    buf_addf(ret, "%s_bucket{role=\"%s\",task=\"%s\",le=\"%s\"} %lld\n", row->name, role_name(t.role),
             task_name(t, name), bound, (long long)n);
}

static void add_duration(duration d, task t, buf *ret)
{
    const duration_row *row = &duration_rows[d];
    duration_state s;
    char bound[32], name[96];
    int64_t n = 0;
    duration_look(d, &s);
    sample_head(row->name, "histogram", row->help, ret);
    for (int i = 0; i < DURATION_BOUNDS; i++) {
        n += s.counts[i];
        snprintf(bound, sizeof bound, "%g", (double)duration_bounds_us[i] * 1e-6);
        add_bucket(row, t, bound, n, ret);
    }
    n += s.counts[DURATION_BOUNDS];
    add_bucket(row, t, "+Inf", n, ret);
    snprintf(name, sizeof name, "%s_sum", row->name);
    add_of_task(name, t, (double)s.sum_us * 1e-6, ret);
    snprintf(name, sizeof name, "%s_count", row->name);
    add_of_task(name, t, (double)n, ret);
}

static void add_durations(const task_metrics *m, buf *ret)
{
    for (int d = 0; d < DURATION_COUNT; d++) {
        const task *t = task_of(m, duration_rows[d].of);
        if (t)
            add_duration((duration)d, *t, ret);
    }
}

/* --- links --- */

static void add_links(const task_metrics *m, const char *name, const char *help, bool is_sent, buf *ret)
{
    char task_text[TASK_NAME], peer[TASK_NAME];
    link_state s;
    sample_head(name, "counter", help, ret);
    for (int i = 0; link_look(i, &s); i++)
        sample_add(name,
                   (const sample_label[]){{"role", role_name(m->tasks[0].role)},
                                          {"task", task_name(m->tasks[0], task_text)},
                                          {"peer", i == LINK_OTHER ? "other" : task_name(s.who, peer)}},
                   3, (double)(is_sent ? s.sent : s.received), ret);
}

/* --- the process --- */

/* Seconds since 1970; 0: /proc does not say. */
static double start_time(void)
{
    char text[1024];
    unsigned long long ticks = 0;
    struct timespec wall, boot;
    FILE *f = fopen("/proc/self/stat", "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1)
        return 0;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (double)wall.tv_sec - (double)boot.tv_sec + (double)(wall.tv_nsec - boot.tv_nsec) / 1e9 +
           (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static void add_start(const task_metrics *m, buf *ret)
{
    static const char name[] = "process_start_time_seconds";
    sample_head(name, "gauge", "When the process began, in seconds since 1970.", ret);
    add_of_task(name, m->tasks[0], start_time(), ret);
}

void task_metrics_text(const task_metrics *m, int64_t now_us, buf *ret)
{
    sample_head("tequio_ready", "gauge", "1 for a task that is at work.", ret);
    for (size_t i = 0; i < m->n; i++)
        add_of_task("tequio_ready", m->tasks[i], pulse_is_ready(m->tasks[i].role), ret);
    sample_head("tequio_turn_age_seconds", "gauge", "Time since the task's loop went round.", ret);
    for (size_t i = 0; i < m->n; i++)
        add_of_task("tequio_turn_age_seconds", m->tasks[i], pulse_silence(m->tasks[i].role, now_us), ret);
    counters_take_process();
    add_counters(m, ret);
    add_durations(m, ret);
    add_links(m, "tequio_link_sent_bytes_total", "Bytes sent to a task, shared memory among them.", true, ret);
    add_links(m, "tequio_link_received_bytes_total", "Bytes received from a task, likewise.", false, ret);
    add_start(m, ret);
}

/* --- answers --- */

static void say_health(const task_metrics *m, int64_t now_us, buf *ret)
{
    char name[TASK_NAME];
    for (size_t i = 0; i < m->n; i++) {
        double silent = pulse_silence(m->tasks[i].role, now_us);
        if (silent > TASK_HANGS_S)
            buf_addf(ret, "%s has not turned for %.0f s\n", task_name(m->tasks[i], name), silent);
    }
}

static void say_unready(const task_metrics *m, buf *ret)
{
    char name[TASK_NAME];
    for (size_t i = 0; i < m->n; i++)
        if (!pulse_is_ready(m->tasks[i].role))
            buf_addf(ret, "%s is not at work yet\n", task_name(m->tasks[i], name));
}

/* Nothing to say is well. */
static void answer_probe(buf *why, http_answer *ret)
{
    *ret = (http_answer){.code = why->size ? 503 : 200, .type = "text/plain; charset=utf-8", .own = *why};
    if (!why->size)
        buf_adds(&ret->own, "ok\n");
}

void task_metrics_answer(void *user, const http_request *r, http_answer *ret)
{
    const task_metrics *m = user;
    int64_t now_us = clock_us();
    buf text = BUF_INIT;
    if (strcmp(r->path, "/metrics") == 0) {
        task_metrics_text(m, now_us, &text);
        *ret = (http_answer){.code = 200, .type = SAMPLE_TYPE, .own = text};
    } else if (strcmp(r->path, "/healthz") == 0) {
        say_health(m, now_us, &text);
        answer_probe(&text, ret);
    } else if (strcmp(r->path, "/readyz") == 0) {
        say_unready(m, &text);
        answer_probe(&text, ret);
    } else {
        buf_adds(&text, "there are /metrics, /healthz and /readyz\n");
        *ret = (http_answer){.code = 404, .type = "text/plain; charset=utf-8", .own = text};
    }
}
