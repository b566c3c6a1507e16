#include "cli/look/screen.h"

#include "common/base/buf.h"
#include "common/base/paint.h"
#include "common/base/utf8.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { COLUMNS_UNKNOWN = 80, ROWS_UNKNOWN = 24, SEQUENCE = 16 };

#define ENTER      "\033[?1049h\033[?25l" /* a screen of its own, no cursor */
#define LEAVE      "\033[?25h\033[?1049l"
#define HOME       "\033[H"
#define CLEAR_REST "\033[K"
#define CLEAR_DOWN "\033[J"
#define NO_COLOUR  "\033[0m"

static struct termios before;
static bool is_open;
static volatile sig_atomic_t is_resized, is_leaving;

static void hear_signal(int number)
{
    if (number == SIGWINCH)
        is_resized = 1;
    else
        is_leaving = 1;
}

static void put(const char *text, size_t bytes)
{
    for (ssize_t n; bytes && ((n = write(STDOUT_FILENO, text, bytes)) > 0 || (n < 0 && errno == EINTR));)
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        }
    if (bytes)
        is_leaving = 1; /* nobody sees it any more */
}

status screen_open(error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    struct termios raw;
    if (!paint_can_move(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return FAIL(err, E_CONFIG, "this is no terminal that can show a table");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &(struct sigaction){.sa_handler = hear_signal}, NULL);
    raw = before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped, it would leave this screen to others */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    is_open = true;
    put(ENTER, strlen(ENTER));
    return OK;
}

void screen_close(void)
{
    if (!is_open)
        return;
    is_open = false;
    put(LEAVE, strlen(LEAVE));
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

void screen_size(int *ret_columns, int *ret_rows)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_columns = size.ws_col ? size.ws_col : COLUMNS_UNKNOWN;
    *ret_rows = size.ws_row ? size.ws_row : ROWS_UNKNOWN;
}

/* A character a column; what is no UTF-8 and what controls a terminal is a question mark. */
static void add_cut(const char *text, int columns, buf *ret)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text);
    for (int i = 0; i < columns && left; i++) {
        uint32_t code = 0;
        size_t n = utf8_decode(at, left, &code);
        bool is_shown = n && code >= 0x20 && code != 0x7f && (code < 0x80 || code >= 0xa0);
        buf_add(ret, is_shown ? (const char *)at : "?", is_shown ? n : 1);
        n = n ? n : 1;
        at += n;
        left -= n;
    }
}

void screen_draw(const screen_line *lines, size_t n)
{
    int columns, rows;
    buf all = BUF_INIT;
    screen_size(&columns, &rows);
    buf_adds(&all, HOME);
    for (size_t i = 0; i < n && i < (size_t)rows; i++) {
        buf_adds(&all, i ? "\n" : ""); /* the terminal goes to the first column by itself */
        buf_adds(&all, lines[i].colour);
        add_cut(lines[i].text, columns - 1, &all); /* full to the last column a terminal may wrap */
        buf_adds(&all, *lines[i].colour ? NO_COLOUR CLEAR_REST : CLEAR_REST);
    }
    buf_adds(&all, CLEAR_DOWN);
    put(all.data, all.size);
    buf_fini(&all);
}

/* --- keys --- */

/* Of a key that is a sequence what is behind its ESC, which comes with that, and no more: other keys may follow. */
static void read_sequence(char ret[SEQUENCE])
{
    size_t n = 0;
    while (n + 1 < SEQUENCE && read(STDIN_FILENO, &ret[n], 1) == 1) {
        n++;
        bool is_last = n > 1 && ret[n - 1] >= '@' && ret[n - 1] <= '~';
        if (is_last || (n == 1 && ret[0] != '[' && ret[0] != 'O'))
            break;
    }
    ret[n] = '\0';
}

static int read_key(void)
{
    static const struct {
        const char *sequence;
        screen_key key;
    } keys[] = {{"[A", SCREEN_UP}, {"OA", SCREEN_UP}, {"[B", SCREEN_DOWN}, {"OB", SCREEN_DOWN},
                {"[5~", SCREEN_PAGE_UP}, {"[6~", SCREEN_PAGE_DOWN}};
    char typed[SEQUENCE] = "";
    ssize_t n = read(STDIN_FILENO, typed, 1);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN) ? SCREEN_NOTHING : SCREEN_LEAVE;
    if (typed[0] != '\033')
        return (unsigned char)typed[0];
    read_sequence(typed);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(typed, keys[i].sequence) == 0)
            return (int)keys[i].key;
    return SCREEN_NOTHING;
}

int screen_wait(int ms, int fd)
{
    struct pollfd at[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int n = is_resized || is_leaving ? 0 : poll(at, 2, ms);
    if (is_leaving)
        return SCREEN_LEAVE;
    if (is_resized) {
        is_resized = 0;
        return SCREEN_RESIZED;
    }
    return n > 0 && at[0].revents ? read_key() : SCREEN_NOTHING;
}
