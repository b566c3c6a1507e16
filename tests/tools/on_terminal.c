/*
 * on_terminal COLUMNS[:LATER] COMMAND...
 *
 * Runs the command on a terminal of so many columns, all three streams, and prints the lines that a
 * person has on the screen at the end, those that scrolled off it too; a line that the terminal had to
 * wrap is one line. With LATER it is made so wide once a bar (a line that stays) has been drawn.
 * How many characters came in colours it tells at the end, on its own standard error.
 * Ends with the command's code, 128 + its signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 20000, WIDEST = 512 };

typedef struct screen {
    char cells[ROWS][WIDEST];   /* 0: never written */
    bool is_wrapped[ROWS];      /* the row goes on in the next one */
    int columns, row, column, escaped;
    bool is_coloured;           /* what is written now is */
    int rendition;              /* the number that a sequence ESC [ ... m ends with */
    long coloured;              /* characters that were */
    bool has_bar;               /* one was drawn */
} screen;

static screen s;

static void die(const char *what)
{
    perror(what);
    exit(125);
}

static void next_row(bool wraps)
{
    s.is_wrapped[s.row] = wraps;
    if (++s.row == ROWS) {
        fprintf(stderr, "on_terminal: more than %d lines\n", ROWS);
        exit(125);
    }
}

static void erase_rest(int row, int from)
{
    memset(s.cells[row] + from, 0, WIDEST - (size_t)from);
    s.is_wrapped[row] = false;
}

static void erase_below(void)
{
    erase_rest(s.row, s.column);
    for (int row = s.row + 1; row < ROWS && (s.cells[row][0] || s.is_wrapped[row - 1]); row++)
        erase_rest(row, 0);
}

/* Of sequences only those that we know; others end the test. */
static void take_escape(char c)
{
    if (c == '[' && s.escaped == 1) {
        s.escaped = 2;
        s.rendition = 0;
        return;
    }
    if (s.escaped == 2 && c == ';') {
        s.rendition = 0;
        return;
    }
    if (s.escaped == 2 && c >= '0' && c <= '9') {
        s.rendition = s.rendition * 10 + c - '0';
        return;
    }
    s.escaped = 0;
    if (c == 'K')
        erase_rest(s.row, s.column);
    else if (c == 'J')
        erase_below();
    else if (c == 'm')
        s.is_coloured = s.rendition != 0;
    else {
        fprintf(stderr, "on_terminal: unknown sequence ESC [ %c\n", c);
        exit(125);
    }
}

static void take(char c)
{
    if (s.escaped) {
        take_escape(c);
    } else if (c == '\033') {
        s.escaped = 1;
    } else if (c == '\r') {
        s.column = 0;
    } else if (c == '\n') {
        next_row(false);        /* the terminal makes "\r\n" of it */
    } else {
        if (s.column == s.columns) {
            next_row(true);
            s.column = 0;
        }
        s.cells[s.row][s.column++] = c;
        s.coloured += s.is_coloured;
    }
}

static void set_columns(int fd, int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    if (columns < 1 || columns > WIDEST || ioctl(fd, TIOCSWINSZ, &size) != 0)
        die("set the width");
    s.columns = columns;
}

static void become(int fd, char **argv)
{
    setsid();
    if (ioctl(fd, TIOCSCTTY, 0) != 0)
        die("take the terminal");
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    execvp(argv[0], argv);
    die(argv[0]);
}

static ssize_t take_some(int fd)
{
    char data[4096];
    ssize_t n = read(fd, data, sizeof data);
    for (ssize_t i = 0; i < n; i++) {
        s.has_bar = s.has_bar || (data[i] == '\r' && s.column > 1 && i + 1 < n && data[i + 1] != '\n');
        take(data[i]);
    }
    return n;
}

/* What was drawn for the width before is on the screen by then. */
static void resize(int fd, pid_t child, int columns)
{
    kill(child, SIGSTOP);
    waitpid(child, NULL, WUNTRACED);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 0) == 1 && take_some(fd) > 0)
        ;
    set_columns(fd, columns);
    kill(child, SIGCONT);
}

static void watch(int fd, pid_t child, int later)
{
    for (ssize_t n; (n = take_some(fd)) > 0 || (n < 0 && errno == EINTR);)
        if (later && s.has_bar) {
            resize(fd, child, later);
            later = 0;
        }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 125;
    char *end = NULL;
    int columns = (int)strtol(argv[1], &end, 10), later = *end == ':' ? atoi(end + 1) : 0;
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd < 0 || grantpt(fd) || unlockpt(fd))
        die("open a terminal");
    set_columns(fd, columns);
    int own = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        die(ptsname(fd));
    pid_t child = fork();
    if (child == 0)
        become(own, argv + 2);
    close(own);
    watch(fd, child, later);
    int status = 0;
    waitpid(child, &status, 0);
    for (int row = 0; row <= s.row; row++)
        printf("%s%s", s.cells[row], s.is_wrapped[row] ? "" : "\n");
    fprintf(stderr, "characters in colours: %ld\n", s.coloured);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
