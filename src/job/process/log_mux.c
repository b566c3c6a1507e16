#include "job/process/log_mux.h"

#include "common/base/buf.h"
#include "common/base/console.h"
#include "job/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_line(const char *prefix, const char *line)
{
    buf text = BUF_INIT;
    buf_addf(&text, "%s%s\n", prefix, line);
    console_line(text.data, text.size);
    buf_fini(&text);
}

void log_mux_say(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_line("tequio: ", line);
}

/* Without the sign that ends it. */
static void show_bar(const char *line)
{
    char text[CHILD_LINE_MAX];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\033"), line);
    console_bar(text, progress_fit);
}

static void show_of_master(const char *line, int stream, bool is_bar, const char *prefix)
{
    bool is_progress = strncmp(line, PROGRESS_MARK, strlen(PROGRESS_MARK)) == 0;
    if (stream == 0) {
        console_end_bar(); /* both may be one terminal */
        printf("%s\n", line);
        fflush(stdout);
    } else if (is_bar) {
        show_bar(line);
    } else if (!*line) { /* the bar is done */
        console_end_bar();
    } else {
        print_line(is_progress ? "" : prefix, line);
    }
}

void log_mux_show(const child *c, int stream, const char *line, bool is_bar)
{
    char prefix[TASK_NAME + 8];
    snprintf(prefix, sizeof prefix, "[%s %d] ", role_name(c->task.role), c->task.index);
    if (c->task.role == ROLE_MASTER)
        show_of_master(line, stream, is_bar, prefix);
    else
        print_line(prefix, line);
}
