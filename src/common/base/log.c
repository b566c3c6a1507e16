#include "common/base/log.h"

#include "common/base/console.h"
#include "common/base/fs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file; /* under lock */
static atomic_int max_level = -1; /* -1: ask the environment first */
static _Thread_local const char *task_name = "tequio";

static int level_from_environment(void)
{
    const char *text = getenv("TEQUIO_LOG_LEVEL");
    for (int i = 0; text && i <= LOG_DEBUG; i++)
        if (strcmp(text, level_names[i]) == 0)
            return i;
    return LOG_INFO;
}

void log_set_level(log_level level)
{
    atomic_store(&max_level, (int)level);
}

const char *log_level_name(log_level level)
{
    return level_names[level];
}

status log_open_file(const char *path, error *err)
{
    FILE *f = fopen(path, "ae");
    if (!f)
        return fs_fail(err, "open log", path);
    setvbuf(f, NULL, _IOLBF, 0);
    pthread_mutex_lock(&lock);
    FILE *old = file;
    file = f;
    pthread_mutex_unlock(&lock);
    if (old)
        fclose(old);
    return OK;
}

void log_close_file(void)
{
    pthread_mutex_lock(&lock);
    FILE *old = file;
    file = NULL;
    pthread_mutex_unlock(&lock);
    if (old)
        fclose(old);
}

void log_set_task(const char *task)
{
    task_name = task;
}

const char *log_task(void)
{
    return task_name;
}

bool log_is_on(log_level level)
{
    int max = atomic_load(&max_level);
    if (max < 0) {
        max = level_from_environment();
        atomic_store(&max_level, max);
    }
    return (int)level <= max;
}

void log_line(log_level level, const char *id, const char *format, ...)
{
    if (!log_is_on(level))
        return;
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);

    char line[ERROR_TEXT + 256];
    int n = snprintf(line, sizeof line - 1, "%02d:%02d:%02d.%03ld %s %s %s ", local.tm_hour,
                     local.tm_min, local.tm_sec, now.tv_nsec / 1000000, task_name,
                     level_names[level], id);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    va_list args;
    va_start(args, format);
    n = vsnprintf(line + used, sizeof line - 1 - used, format, args);
    va_end(args);
    used = n < 0 ? used : used + (size_t)n;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    for (size_t i = 0; i < used; i++) /* a text of a peer must not pass for another line */
        if ((unsigned char)line[i] < ' ')
            line[i] = ' ';
    line[used++] = '\n';

    console_line(line, used);
    pthread_mutex_lock(&lock);
    if (file)
        fwrite(line, 1, used, file);
    pthread_mutex_unlock(&lock);
}

bool log_pace_allows(log_pace *p, int64_t now_us, unsigned *ret_skipped)
{
    if (now_us < p->next_us) {
        p->skipped++;
        return false;
    }
    *ret_skipped = p->skipped;
    *p = (log_pace){.next_us = now_us + (p->period_us ? p->period_us : 1000000), .period_us = p->period_us};
    return true;
}
