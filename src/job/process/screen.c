#include "job/process/screen.h"

#include "cli/train/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_plain(screen *s, const char *prefix, const char *line)
{
    fprintf(stderr, "%s%s%s\n", s->bar[0] ? "\r\033[K" : "", prefix, line);
    if (s->bar[0])
        fprintf(stderr, "%s\r", s->bar);
    fflush(stderr);
}

void screen_say(screen *s, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_plain(s, "tequio: ", line);
}

void screen_show(screen *s, const child *c, int stream, const char *line, bool is_bar)
{
    bool is_master = c->task.role == ROLE_MASTER;
    if (is_master && stream == 0) {
        printf("%s\n", line);
        fflush(stdout);
        return;
    }
    if (is_master && is_bar) {
        snprintf(s->bar, sizeof s->bar, "%s", line);
        fprintf(stderr, "\r%s\r", line);
        fflush(stderr);
        return;
    }
    if (is_master && !*line && s->bar[0]) { /* the bar is done: leave its line */
        s->bar[0] = 0;
        fputc('\n', stderr);
        return;
    }
    char prefix[TASK_NAME + 8];
    snprintf(prefix, sizeof prefix, "[%s %d] ", role_name(c->task.role), c->task.index);
    bool is_progress = is_master && strncmp(line, PROGRESS_MARK, strlen(PROGRESS_MARK)) == 0;
    print_plain(s, is_progress ? "" : prefix, line);
}
