#include "common/base/paint.h"

#include "common/base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN  "\033[0m"
#define DIM    "\033[2m"
#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define YELLOW "\033[33m"
#define GREEN  "\033[32m"

static const struct {
    const char *name, *colour; /* "": not painted */
} levels[] = {{"error", RED}, {"warn", YELLOW}, {"info", ""}, {"debug", DIM}};

bool paint_can_move(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool paint_is_wanted(int fd)
{
    const char *no = getenv("NO_COLOR");
    return paint_can_move(fd) && !(no && *no);
}

const char *paint_sequence(int fd, paint_what what)
{
    static const char *const sequences[] = {
        [PAINT_PLAIN] = "", [PAINT_BOLD] = BOLD, [PAINT_DIM] = DIM, [PAINT_WARN] = YELLOW, [PAINT_BAD] = RED};
    return paint_is_wanted(fd) ? sequences[what] : "";
}

static void add(buf *ret, const char *colour, const char *text, size_t bytes)
{
    if (*colour)
        buf_adds(ret, colour);
    buf_add(ret, text, bytes);
    if (*colour)
        buf_adds(ret, PLAIN);
}

/* The bytes that `line` has of a time, HH:MM:SS.mmm and a space; 0: it has none. */
static size_t time_bytes(const char *line, size_t bytes)
{
    static const char form[] = "00:00:00.000 ";
    if (bytes < sizeof form)
        return 0;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)line[i]) : line[i] != form[i])
            return 0;
    return sizeof form - 1;
}

/* To behind the first space from `from` on; 0: there is none. */
static size_t word_end(const char *line, size_t bytes, size_t from)
{
    const char *space = from < bytes ? memchr(line + from, ' ', bytes - from) : NULL;
    return space ? (size_t)(space - line) + 1 : 0;
}

/* Where the time begins: behind the "[worker 1] " of a task that a launcher shows, if there is one. */
static size_t prefix_bytes(const char *line, size_t bytes)
{
    const char *close = bytes && line[0] == '[' ? memchr(line, ']', bytes) : NULL;
    return close && (size_t)(close - line) + 2 < bytes ? (size_t)(close - line) + 2 : 0;
}

/* Prefix, time and task: all that stands before the level; 0: no log line. */
static size_t head_bytes(const char *line, size_t bytes)
{
    size_t prefix = prefix_bytes(line, bytes), time = time_bytes(line + prefix, bytes - prefix);
    return time ? word_end(line, bytes, prefix + time) : 0;
}

void paint_line(const char *line, size_t bytes, buf *ret)
{
    size_t head = head_bytes(line, bytes), level = head ? word_end(line, bytes, head) : 0;
    size_t id = level ? word_end(line, bytes, level) : 0;
    const char *colour = NULL;
    for (size_t i = 0; id && i < COUNT_OF(levels); i++)
        if (strlen(levels[i].name) == level - head - 1 &&
            memcmp(levels[i].name, line + head, level - head - 1) == 0)
            colour = levels[i].colour;
    if (!colour) {
        buf_add(ret, line, bytes);
        return;
    }
    add(ret, DIM, line, head);
    add(ret, colour, line + head, level - head);
    add(ret, BOLD, line + level, id - level);
    buf_add(ret, line + id, bytes - id);
}

void paint_bar(const char *bar, buf *ret)
{
    size_t full = bar[0] == '[' ? 1 + strspn(bar + 1, "=>") : 0;
    if (full > 1) {
        buf_add(ret, bar, 1);
        add(ret, GREEN, bar + 1, full - 1);
        bar += full;
    }
    buf_adds(ret, bar);
}

void paint_failure(int fd, buf *ret)
{
    add(ret, paint_is_wanted(fd) ? RED : "", "tequio: ", strlen("tequio: "));
}
