#include "common/base/console.h"

#include "common/base/buf.h"
#include "common/base/paint.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_BYTES = 1024, COLUMNS_UNKNOWN = 80 };

#define CLEAR_BELOW "\r\033[J" /* also what a bar became of as its terminal was made narrower */
#define CLEAR_REST  "\033[K"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char bar[BAR_BYTES]; /* under lock, as all below; "": there is none */
static console_fit *bar_fit;
static int bar_columns; /* of the terminal it was drawn on */

/* 0: not a terminal. */
static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col ? size.ws_col : COLUMNS_UNKNOWN;
}

/* In one piece: other processes may write to the same terminal. */
static void put(buf *text)
{
    fwrite(text->data, 1, text->size, stderr);
    fflush(stderr);
    buf_fini(text);
}

/* The cursor waits at the bar's beginning. The last column stays free: a terminal that is full to it
 * may go to the next line. */
static void add_bar(buf *text, int columns)
{
    char fitted[BAR_BYTES];
    bar_fit(bar, columns > 1 ? columns - 1 : 1, fitted, sizeof fitted);
    buf_adds(text, columns < bar_columns ? CLEAR_BELOW : "\r");
    if (paint_is_wanted(STDERR_FILENO))
        paint_bar(fitted, text);
    else
        buf_adds(text, fitted);
    buf_adds(text, CLEAR_REST "\r");
    bar_columns = columns;
}

void console_line(const char *line, size_t bytes)
{
    buf text = BUF_INIT;
    pthread_mutex_lock(&lock);
    int columns = bar[0] ? terminal_columns() : 0;
    if (columns)
        buf_adds(&text, CLEAR_BELOW);
    if (paint_is_wanted(STDERR_FILENO))
        paint_line(line, bytes, &text);
    else
        buf_add(&text, line, bytes);
    if (columns)
        add_bar(&text, columns);
    put(&text);
    pthread_mutex_unlock(&lock);
}

void console_bar(const char *text, console_fit *fit)
{
    buf drawn = BUF_INIT;
    pthread_mutex_lock(&lock);
    snprintf(bar, sizeof bar, "%s", text);
    bar_fit = fit;
    int columns = terminal_columns();
    if (columns)
        add_bar(&drawn, columns);
    else
        buf_addf(&drawn, "\r%s" CLEAR_REST "\r", bar);
    put(&drawn);
    pthread_mutex_unlock(&lock);
}

void console_end_bar(void)
{
    pthread_mutex_lock(&lock);
    if (bar[0])
        fputc('\n', stderr);
    bar[0] = '\0';
    bar_columns = 0;
    pthread_mutex_unlock(&lock);
}
