#include "cli/look/log_file.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>

enum { DAY_MS = 24 * 60 * 60 * 1000 };

char *log_file_task(const char *name)
{
    size_t n = strlen(name), end = strlen(".log");
    return n > end && strcmp(name + n - end, ".log") == 0 ? xstrndup(name, n - end) : NULL;
}

status log_file_open(const char *folder, const char *name, log_file *ret, error *err)
{
    char *path = xasprintf("%s/%s.log", folder, name);
    FILE *file = fopen(path, "re");
    status st = file ? OK : fs_fail_input("open", path, err);
    free(path);
    if (st == OK)
        *ret = (log_file){.name = xstrdup(name), .file = file};
    return st;
}

void log_file_close(log_file *l)
{
    if (l->file)
        fclose(l->file);
    free(l->name);
    free(l->line);
    *l = (log_file){0};
}

static log_level level_of(const char *word)
{
    for (log_level level = LOG_ERROR; level <= LOG_DEBUG; level++)
        if (strcmp(word, log_level_name(level)) == 0)
            return level;
    return LOG_INFO;
}

/* Reads time and level, where the line has them. */
static void take_head(log_file *l)
{
    int hours, minutes, seconds, ms;
    char task[64], level[8];
    l->has_head = sscanf(l->line, "%2d:%2d:%2d.%3d %63s %7s ", &hours, &minutes, &seconds, &ms, task, level) == 6;
    if (!l->has_head)
        return; /* all else is as it was */
    int64_t now = (((int64_t)hours * 60 + minutes) * 60 + seconds) * 1000 + ms, day = l->time_ms / DAY_MS;
    if (day * DAY_MS + now < l->time_ms - DAY_MS / 2)
        day++;
    l->time_ms = day * DAY_MS + now;
    l->level = level_of(level);
}

bool log_file_next(log_file *l)
{
    clearerr(l->file);
    if (fseek(l->file, l->next, SEEK_SET) != 0)
        return false;
    ssize_t n = getline(&l->line, &l->cap, l->file);
    if (n <= 0 || l->line[n - 1] != '\n')
        return false;
    l->line[n - 1] = '\0';
    l->next += n;
    take_head(l);
    return true;
}

void log_file_skip(log_file *l, long bytes)
{
    if (fseek(l->file, 0, SEEK_END) != 0)
        return;
    long end = ftell(l->file);
    l->next = end > bytes ? end - bytes : 0;
    if (l->next > 0)
        log_file_next(l); /* half a line, or an empty one */
}
