/* `tequio top`: jobs and their tasks as a table that is drawn anew every two seconds, on a terminal. */
#include "cli/commands.h"
#include "cli/look/place.h"
#include "cli/look/screen.h"
#include "cli/look/top_table.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/paint.h"
#include "common/base/thread.h"
#include "job/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 2000, MORE = 1 /* lines above those of jobs */ };

/* One place: what was seen there last, under the lock of `top`. */
typedef struct seen {
    place *at;
    const char *word;
    json_t *jobs;           /* NULL: nothing yet, or it cannot be seen */
    char *trouble;
} seen;

/* A thread looks, which may take long where a host does not answer, and the main thread shows and hears keys. */
typedef struct top {
    pthread_mutex_t lock;
    seen *places;
    int n;
    int looked[2];          /* a pipe: a byte a look */
    top_table *table;
    top_order order;
    size_t first;           /* line that is shown at the top */
    bool is_paused;
} top;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- looking --- */

static void look_at(top *t, seen *s)
{
    json_t *jobs = NULL;
    error why = ERROR_INIT;
    status st = place_look(s->at, &jobs, &why);
    pthread_mutex_lock(&t->lock);
    json_decref(s->jobs);
    free(s->trouble);
    s->jobs = jobs;
    s->trouble = st == OK ? NULL : xstrdup(why.text);
    pthread_mutex_unlock(&t->lock);
}

static void *look(void *own)
{
    top *t = own;
    for (;;) {
        int64_t began = clock_us();
        for (int i = 0; i < t->n; i++)
            look_at(t, &t->places[i]);
        if (write(t->looked[1], "", 1) < 0 && errno != EAGAIN)
            return NULL;
        int64_t rest = began + LOOK_MS * 1000 - clock_us();
        if (rest > 0)
            nanosleep(&(struct timespec){.tv_sec = rest / 1000000, .tv_nsec = rest % 1000000 * 1000}, NULL);
    }
}

/* --- showing --- */

static void list_lines(top *t, top_lines *ret)
{
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->n; i++)
        top_table_lines(t->table, t->places[i].word, t->places[i].jobs, t->places[i].trouble, t->order, now_s(), ret);
    pthread_mutex_unlock(&t->lock);
}

static const char *colour_of(top_style style)
{
    static const paint_what whats[] = {[TOP_PLAIN] = PAINT_PLAIN, [TOP_JOB] = PAINT_BOLD, [TOP_HEAD] = PAINT_DIM,
                                       [TOP_WARN] = PAINT_WARN, [TOP_BAD] = PAINT_BAD};
    return paint_sequence(STDOUT_FILENO, whats[style]);
}

/* A job's line without the fields that tell least, where all of them do not fit; otherwise as it is. */
static const char *fitted(const top_line *line, int columns, char ret[PROGRESS_LINE])
{
    int room = columns - 1; /* screen_draw leaves the last column */
    bool has_fields = line->style == TOP_JOB && strlen(line->text) < PROGRESS_LINE && room > 0;
    if (!has_fields)
        return line->text;
    progress_fit(line->text, room, ret, PROGRESS_LINE);
    return strlen(ret) <= (size_t)room ? ret : line->text; /* cut, maybe within a character */
}

/* The lines from `first` on, which stays within them. */
static void draw(top *t, const top_lines *lines)
{
    int columns, rows;
    char head[128], clock[16];
    time_t now = time(NULL);
    struct tm then;
    screen_size(&columns, &rows);
    size_t room = rows > MORE ? (size_t)(rows - MORE) : 0, last = lines->n > room ? lines->n - room : 0;
    t->first = t->first > last ? last : t->first;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &then));
    snprintf(head, sizeof head, "tequio top  %s  by %s  s: order  p: %s  up, down: scroll  q: quit", clock,
             top_order_name(t->order), t->is_paused ? "go on" : "pause");
    screen_line *shown = xcalloc(lines->n + MORE, sizeof *shown);
    char(*kept)[PROGRESS_LINE] = xcalloc(lines->n + MORE, sizeof *kept);
    size_t n = 0;
    shown[n++] = (screen_line){.text = head, .colour = colour_of(TOP_HEAD)};
    for (size_t i = t->first; i < lines->n; i++)
        shown[n++] = (screen_line){.text = fitted(&lines->at[i], columns, kept[i]),
                                   .colour = colour_of(lines->at[i].style)};
    screen_draw(shown, n);
    free(kept);
    free(shown);
}

/* False: it is time to leave. */
static bool take_key(top *t, int key)
{
    int columns, rows;
    screen_size(&columns, &rows);
    size_t page = rows > MORE + 1 ? (size_t)(rows - MORE - 1) : 1;
    switch (key) {
    case 'q':
    case SCREEN_LEAVE:
        return false;
    case 's':
        t->order = (t->order + 1) % TOP_ORDERS;
        break;
    case 'p':
        t->is_paused = !t->is_paused;
        break;
    case 'k':
    case SCREEN_UP:
        t->first -= t->first > 0;
        break;
    case 'j':
    case SCREEN_DOWN:
        t->first++;
        break;
    case SCREEN_PAGE_UP:
        t->first -= t->first > page ? page : t->first;
        break;
    case SCREEN_PAGE_DOWN:
        t->first += page;
        break;
    default:
        break;
    }
    return true;
}

static void show(top *t)
{
    top_lines lines = {0};
    bool is_new = true;
    for (int key = SCREEN_NOTHING; take_key(t, key); key = screen_wait(LOOK_MS, t->looked[0])) {
        char bytes[64];
        is_new = read(t->looked[0], bytes, sizeof bytes) > 0 || is_new || key == 's';
        if (is_new && (!t->is_paused || key == 's')) {
            top_lines_fini(&lines);
            list_lines(t, &lines);
            is_new = false;
        }
        draw(t, &lines);
    }
    top_lines_fini(&lines);
}

/* --- all of it --- */

static status run_screen(top *t, error *err)
{
    pthread_t thread;
    sigset_t all, before;
    if (pipe2(t->looked, O_CLOEXEC | O_NONBLOCK) != 0)
        return FAIL(err, E_IO, "make a pipe: %s", strerror(errno));
    TRY(screen_open(err));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the screen's */
    status st = thread_start(&thread, "top", look, t, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st == OK)
        show(t);
    screen_close();
    return st;
}

/* Where nobody looks at a screen: as it is now. */
static status print_once(top *t, error *err)
{
    top_lines lines = {0};
    bool any = false;
    for (int i = 0; i < t->n; i++) {
        look_at(t, &t->places[i]);
        any = any || t->places[i].jobs;
    }
    list_lines(t, &lines);
    for (size_t i = 0; i < lines.n; i++)
        puts(lines.at[i].text);
    top_lines_fini(&lines);
    return any ? OK : FAIL(err, E_DATA, "top: %s", t->places[0].trouble);
}

/* Likewise, for programs: all of it, or nothing. */
static status print_json(const top *t, error *err)
{
    json_t *all = json_array();
    status st = OK;
    for (int i = 0; st == OK && i < t->n; i++) {
        json_t *jobs = NULL;
        st = place_look(t->places[i].at, &jobs, err);
        if (st != OK)
            error_prepend(err, "top");
        json_array_extend(all, jobs);
        json_decref(jobs);
    }
    if (st == OK)
        place_print_json(all);
    json_decref(all);
    return st;
}

/* Not freed: a look may be under way, and the process ends. */
static status open_places(const args *a, top *t, error *err)
{
    t->n = a->n_operands ? a->n_operands : 1;
    t->places = xcalloc((size_t)t->n, sizeof *t->places);
    for (int i = 0; i < t->n; i++) {
        TRYF(place_open(a, a->n_operands ? a->operands[i] : ".", &t->places[i].at, err), err, "top");
        t->places[i].word = place_word(t->places[i].at);
    }
    return OK;
}

static int run(const args *a, error *err)
{
    static top t = {.lock = PTHREAD_MUTEX_INITIALIZER};
    status st = open_places(a, &t, err);
    t.table = top_table_new();
    if (st == OK && args_has(a, "json"))
        st = print_json(&t, err);
    else if (st == OK)
        st = paint_can_move(STDOUT_FILENO) && isatty(STDIN_FILENO) ? run_screen(&t, err) : print_once(&t, err);
    return status_exit_code(st);
}

static const flag flags[] = {
    {"json", 0, FLAG_SWITCH, NULL, "Output", "Print once, what `status --json` prints of each job.", 0, 0},
    PLACE_FLAGS,
};

const command command_top = {
    .name = "top",
    .operands = "[JOB_DIR|PLACE...]",
    .min_operands = 0,
    .max_operands = COMMAND_OPERANDS,
    .summary = "A table of jobs and their tasks, drawn anew every two seconds: processor, memory, rates, waits.",
    .about = "Shows every two seconds how far each job is, for whom it waits, and of each task its state, processor "
             "time (100 is one core), memory, what it does a second (a worker examples, a server updates, a master "
             "reports) and the share of time in which a worker's lanes wait for weights, examples or a slot. A job is "
             "named by its job dir, this folder unless one is, or as `tequio status` names those elsewhere.\n\n"
             "Keys: s sorts tasks by another column, up and down or j and k scroll, p pauses, q quits. Where standard "
             "output is no terminal the table is printed once.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
